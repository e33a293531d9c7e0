package statedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/pin"
)

const (
	dataName = "data"
	workshop = ".new" // holds the folders that are being made
)

// Folder is the state folder of one job.
type Folder struct {
	Root    string // holds all of them; made with the first
	Name    string // jobspec.Job.StateName
	Account pin.Account
}

// Path is what the job sees of it.
func (f Folder) Path() string { return filepath.Join(f.Root, f.Name, dataName) }

// Look opens and measures the folder. With create it is made where there is
// none; else a missing one is an empty one, and there is no file. The error
// means that nothing could be told.
func (f Folder) Look(create bool) (jobspec.Observation, *os.File, error) {
	seen := jobspec.Observation{Use: jobspec.UseState, Typed: jobspec.StatePlace, Real: f.Path(), Kind: jobspec.KindDir, UID: f.Account.UID}
	if err := f.check(); err != nil {
		return seen, nil, err
	}
	file, err := f.open()
	if errors.Is(err, unix.ENOENT) {
		if !create {
			return seen, nil, nil
		}
		if err = f.make(); err == nil {
			file, err = f.open()
		}
	}
	if err == nil {
		seen.Size, err = f.measure(file)
	}
	var p *problem
	if errors.As(err, &p) {
		seen.Problem, seen.Detail = p.code, p.detail
		err = nil
	}
	if seen.Problem != "" || err != nil {
		if file != nil {
			file.Close()
		}
		return seen, nil, err
	}
	return seen, file, nil
}

// problem is why a folder cannot be used, as data for a refusal.
type problem struct {
	code   jobspec.Code
	detail string
}

func (p *problem) Error() string { return p.detail }

func unusable(format string, args ...any) error {
	return &problem{jobspec.CodeStateUnusable, fmt.Sprintf(format, args...)}
}

func (f Folder) check() error {
	if f.Name == "" || strings.HasPrefix(f.Name, ".") || strings.ContainsAny(f.Name, "/\x00") {
		return fmt.Errorf("state folder %q: not a name", f.Name)
	}
	if f.Account.UID <= 0 || f.Account.Drop && f.Account.GID <= 0 {
		return fmt.Errorf("state folder %q: uid %d, gid %d cannot have one", f.Name, f.Account.UID, f.Account.GID)
	}
	return nil
}

// The ways in which folders are opened: an O_PATH descriptor that is neither a
// link nor on another file system than what it lies in.
const (
	inside  = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV
	anyDir  = unix.O_DIRECTORY | unix.O_CLOEXEC
	pathDir = anyDir | unix.O_PATH
)

func openAt(dir int, name string, flags, resolve uint64) (int, error) {
	for {
		fd, err := unix.Openat2(dir, name, &unix.OpenHow{Flags: flags, Resolve: resolve})
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			continue
		}
		return fd, err
	}
}

// openRoot opens ROOT, which must be ours alone to change.
func openRoot(root string) (int, error) {
	fd, err := openAt(unix.AT_FDCWD, root, anyDir, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return -1, err
	}
	if err := ours(fd, root); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// ours refuses a folder that others than the service can change.
func ours(fd int, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return unusable("%q belongs to uid %d with mode %04o; it must be uid %d's alone to change", path, st.Uid, st.Mode&0o7777, os.Geteuid())
	}
	return nil
}

// open opens data and checks that it is the account's, and that the account gets
// there by the path as well.
func (f Folder) open() (*os.File, error) {
	root, err := openRoot(f.Root)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	outer, err := openAt(root, f.Name, pathDir, inside)
	if err != nil {
		return nil, linkOr(err, f.Path())
	}
	defer unix.Close(outer)
	if err := ours(outer, filepath.Dir(f.Path())); err != nil {
		return nil, err
	}
	fd, err := openAt(outer, dataName, pathDir, inside)
	if errors.Is(err, unix.ENOENT) {
		return nil, unusable("%q holds no folder %q", filepath.Dir(f.Path()), dataName)
	}
	if err != nil {
		return nil, linkOr(err, f.Path())
	}
	file := os.NewFile(uintptr(fd), f.Path())
	if err := f.belongs(file); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// linkOr says what the kernel found in place of a folder.
func linkOr(err error, path string) error {
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return unusable("%q is no folder", path)
	case errors.Is(err, unix.EXDEV):
		return unusable("something is mounted over %q", path)
	case errors.Is(err, unix.EACCES):
		return unusable("%q cannot be opened: %v", path, err)
	}
	return err
}

func (f Folder) belongs(file *os.File) error {
	var have, found unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &have); err != nil {
		return err
	}
	if int(have.Uid) != f.Account.UID {
		return unusable("%q belongs to uid %d, and the job runs as uid %d", f.Path(), have.Uid, f.Account.UID)
	}
	return as(f.Account, func() error {
		fd, err := openAt(unix.AT_FDCWD, f.Path(), pathDir, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
		if err != nil {
			return unusable("uid %d does not get to %q: %v; every folder above it must be searchable for others", f.Account.UID, f.Path(), err)
		}
		defer unix.Close(fd)
		if err := unix.Fstat(fd, &found); err != nil {
			return err
		}
		if found.Dev != have.Dev || found.Ino != have.Ino {
			return unusable("%q leads elsewhere for uid %d", f.Path(), f.Account.UID)
		}
		return nil
	})
}
