package escape

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maker makes files for an account and keeps the first error.
type maker struct {
	uid, gid int
	err      error
}

func (m *maker) do(path string, steps ...func() error) {
	for _, f := range append(steps, func() error { return os.Lchown(path, m.uid, m.gid) }) {
		if m.err == nil {
			m.err = f()
		}
	}
}

func (m *maker) dir(path string, mode os.FileMode) {
	m.do(path, func() error { return os.Mkdir(path, mode) }, func() error { return os.Chmod(path, mode) })
}

func (m *maker) file(path, text string, mode os.FileMode) {
	m.do(path, func() error { return os.WriteFile(path, []byte(text), mode) }, func() error { return os.Chmod(path, mode) })
}

func (m *maker) fifo(path string) {
	m.do(path, func() error { return unix.Mkfifo(path, 0o666) }, func() error { return os.Chmod(path, 0o666) })
}

func (m *maker) link(to, path string) {
	m.do(path, func() error { return os.Symlink(to, path) })
}

// copy makes a program that belongs to the caller.
func (m *maker) copy(from, to string, mode os.FileMode) {
	if m.err != nil {
		return
	}
	m.err = func() error {
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		src, err := os.Open(from)
		if err != nil {
			return err
		}
		defer src.Close()
		dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
		if err != nil {
			return err
		}
		_, err = io.Copy(dst, src)
		return errors.Join(err, dst.Close(), os.Chmod(to, mode))
	}()
}

// capability gives a program the right to see all files (capabilities(7): struct
// vfs_cap_data of revision 2, effective, CAP_DAC_OVERRIDE).
func (m *maker) capability(path string) {
	if m.err == nil {
		m.err = unix.Setxattr(path, "security.capability", []byte{1, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0)
	}
}
