package safefile

import (
	"fmt"
	"os"
)

// Open opens an existing regular file that is not a link. Owner and access
// rights are not looked at on this system.
func Open(path string, access int, o Options) (*os.File, error) {
	if err := clean(path); err != nil {
		return nil, err
	}
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &Error{Path: path, Reason: "not a regular file"}
	}
	if o.MaxBytes > 0 && st.Size() > o.MaxBytes {
		return nil, tooLong(path, o.MaxBytes)
	}
	return os.OpenFile(path, access, 0)
}

// CheckDir checks that a folder stands at path.
func CheckDir(path string, _ int) error {
	if err := clean(path); err != nil {
		return err
	}
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return fmt.Errorf("check %q: not a folder", path)
	}
	return nil
}

// CheckPrivateDir is CheckDir here.
func CheckPrivateDir(path string, uid int) error { return CheckDir(path, uid) }
