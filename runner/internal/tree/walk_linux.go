// Package tree walks what a job may have changed. Names in it are the job's: no
// link is followed, no other file system entered, and the walk has an end.
package tree

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// ErrTooMuch ends a walk over more entries or deeper folders than its bounds.
var ErrTooMuch = errors.New("too many files and folders")

// SkipFolder is what visit returns of a folder that is not to be entered.
var SkipFolder = errors.New("folder is not entered")

const maxDepth = 64 // each level holds a descriptor

// Entry is one name in a folder.
type Entry struct {
	Dir  int    // descriptor of the folder, valid during the call
	Name string // in the folder
	Path string // from the top
	Stat *unix.Stat_t
}

// Walk calls visit for everything below top, folders before what lies in them.
// What vanishes meanwhile is passed over. Of a folder below top that may not be
// listed, or whose names may not be looked at, it calls closed: the walk has the
// job's rights, and a job can take rights from its own folders.
func Walk(top *os.File, most int, visit, closed func(Entry) error) error {
	w := walker{left: most, visit: visit, closed: closed}
	var st unix.Stat_t
	if err := unix.Fstat(int(top.Fd()), &st); err != nil {
		return fmt.Errorf("look at %s: %w", top.Name(), err)
	}
	w.dev = st.Dev
	return w.folder(Entry{Dir: int(top.Fd()), Name: ".", Stat: &st}, 0)
}

type walker struct {
	dev    uint64
	left   int
	visit  func(Entry) error
	closed func(Entry) error
}

func (w *walker) folder(e Entry, depth int) error {
	if depth > maxDepth {
		return ErrTooMuch
	}
	fd, err := unix.Openat2(e.Dir, e.Name, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NOFOLLOW,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV})
	if errors.Is(err, unix.EACCES) {
		return w.closed(e)
	}
	if passOver(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read folder %q: %w", e.Path, err)
	}
	dir := os.NewFile(uintptr(fd), e.Path)
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(256)
		for _, n := range names {
			err := w.entry(fd, n, path.Join(e.Path, n), depth)
			if errors.Is(err, errNoName) {
				return w.closed(e)
			}
			if err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || passOver(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read folder %q: %w", e.Path, err)
		}
	}
}

// errNoName says that the names of a folder may be listed and not looked at.
var errNoName = errors.New("names may not be looked at")

func (w *walker) entry(dir int, name, below string, depth int) error {
	if w.left--; w.left < 0 {
		return ErrTooMuch
	}
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.EACCES) {
		return errNoName
	}
	if passOver(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %q: %w", below, err)
	}
	if st.Dev != w.dev {
		return nil
	}
	e := Entry{Dir: dir, Name: name, Path: below, Stat: &st}
	err = w.visit(e)
	if errors.Is(err, SkipFolder) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	return w.folder(e, depth+1)
}

func passOver(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EXDEV)
}
