package safefile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Options say whose file is expected and how much of it is read. The zero value
// expects a file of root and reads nothing.
type Options struct {
	MaxBytes int64 // a longer file is refused
	UID      int   // owner; a file of root is accepted too, for root could write it anyway
	Secret   bool  // group and others may not even read it
	// Listed lets the group read a secret file that is root's, user and group: of
	// a file with an access list these bits are the list's mask (acl(5)), and that
	// is how systemd gives a credential to a service of another account.
	Listed bool
}

// Read returns the whole content of the file at the absolute path. A missing
// file is an error that errors.Is fs.ErrNotExist; an unsafe one is an *Error.
func Read(path string, o Options) ([]byte, error) {
	f, err := Open(path, os.O_RDONLY, o)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, o.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	if int64(len(data)) > o.MaxBytes {
		return nil, tooLong(path, o.MaxBytes)
	}
	return data, nil
}

func tooLong(path string, limit int64) error {
	return &Error{Path: path, Reason: fmt.Sprintf("longer than %d bytes", limit)}
}

// clean refuses a path whose parts do not name the file literally.
func clean(path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return &Error{Path: path, Reason: "not an absolute path in its shortest form"}
	}
	return nil
}
