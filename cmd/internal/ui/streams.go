package ui

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// ErrNoTerminal says that nobody is there to answer.
var ErrNoTerminal = errors.New("no terminal to ask on")

// Streams are the three streams of a command and what is known of them. Its
// zero value asks nobody anything.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	OutTTY   bool // Out is a terminal: relative times, escaped output
	Asks     bool // In and Err are terminals: questions may be asked
	Width    int  // of the terminal in columns; 0: unknown, nothing is cut
	// OpenTTY opens the controlling terminal. Nil where there is none.
	OpenTTY func() (Terminal, error)
}

// Terminal asks the person in front of it.
type Terminal interface {
	// Line shows prompt and reads a line without its end.
	Line(prompt string) (string, error)
	// Secret is Line without echo.
	Secret(prompt string) ([]byte, error)
	Close() error
}

// System returns the streams of this process.
func System() *Streams {
	out := int(os.Stdout.Fd())
	s := &Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		OutTTY:  term.IsTerminal(out),
		Asks:    term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd())),
		OpenTTY: openTTY,
	}
	if s.OutTTY {
		if w, _, err := term.GetSize(out); err == nil {
			s.Width = w
		}
	}
	return s
}

// Table begins a table on Out.
func (s *Streams) Table(columns ...string) *Table {
	t := &Table{}
	if s.OutTTY {
		t.width = s.Width
	}
	t.Row(columns...)
	return t
}

// Time shows t: relative to now on a terminal, RFC 3339 in UTC elsewhere, "-"
// for none.
func (s *Streams) Time(t *time.Time, now time.Time) string {
	switch {
	case t == nil || t.IsZero():
		return "-"
	case !s.OutTTY:
		return t.UTC().Format(time.RFC3339)
	default:
		return Relative(*t, now)
	}
}
