//go:build unix

package keyfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openNow does not wait when the name is a fifo.
func openNow(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
}

// exposed says who beside the owner could know the secret.
func exposed(info fs.FileInfo) string {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Sprintf("mode %04o lets group or others reach a private key", mode)
	}
	return ""
}

// foreign says whose file it is, if not the caller's.
func foreign(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "owner unknown"
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Sprintf("belongs to uid %d", st.Uid)
	}
	return ""
}

// SyncFolder makes the new name durable.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
