package statedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// make makes the folder where nobody else gets to, and moves it to its place when
// it is whole. A half made one of an earlier try is taken away first; there is
// nothing in it.
func (f Folder) make() error {
	root, err := f.makeRoot()
	if err != nil {
		return err
	}
	defer unix.Close(root)
	shop, err := openWorkshop(root, filepath.Join(f.Root, workshop))
	if err != nil {
		return fmt.Errorf("make state folder %q: %w", f.Path(), err)
	}
	defer unix.Close(shop)
	if err := dropHalf(shop, f.Name); err != nil {
		return fmt.Errorf("remove half made %q: %w", f.Name, err)
	}
	if err := f.makeIn(shop, f.Name); err != nil {
		return fmt.Errorf("make state folder %q: %w", f.Path(), err)
	}
	if err := unix.Renameat2(shop, f.Name, root, f.Name, unix.RENAME_NOREPLACE); err != nil {
		return fmt.Errorf("make state folder %q: %w", f.Path(), err)
	}
	return unix.Fsync(root)
}

// openWorkshop opens the folder that only we can pass, and makes it if need be.
// While NAME is made its group may write to it, and a group can be anybody's.
func openWorkshop(root int, path string) (int, error) {
	if err := unix.Mkdirat(root, workshop, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, err
	}
	fd, err := openAt(root, workshop, anyDir, inside)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && (int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0) {
		err = unusable("%q belongs to uid %d with mode %04o; others than uid %d must not get there", path, st.Uid, st.Mode&0o7777, os.Geteuid())
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
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

func dropHalf(shop int, half string) error {
	fd, err := openAt(shop, half, pathDir, inside)
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
	return unix.Unlinkat(shop, half, unix.AT_REMOVEDIR)
}

// makeIn makes NAME and, with the account's rights, data. The service has no
// right to give files away (CAP_CHOWN), so the account makes its own; for that
// moment its group may write to NAME, which lies where nobody else gets to.
func (f Folder) makeIn(shop int, name string) error {
	if err := withGroup(f.Account, func() error { return unix.Mkdirat(shop, name, 0o700) }); err != nil {
		return err
	}
	outer, err := openAt(shop, name, anyDir, inside)
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
