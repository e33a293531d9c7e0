//go:build unix

package safefile

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	othersWrite = 0o022
	othersRead  = 0o044
)

// Open opens an existing file with the given access (os.O_RDONLY or os.O_RDWR)
// after the checks of Read. MaxBytes 0 sets no limit here, for databases.
func Open(path string, access int, o Options) (*os.File, error) {
	if err := clean(path); err != nil {
		return nil, err
	}
	parent, name, err := walk(path, o.UID)
	if err != nil {
		return nil, err
	}
	defer unix.Close(parent)
	for range replacedTries {
		f, err := openIn(parent, name, path, access, o)
		if !errors.Is(err, errReplaced) {
			return f, err
		}
	}
	return nil, &Error{Path: path, Reason: "the file is replaced again and again"}
}

// errReplaced says that the file had no name any more when it was looked at: Write
// has put another one in its place since it was opened.
var errReplaced = errors.New("replaced")

// replacedTries bounds how often a file that was just replaced is opened again.
const replacedTries = 100

func openIn(parent int, name, path string, access int, o Options) (*os.File, error) {
	// O_NONBLOCK keeps a planted FIFO from holding us up; it means nothing for
	// regular files, and anything else is refused below.
	fd, err := openPart(parent, name, access|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, openError(path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	if err := checkFile(fd, path, o); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// CheckDir holds the folder at path and each of its parents against the rules:
// it must belong to uid or root and nobody else may write it.
func CheckDir(path string, uid int) error { return checkDirAt(path, uid, false) }

// CheckPrivateDir is CheckDir for a folder that others may not look into.
func CheckPrivateDir(path string, uid int) error { return checkDirAt(path, uid, true) }

func checkDirAt(path string, uid int, private bool) error {
	if err := clean(path); err != nil {
		return err
	}
	parent, name, err := walk(path, uid)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	fd, err := openPart(parent, name, dirFlags)
	if err != nil {
		return openError(path, err)
	}
	defer unix.Close(fd)
	st, err := stat(fd, path)
	if err != nil {
		return err
	}
	if err := checkDir(st, path, uid, nil); err != nil {
		return err
	}
	if private && st.Mode&0o077 != 0 {
		return &Error{Path: path, Reason: fmt.Sprintf("others can look into the folder (mode %04o)", uint32(st.Mode)&0o7777), Fix: fmt.Sprintf("chmod 700 %q", path)}
	}
	return nil
}

// walk opens the parent of path part by part from the root, and checks each
// folder on the way. The caller closes the returned descriptor.
func walk(path string, uid int) (parent int, name string, err error) {
	fd, err := unix.Open("/", dirFlags|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, "", openError("/", err)
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, part := range parts {
		here := "/" + strings.Join(parts[:i], "/")
		if err := checkParent(fd, here, part, uid); err != nil {
			unix.Close(fd)
			return -1, "", err
		}
		if i == len(parts)-1 {
			break
		}
		next, err := openPart(fd, part, dirFlags)
		unix.Close(fd)
		if err != nil {
			return -1, "", openError("/"+strings.Join(parts[:i+1], "/"), err)
		}
		fd = next
	}
	return fd, parts[len(parts)-1], nil
}

func checkParent(fd int, path, next string, uid int) error {
	st, err := stat(fd, path)
	if err != nil {
		return err
	}
	return checkDir(st, path, uid, func() bool {
		var child unix.Stat_t
		err := unix.Fstatat(fd, next, &child, unix.AT_SYMLINK_NOFOLLOW)
		return err == nil && trusted(child.Uid, uid)
	})
}

// checkDir refuses a folder in which others could put another file. nextOurs
// says whether the next part of the path belongs to one of us; in a sticky
// folder nobody else can then rename or remove it (unlink(2), EPERM).
func checkDir(st unix.Stat_t, path string, uid int, nextOurs func() bool) error {
	if !trusted(st.Uid, uid) {
		return &Error{Path: path, Reason: fmt.Sprintf("the folder belongs to uid %d", st.Uid), Fix: fmt.Sprintf("chown %d %q", uid, path)}
	}
	if st.Mode&othersWrite == 0 {
		return nil
	}
	if st.Uid == 0 && st.Mode&unix.S_ISVTX != 0 && nextOurs != nil && nextOurs() {
		return nil
	}
	return &Error{Path: path, Reason: fmt.Sprintf("others can write the folder (mode %04o)", uint32(st.Mode)&0o7777), Fix: fmt.Sprintf("chmod go-w %q", path)}
}

func checkFile(fd int, path string, o Options) error {
	st, err := stat(fd, path)
	if err != nil {
		return err
	}
	mode := uint32(st.Mode)
	refuse := func(fix, format string, args ...any) error {
		return &Error{Path: path, Reason: fmt.Sprintf(format, args...), Fix: fix}
	}
	switch {
	case mode&unix.S_IFMT != unix.S_IFREG:
		return refuse("", "not a regular file")
	case st.Nlink == 0:
		return errReplaced
	case uint64(st.Nlink) != 1: // the type differs between systems
		return refuse("", "the file has %d names, want 1", st.Nlink)
	case !trusted(st.Uid, o.UID):
		return refuse(fmt.Sprintf("chown %d %q", o.UID, path), "the file belongs to uid %d, want %d", st.Uid, o.UID)
	case mode&othersWrite != 0:
		return refuse(fmt.Sprintf("chmod go-w %q", path), "others can write the file (mode %04o)", mode&0o7777)
	case o.Secret && mode&readers(st, o) != 0:
		return refuse(fmt.Sprintf("chmod 600 %q", path), "others can read the secret file (mode %04o)", mode&0o7777)
	case o.MaxBytes > 0 && st.Size > o.MaxBytes:
		return tooLong(path, o.MaxBytes)
	}
	return nil
}

// readers are the bits that must not be set on a secret file.
func readers(st unix.Stat_t, o Options) uint32 {
	if o.Listed && st.Uid == 0 && st.Gid == 0 {
		return othersRead & 0o007
	}
	return othersRead
}

// trusted reports whether owner may write what uid relies on.
func trusted(owner uint32, uid int) bool { return owner == 0 || int64(owner) == int64(uid) }

func stat(fd int, path string) (unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return st, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return st, nil
}

func openError(path string, err error) error {
	if errors.Is(err, unix.ELOOP) {
		return &Error{Path: path, Reason: "a link stands in the path", Fix: "name the real path"}
	}
	return &os.PathError{Op: "open", Path: path, Err: err}
}
