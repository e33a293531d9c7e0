package supervise

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner"
)

// How paths are opened in the sandbox's view.
const (
	place  = unix.O_PATH | unix.O_CLOEXEC
	inRoot = unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS
)

// found is what a path leads to.
type found struct {
	name   int        // index in held, -1 for none
	object fileID     // of the file that lies there, where errno is 0
	errno  unix.Errno // why it could not be told
}

var nothing = found{name: -1}

// find says whether a call's path leads to a bound name. A path without symbolic
// links whose last part is no bound name's cannot, which is most of them and
// costs one look; every other is walked part by part.
func (s *server) find(c call, follow bool) found {
	if c.path == "" {
		return nothing // the kernel says ENOENT
	}
	_, last := split(c.path)
	start, errno := s.start(c)
	if errno == unix.ENOENT {
		return nothing // there is no such descriptor
	}
	if errno != 0 {
		return found{-1, fileID{}, unix.EACCES}
	}
	defer closeUnless(start, s.root)
	if !s.bases[last] {
		how := unix.OpenHow{Flags: place, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
		if start == s.root {
			how.Resolve |= unix.RESOLVE_IN_ROOT
		}
		fd, err := unix.Openat2(start, c.path, &how)
		if err == nil {
			unix.Close(fd)
			return nothing
		}
		switch errnoOf(err) {
		case unix.ENOENT, unix.ENOTDIR, unix.EACCES, unix.ENAMETOOLONG:
			return nothing // the kernel will say so
		}
	}
	return s.walk(c.pid, start, c.path, follow)
}

// written finds the approved name that a path from a directory is written as. It
// is alike where only its shortest form is one: what ".." means behind a part
// that was a link is not known.
func (s *server) written(from string, parts []string) (name int, alike bool) {
	for len(parts) > 0 && parts[0] == ".." {
		from, parts = path.Dir(from), parts[1:]
	}
	text := runner.PlainPath(from + "/" + strings.Join(parts, "/"))
	if i, ok := s.texts[text]; ok {
		return i, false
	}
	_, alike = s.texts[path.Clean(text)]
	return -1, alike
}

// placesOf is where a directory lies, and where it lay when the run began, if it
// is one that a bound name lies below.
func (s *server) placesOf(dir int) []string {
	all := []string{realPath(dir)}
	if id, err := identify(dir); err == nil && s.above[id] != "" && s.above[id] != all[0] {
		all = append(all, s.above[id])
	}
	return all
}

// start is where a path begins: the root, the caller's directory, or one of its
// descriptors.
func (s *server) start(c call) (int, unix.Errno) {
	if strings.HasPrefix(c.path, "/") {
		return s.root, 0
	}
	where := procPath(c.pid, "cwd")
	if c.dir != unix.AT_FDCWD {
		where = procPath(c.pid, "fd/") + itoa(c.dir)
	}
	fd, err := unix.Open(where, place, 0)
	if err != nil {
		return -1, errnoOf(err)
	}
	return fd, 0
}

// closeUnless closes a descriptor that is not the one that is kept.
func closeUnless(fd, kept int) {
	if fd >= 0 && fd != kept {
		unix.Close(fd)
	}
}

// inParent finds the bound name that a last part is in a directory, by the
// directory's identity or by where it lies: either can have been renamed.
func (s *server) inParent(dir int, last string) int {
	if !s.bases[last] {
		return -1
	}
	id, err := identify(dir)
	if err != nil {
		return -1
	}
	at := strings.TrimRight(realPath(dir), "/") + "/" + last
	for i, h := range s.held {
		if h.path == at || h.base == last && h.dir == id {
			return i
		}
	}
	return -1
}

// asObject finds the bound name that an opened file is or lies at.
func (s *server) asObject(fd int) found {
	id, err := identify(fd)
	if err != nil {
		return found{-1, id, errnoOf(err)}
	}
	at := strings.TrimSuffix(realPath(fd), " (deleted)")
	for i, h := range s.held {
		if h.id == id || h.path == at {
			return found{name: i, object: id}
		}
	}
	return found{name: -1, object: id}
}
