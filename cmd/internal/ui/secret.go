package ui

import (
	"errors"
	"fmt"
	"io"
)

// errInterrupted says that the person pressed control-C.
var errInterrupted = errors.New("interrupted")

const maxSecret = 4096

// readSecret reads a line from a raw terminal, byte by byte. Backspace and
// control-U work; control-C, and control-D on an empty line, are errors.
func readSecret(r io.Reader) ([]byte, error) {
	line := make([]byte, 0, maxSecret) // never grown, so no copy is left behind
	for one := make([]byte, 1); ; {
		n, err := r.Read(one)
		switch c := one[0]; {
		case n == 0 && err != nil:
			return nil, err
		case n == 0:
		case c == '\r' || c == '\n':
			return line, nil
		case c == 0x03:
			return nil, errInterrupted
		case c == 0x04 && len(line) == 0:
			return nil, io.EOF
		case c == 0x15:
			line = line[:0]
		case c == 0x7f || c == 0x08:
			line = line[:max(len(line)-1, 0)]
		case len(line) == maxSecret:
			return nil, fmt.Errorf("longer than %d bytes", maxSecret)
		default:
			line = append(line, c)
		}
	}
}
