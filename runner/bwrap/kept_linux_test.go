package bwrap

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// keptText is what was kept of a stream; nothing, without a file, of a quiet one.
func keptText(dir, stream string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, stream))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}
