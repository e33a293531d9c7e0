package bwrap

import (
	"errors"
	"fmt"
	"os"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"golang.org/x/sys/unix"
)

// word is one word of the command line: a text, or a file that has its number
// there once the start has opened it.
type word struct {
	text string
	file source
}

// source says what an inherited file is. The zero value is none.
type source struct {
	kind  sourceKind
	index int    // of a pin or a guard
	name  string // for people: where it appears
	bytes []byte // of data

	secret *runner.Secret // of a credential
}

type sourceKind uint8

const (
	noSource         sourceKind = iota
	statusSource                // takes bwrap's status documents
	pinSource                   // a pinned file or folder itself
	copySource                  // the bytes of a sealed pin, from their begin
	dataSource                  // bytes of the plan
	credentialSource            // the value of a credential, which no text of ours holds
	guardSource                 // a protected name that exists, or the pipe of the run
	stubSource                  // the stub
)

// sourceOf says what a mount comes from, if it comes from a file.
func sourceOf(m runner.Mount) source {
	switch m.Kind {
	case runner.PinnedRO, runner.PinnedRW:
		return source{kind: pinSource, index: m.Pin, name: m.Dst}
	case runner.Copy:
		return source{kind: copySource, index: m.Pin, name: m.Dst}
	case runner.Data, runner.HideFile:
		return source{kind: dataSource, name: m.Dst, bytes: m.Bytes}
	case runner.Credential:
		return source{kind: credentialSource, name: m.Dst, secret: m.Secret}
	}
	return source{}
}

// String prints the word as golden files have it.
func (w word) String() string {
	s := w.file
	switch s.kind {
	case statusSource:
		return "<status>"
	case pinSource:
		return fmt.Sprintf("<pin %d>", s.index)
	case copySource:
		return fmt.Sprintf("<copy of pin %d>", s.index)
	case dataSource:
		return fmt.Sprintf("<%d bytes %s>", len(s.bytes), jobspec.DigestOf(s.bytes).Short())
	case credentialSource:
		return "<" + s.secret.String() + ">"
	case guardSource:
		return "<guard " + s.name + ">"
	case stubSource:
		return "<stub>"
	}
	return w.text
}

// supply is where the files of a command line come from.
type supply struct {
	pins   runner.Pins
	guards []guarded
	stub   func() (*os.File, error)
	status string // the number that is there already
}

// number opens every file of the line and puts its number in its place.
func (fs *files) number(words []word, from supply) ([]string, error) {
	args := make([]string, 0, len(words))
	for _, w := range words {
		if w.file.kind == noSource {
			args = append(args, w.text)
			continue
		}
		n, err := fs.open(w.file, from)
		if err != nil {
			return nil, fmt.Errorf("file for %s: %w", w, err)
		}
		args = append(args, n)
	}
	return args, nil
}

func (fs *files) open(s source, from supply) (string, error) {
	switch s.kind {
	case statusSource:
		return from.status, nil
	case pinSource:
		return fs.held(from.pins.File(s.index))
	case copySource:
		return fs.fresh(from.pins.File(s.index))
	case dataSource:
		return fs.data("data", s.bytes)
	case credentialSource:
		return fs.data("credential", s.secret.Reveal())
	case guardSource:
		return fs.held(from.guards[s.index].file)
	case stubSource:
		f, err := from.stub()
		if err != nil {
			return "", err
		}
		return fs.take(f), nil
	}
	return "", unix.EBADF
}

// held is add for a file that must be open.
func (fs *files) held(f *os.File) (string, error) {
	if f == nil {
		return "", errors.New("it is not open")
	}
	return fs.add(f), nil
}
