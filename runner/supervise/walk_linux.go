package supervise

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many symbolic links the kernel follows in one path.
const maxLinks = 40

func itoa(n int) string { return strconv.Itoa(n) }

// walker follows a path as the kernel would for the caller, and stops where a
// bound name is reached.
type walker struct {
	s     *server
	pid   int
	at    int // directory that was reached; ours unless it is the root
	parts []string
	links int
	named int  // bound name that the path was written as on the way, -1 for none
	alike bool // the same, but a part before ".." may have been a link then
}

// walk resolves a path from a directory in the caller's view. A path that cannot
// be followed to its end is an errno.
func (s *server) walk(pid, start int, path string, follow bool) found {
	w := &walker{s: s, pid: pid, at: s.root, named: -1}
	if start != s.root {
		fd, err := unix.FcntlInt(uintptr(start), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return found{-1, fileID{}, errnoOf(err)}
		}
		w.at = fd
	}
	defer func() { closeUnless(w.at, s.root) }()
	w.push(path)
	return w.wayOf(w.walk(follow))
}

func (w *walker) walk(follow bool) found {
	for len(w.parts) > 0 {
		w.look()
		part := w.pop()
		if len(w.parts) == 0 {
			if f, over := w.last(part, follow); over {
				return f
			}
			continue // a link put more parts there
		}
		if errno := w.step(part); errno != 0 {
			return found{-1, fileID{}, errno}
		}
	}
	return w.s.asObject(w.at) // a directory's path
}

// look compares what is left to walk with the approved names, as it is written:
// the next part may have become a link, or have gone.
func (w *walker) look() {
	if w.named >= 0 || !w.s.bases[w.parts[len(w.parts)-1]] {
		return
	}
	for _, from := range w.s.placesOf(w.at) {
		name, alike := w.s.written(from, w.parts)
		if w.named = name; name >= 0 {
			return
		}
		w.alike = w.alike || alike
	}
}

// wayOf adds what was seen on the way to what was found at its end. A path that
// may have meant a bound name is not followed to other bytes.
func (w *walker) wayOf(f found) found {
	switch {
	case f.name >= 0:
	case w.named >= 0:
		f.name = w.named
	case w.alike && f.errno == 0:
		f.errno = unix.EACCES
	}
	return f
}

// push puts a path before what is left to walk.
func (w *walker) push(path string) {
	var list []string
	for part := range strings.SplitSeq(path, "/") {
		if part != "" && part != "." {
			list = append(list, part)
		}
	}
	w.parts = append(list, w.parts...)
}

func (w *walker) pop() string {
	part := w.parts[0]
	w.parts = w.parts[1:]
	return part
}

// enter takes over a directory.
func (w *walker) enter(fd int) {
	closeUnless(w.at, w.s.root)
	w.at = fd
}

// step goes into a part that is not the last.
func (w *walker) step(part string) unix.Errno {
	fd, isLink, errno := w.open(part)
	if errno != 0 {
		return errno
	}
	if isLink {
		return w.follow(fd, part)
	}
	w.enter(fd)
	return 0
}

// last judges the last part: by its name in its directory first, since the name
// can mean anything by now. It is not over where the part is a link.
func (w *walker) last(part string, follow bool) (f found, over bool) {
	name := w.s.inParent(w.at, part)
	fd, isLink, errno := w.open(part)
	switch {
	case errno != 0:
		return found{name, fileID{}, errno}, true
	case name < 0 && isLink && follow:
		errno := w.follow(fd, part)
		return found{-1, fileID{}, errno}, errno != 0
	}
	defer unix.Close(fd)
	f = w.s.asObject(fd)
	if name >= 0 {
		f.name = name
	}
	return f, true
}

// open opens a part without following it.
func (w *walker) open(part string) (fd int, isLink bool, errno unix.Errno) {
	fd, err := unix.Openat(w.at, part, place|unix.O_NOFOLLOW, 0)
	if err != nil {
		return -1, false, errnoOf(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, false, errnoOf(err)
	}
	return fd, st.Mode&unix.S_IFMT == unix.S_IFLNK, 0
}

// follow goes on where a symbolic link leads, and closes it.
func (w *walker) follow(link int, part string) unix.Errno {
	defer unix.Close(link)
	if w.links++; w.links > maxLinks {
		return unix.ELOOP
	}
	if w.magic(part) {
		return w.through(part)
	}
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(link, "", buf[:])
	if err != nil {
		return errnoOf(err)
	}
	target := string(buf[:n])
	if strings.HasPrefix(target, "/") {
		w.enter(w.s.root)
	}
	w.push(target)
	return 0
}

// magic says whether a link lies in procfs and stands for an open file or a
// process itself. Two there are plain text.
func (w *walker) magic(part string) bool {
	var fs unix.Statfs_t
	err := unix.Fstatfs(w.at, &fs)
	return err == nil && fs.Type == unix.PROC_SUPER_MAGIC && part != "mounts" && part != "net"
}

// through follows such a link. "self" means the caller, whom only our own procfs
// shows by a number that we know.
func (w *walker) through(part string) unix.Errno {
	where, at := part, w.at
	if part == "self" || part == "thread-self" {
		where, at = procPath(w.pid, ""), unix.AT_FDCWD
	}
	fd, err := unix.Openat(at, where, place, 0)
	if err != nil {
		return errnoOf(err)
	}
	w.enter(fd)
	return 0
}
