package statedir

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// make makes the folder under another name and renames it when it is whole. A
// half made one of an earlier try is taken away first; there is nothing in it.
func (f Folder) make() error {
	root, err := f.makeRoot()
	if err != nil {
		return err
	}
	defer unix.Close(root)
	half := newPrefix + f.Name
	if err := dropHalf(root, half); err != nil {
		return fmt.Errorf("remove half made %q: %w", half, err)
	}
	if err := f.makeIn(root, half); err != nil {
		return fmt.Errorf("make state folder %q: %w", f.Path(), err)
	}
	if err := unix.Renameat2(root, half, root, f.Name, unix.RENAME_NOREPLACE); err != nil {
		return fmt.Errorf("make state folder %q: %w", f.Path(), err)
	}
	return unix.Fsync(root)
}

// makeRoot makes ROOT where it is missing: as root searchable for everybody, as
// an owner for the owner alone.
func (f Folder) makeRoot() (int, error) {
	mode := os.FileMode(0o700)
	if f.Account.Drop {
		mode = 0o711
	}
	err := os.Mkdir(f.Root, mode)
	if err == nil {
		err = os.Chmod(f.Root, mode) // whatever the umask is
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return -1, fmt.Errorf("make %q: %w", f.Root, err)
	}
	return openRoot(f.Root)
}

func dropHalf(root int, half string) error {
	fd, err := openAt(root, half, pathDir, inside)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Unlinkat(fd, dataName, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	return unix.Unlinkat(root, half, unix.AT_REMOVEDIR)
}

// makeIn makes NAME and, with the account's rights, data. The service has no
// right to give files away (CAP_CHOWN), so the account makes its own; for that
// moment its group may write to NAME, which nobody else can have entered.
func (f Folder) makeIn(root int, name string) error {
	if err := withGroup(f.Account, func() error { return unix.Mkdirat(root, name, 0o700) }); err != nil {
		return err
	}
	outer, err := openAt(root, name, anyDir, inside)
	if err != nil {
		return err
	}
	defer unix.Close(outer)
	during, after := uint32(0o700), uint32(0o700)
	if f.Account.Drop {
		during, after = 0o730, 0o710
	}
	if err := unix.Fchmod(outer, during); err != nil {
		return err
	}
	if err := as(f.Account, func() error { return unix.Mkdirat(outer, dataName, 0o700) }); err != nil {
		return err
	}
	return errors.Join(unix.Fchmod(outer, after), unix.Fsync(outer))
}
