package ui

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestForeignTextCannotDriveTheTerminal(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain text stays", "backup.sh --full", "backup.sh --full"},
		{"letters of other languages stay", "gr\u00fc\u00dfe", "gr\u00fc\u00dfe"},
		{"a backslash stays", `a\b`, `a\b`},
		{"escape sequence", "\x1b[31mred", `\x1b[31mred`},
		{"C1 control", "\u009b31m", `\u009b31m`},
		{"line end", "one\ntwo\r", `one\x0atwo\x0d`},
		{"tab", "a\tb", `a\x09b`},
		{"delete", "a\x7f", `a\x7f`},
		{"NUL", "a\x00b", `a\x00b`},
		{"right-to-left override", "a\u202egpj.exe", `a\u202egpj.exe`},
		{"isolate", "\u2066x\u2069", `\u2066x\u2069`},
		{"zero width space", "a\u200bb", `a\u200bb`},
		{"no-break space", "a\u00a0b", `a\u00a0b`},
		{"byte order mark", "\ufeffx", `\ufeffx`},
		{"tag character", "\U000e0041", `\U000e0041`},
		{"broken UTF-8", "a\xffb\xc3", `a\xffb\xc3`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Escape(tc.in)
			if got != tc.want {
				t.Fatalf("Escape(%q) = %q, want %q", tc.in, got, tc.want)
			}
			if again := Escape(got); again != got {
				t.Fatalf("escaped twice: %q, once: %q", again, got)
			}
		})
	}
}

func TestEscapeWriterGivesTheSameForAnyCutOfTheStream(t *testing.T) {
	in := "ok\n\tgr\u00fc\u00dfe \u202e \U0001f600 \x1b]0;title\x07 \xf0\x9f"
	want := "ok\n\tgr\u00fc\u00dfe \\u202e \U0001f600 \\x1b]0;title\\x07 \\xf0\\x9f"
	for size := 1; size <= len(in); size++ {
		var out bytes.Buffer
		w := &EscapeWriter{W: &out}
		for rest := []byte(in); len(rest) > 0; {
			n := min(size, len(rest))
			if m, err := w.Write(rest[:n]); m != n || err != nil {
				t.Fatalf("write = %d, %v", m, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Fatalf("pieces of %d: %q, want %q", size, out.String(), want)
		}
	}
}

func TestTableHasTheSameColumnsEverywhere(t *testing.T) {
	render := func(s *Streams) string {
		tab := s.Table("JOB", "STATE", "NOTE")
		tab.Row("nightly", "active", "")
		tab.Row("x", "held", "by \x1b[2J hand")
		var b strings.Builder
		if _, err := tab.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	want := "JOB      STATE   NOTE\nnightly  active  -\nx        held    by \\x1b[2J hand\n"
	if got := render(&Streams{}); got != want {
		t.Errorf("pipe:\n%s\nwant:\n%s", got, want)
	}
	if got := render(&Streams{OutTTY: true, Width: 80}); got != want {
		t.Errorf("terminal:\n%s\nwant:\n%s", got, want)
	}
	narrow := render(&Streams{OutTTY: true, Width: 22})
	if want := "x        held    by..."; !strings.Contains(narrow, want) {
		t.Errorf("narrow terminal:\n%s\nwant a line %q", narrow, want)
	}
}

func TestTimesAreRelativeOnTerminalsOnly(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	later, earlier := now.Add(14*time.Hour+59*time.Minute), now.Add(-49*time.Hour)
	for _, tc := range []struct {
		at   *time.Time
		tty  bool
		want string
	}{
		{nil, true, "-"}, {&later, true, "in 14h"}, {&earlier, true, "2d ago"}, {&now, true, "now"},
		{nil, false, "-"}, {&later, false, "2026-12-01T02:59:00Z"},
	} {
		if got := (&Streams{OutTTY: tc.tty}).Time(tc.at, now); got != tc.want {
			t.Errorf("Time(%v, tty %v) = %q, want %q", tc.at, tc.tty, got, tc.want)
		}
	}
}

// typed is a terminal on which somebody types the given lines.
type typed struct {
	lines []string
	shown []string
}

func (p *typed) Line(prompt string) (string, error) {
	p.shown = append(p.shown, prompt)
	if len(p.lines) == 0 {
		return "", errors.New("end of input")
	}
	line := p.lines[0]
	p.lines = p.lines[1:]
	return line, nil
}

func (p *typed) Secret(prompt string) ([]byte, error) {
	line, err := p.Line(prompt)
	return []byte(line), err
}

func (p *typed) Close() error { return nil }

func TestConfirmIsNoUnlessSomebodyTypesYes(t *testing.T) {
	for answer, want := range map[string]bool{"y": true, "YES": true, " yes ": true, "": false, "n": false, "yy": false, "ok": false} {
		s := &Streams{Asks: true, OpenTTY: func() (Terminal, error) { return &typed{lines: []string{answer}}, nil }}
		if got, err := s.Confirm("Sign?"); got != want || err != nil {
			t.Errorf("answer %q: %v, %v, want %v", answer, got, err, want)
		}
	}
	s := &Streams{Asks: true, OpenTTY: func() (Terminal, error) { return &typed{}, nil }}
	if got, err := s.Confirm("Sign?"); got || err == nil {
		t.Errorf("closed terminal: %v, %v, want an error", got, err)
	}
}

func TestNothingIsAskedWithoutATerminal(t *testing.T) {
	opened := func() (Terminal, error) { t.Error("the terminal was opened"); return &typed{}, nil }
	for _, s := range []*Streams{{}, {OpenTTY: opened}, {Asks: true},
		{Asks: true, OpenTTY: func() (Terminal, error) { return nil, errors.New("no such device") }}} {
		if _, err := s.Confirm("Sign?"); !errors.Is(err, ErrNoTerminal) {
			t.Errorf("Confirm: %v, want ErrNoTerminal", err)
		}
		if _, err := s.Passphrase("Passphrase: "); !errors.Is(err, ErrNoTerminal) {
			t.Errorf("Passphrase: %v, want ErrNoTerminal", err)
		}
	}
}

func TestASecretIsReadToItsLineEndOnly(t *testing.T) {
	for in, want := range map[string]string{"pw\rnext": "pw", "pw\n": "pw", "\r": "", "px\x7fw\r": "pw", "\x7fpw\r": "pw", "wrong\x15pw\r": "pw"} {
		if got, err := readSecret(strings.NewReader(in)); string(got) != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "pw", "p\x03w\r", "\x04", strings.Repeat("x", maxSecret+1) + "\r"} {
		if got, err := readSecret(strings.NewReader(in)); err == nil || len(got) != 0 {
			t.Errorf("%.10q: %q, want an error", in, got)
		}
	}
}
