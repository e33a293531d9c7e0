package mask

import (
	"bytes"
	"strings"
)

// MinBytes is the shortest value that is masked, in bytes. A shorter one stands
// in too much that is no secret.
const MinBytes = 6

// Value is a secret and what it is called.
type Value struct {
	Name  string
	Bytes []byte
}

// Set finds the values of one run. It may be used by many streams at once. A nil
// Set finds nothing.
type Set struct {
	a      *automaton
	labels []string
}

type pattern struct {
	text  []byte
	owner int
}

// New makes a set, nil for no values. The values are copied.
func New(values []Value) *Set {
	if len(values) == 0 {
		return nil
	}
	s := &Set{}
	var all []pattern
	for i, v := range values {
		s.labels = append(s.labels, "[credential "+v.Name+"]")
		for _, text := range texts(v.Bytes) {
			all = append(all, pattern{text, i})
		}
	}
	s.a = newAutomaton(all)
	return s
}

// texts are what is looked for: the value without the line end that files have,
// each of its lines, and what in a line is known to be the secret.
func texts(value []byte) [][]byte {
	all := [][]byte{Core(value)}
	for line := range bytes.SplitSeq(value, []byte("\n")) {
		line = bytes.TrimSpace(line)
		all = append(append(all, line), fields(line)...)
	}
	kept := all[:0]
	for _, t := range all {
		if len(t) >= MinBytes {
			kept = append(kept, t)
		}
	}
	return kept
}

// Core is the value without what ends a text file.
func Core(value []byte) []byte { return bytes.TrimRight(value, "\r\n") }

// Text masks a short text that stands alone, such as the target of a denial. One
// that was cut with dots may end within a value.
func (s *Set) Text(text string) string {
	if s == nil {
		return text
	}
	head, cut := strings.CutSuffix(text, "...")
	var b strings.Builder
	w := s.Stream(func(p []byte) { b.Write(p) })
	w.put([]byte(head))
	w.Close()
	if cut {
		b.WriteString("...")
	}
	return b.String()
}

// Clear forgets the values. No stream of the set may be used after it.
func (s *Set) Clear() {
	if s != nil {
		s.a.clear()
	}
}
