package shell

import (
	"errors"
	"io"
	"runtime"
)

// The parser descends once for each level of nesting and has no limit of its
// own. It reads its input bit by bit, so the reader looks how deep it has come:
// a text that nests beyond reason ends in an error instead of a stack that fills
// the memory.
const (
	maxFrames = 3000
	bite      = 256
)

// shallow reads a text while the stack above is no deeper than maxFrames.
type shallow struct {
	text string
}

var errDeep = errors.New("it nests too deeply")

// Read implements io.Reader.
func (s *shallow) Read(p []byte) (int, error) {
	if s.text == "" {
		return 0, io.EOF
	}
	var pc [1]uintptr
	if runtime.Callers(maxFrames, pc[:]) > 0 {
		return 0, errDeep
	}
	n := copy(p[:min(len(p), bite)], s.text)
	s.text = s.text[n:]
	return n, nil
}
