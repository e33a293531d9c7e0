package attempt

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/sbxcron/sbxcron/runner/escape"
	"golang.org/x/sys/unix"
)

// worker makes attempts in its own process.
type worker struct {
	targets   map[string]string
	inherited []int
	id        string // of the attempt that is being made
}

// said is an answer that no error of the kernel stands for.
type said string

func (s said) Error() string { return string(s) }

// Answers of attempts that look for something.
const (
	none = said("none") // it is not there
	same = said("same") // nothing more than before
)

// verb makes one kind of attempt. nil means that it got through.
type verb func(w *worker, a []string) error

// verbs is the table of all verbs.
func verbs() map[string]verb {
	all := map[string]verb{}
	for _, part := range []map[string]verb{fileVerbs(), makeVerbs(), lookVerbs(), kernelVerbs(), processVerbs(), netVerbs(), limitVerbs()} {
		for name, f := range part {
			all[name] = f
		}
	}
	return all
}

// make makes one attempt.
func (w *worker) make(a escape.Attempt) escape.Answer {
	w.id = a.ID
	words, err := w.words(a.Do)
	if err != nil {
		return escape.Answer{ID: a.ID, Said: "error", Detail: err.Error()}
	}
	f, known := verbs()[words[0]]
	if !known {
		return escape.Answer{ID: a.ID, Said: "error", Detail: "no such verb: " + words[0]}
	}
	return answer(a.ID, f(w, words[1:]))
}

// words splits an attempt and puts the targets in.
func (w *worker) words(do string) ([]string, error) {
	words := strings.Fields(do)
	for i := range words {
		for name, value := range w.targets {
			words[i] = strings.ReplaceAll(words[i], "{"+name+"}", value)
		}
		if strings.ContainsAny(words[i], "{}") {
			return nil, fmt.Errorf("%s stands for nothing here", words[i])
		}
	}
	return words, nil
}

func answer(id string, err error) escape.Answer {
	a := escape.Answer{ID: id}
	var no syscall.Errno
	var word said
	switch {
	case err == nil:
		a.Said = "ok"
	case errors.As(err, &no):
		if a.Said = unix.ErrnoName(no); a.Said == "" {
			a.Said = fmt.Sprintf("errno%d", int(no))
		}
	case errors.As(err, &word):
		a.Said = string(word)
	default:
		a.Said, a.Detail = "error", err.Error()
	}
	return a
}

// line is what an attempt writes where it gets through: the stage knows it by it.
func (w *worker) line() []byte { return []byte(w.id + "\n") }
