package keyfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// PermsError says that a secret lies open. Its hint names the way out.
type PermsError struct {
	Path string
	Why  string
}

// Error names the file and what is wrong with it.
func (e *PermsError) Error() string { return fmt.Sprintf("read %q: %s", e.Path, e.Why) }

// Hint says what to type.
func (e *PermsError) Hint() string {
	return fmt.Sprintf("only its owner may reach it: chmod 600 %q; if others could read it, make a new key", e.Path)
}

// Create writes a new file with this mode and syncs it and its folder. An
// existing file, or a link of that name, is an error that errors.Is fs.ErrExist
// and stays untouched. What was begun is removed when it cannot be finished.
func Create(path string, mode os.FileMode, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return quoted("create", path, err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(quoted("write", path, err), os.Remove(path))
	}
	if err := SyncFolder(filepath.Dir(path)); err != nil {
		return quoted("sync the folder of", path, err)
	}
	return nil
}

// quoted names the file in quotes and takes the bare name out of the cause: a
// path may hold anything.
func quoted(op, path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s %q: %w", op, path, err)
}

// Read returns a file of at most limit bytes. One that isPrivate says is secret
// must not be reachable by group or others; with such a mode, only its owner and
// root could open it. A symlink is followed, as ssh does, since what is judged
// is what was opened.
func Read(path string, limit int64, isPrivate func([]byte) bool) ([]byte, error) {
	data, info, err := read(path, limit)
	if err != nil || !isPrivate(data) {
		return data, err
	}
	return guard(path, data, exposed(info))
}

// ReadOwn is Read for a secret that also must belong to the caller, root
// included: nobody else may have put it there.
func ReadOwn(path string, limit int64) ([]byte, error) {
	data, info, err := read(path, limit)
	if err != nil {
		return nil, err
	}
	if why := foreign(info); why != "" {
		return guard(path, data, why)
	}
	return guard(path, data, exposed(info))
}

// guard gives the secret out only if nothing speaks against it.
func guard(path string, data []byte, why string) ([]byte, error) {
	if why == "" {
		return data, nil
	}
	clear(data)
	return nil, &PermsError{Path: path, Why: why}
}

func read(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := openNow(path)
	if err != nil {
		return nil, nil, quoted("open", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, quoted("stat", path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("read %q: not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, nil, quoted("read", path, err)
	}
	if int64(len(data)) > limit {
		return nil, nil, fmt.Errorf("read %q: longer than %d bytes", path, limit)
	}
	return data, info, nil
}
