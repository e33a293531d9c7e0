package supervise

import (
	"path"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/seccomp"
)

// shape says where the arguments of a call stand; -1 for one that it has not.
type shape struct {
	dir, path, flags int
	exec             bool
	told             string       // name of a call that is refused and told, "" for others
	wish             seccomp.Wish // what it wants
	connect          bool
}

// ownShapes are those of this machine, made once for all runs of a supervisor.
var ownShapes = sync.OnceValue(func() map[int32]shape { return shapes(seccomp.Arch(runtime.GOARCH)) })

func shapes(a seccomp.Arch) map[int32]shape {
	all := map[int32]shape{}
	add := func(name string, s shape) {
		if nr, err := a.Number(name); err == nil {
			all[int32(nr)] = s
		}
	}
	add("open", shape{dir: -1, path: 0, flags: 1})
	add("openat", shape{dir: 0, path: 1, flags: 2})
	add("execve", shape{dir: -1, path: 0, flags: -1, exec: true})
	add("execveat", shape{dir: 0, path: 1, flags: 4, exec: true})
	for _, name := range seccomp.ToldCalls() {
		add(name, shape{told: name, wish: seccomp.WishOf(name)})
	}
	add("connect", shape{connect: true})
	return all
}

// call is a call that waits, read from its caller.
type call struct {
	pid   int
	dir   int // the directory's descriptor over there, or AT_FDCWD
	path  string
	flags uint64
	exec  bool
}

// terminal is what programs open to ask whoever started them.
const terminal = "/dev/tty"

// verdict is what becomes of a call. The zero value lets it go on.
type verdict struct {
	later bool // somebody else answers
	give  bool
	name  int
	flags uint64 // of open
	errno unix.Errno
}

func refuse(errno unix.Errno) verdict { return verdict{errno: errno} }

func (s *server) judge(n *notification) verdict {
	shape, known := s.calls[n.nr]
	if !known {
		return refuse(unix.ENOSYS) // the filter asks for no other
	}
	if shape.connect {
		return s.judgeConnect(n)
	}
	if shape.told != "" {
		return s.judgeWish(n, shape)
	}
	c := call{pid: int(n.pid), dir: unix.AT_FDCWD, exec: shape.exec}
	var errno unix.Errno
	if c.path, errno = readString(c.pid, n.args[shape.path]); errno != 0 {
		return refuse(errno)
	}
	if shape.dir >= 0 {
		c.dir = int(int32(n.args[shape.dir]))
	}
	if shape.flags >= 0 {
		c.flags = n.args[shape.flags]
	}
	if c.exec {
		return s.judgeExec(n.id, c)
	}
	return s.judgeOpen(n, c)
}

// judgeOpen tells of terminals and devices, and gives the approved bytes to whoever
// opens a bound name. Whoever would write hears what the read-only mount over it
// says, which asks for the mode of the file first.
func (s *server) judgeOpen(n *notification, c call) verdict {
	switch {
	case c.path == runner.MeasuredPath:
		s.counting.Store(true)
		return refuse(runner.MeasuredErr)
	case c.path == runner.ListenerPath && len(s.held) > 0 && !s.listened.Swap(true):
		return verdict{give: true, flags: c.flags}
	case path.Clean(c.path) == terminal:
		s.tell(expectedBy(builtinTerminals, Event{Code: jobspec.CodeAskTTY, Target: terminal, Count: 1}, n, [3]uint64{c.flags}))
		return refuse(unix.ENXIO) // as the kernel says to whoever has none
	}
	s.lookAtDevice(c)
	if len(s.held) == 0 || c.flags&unix.O_ACCMODE == unix.O_WRONLY {
		return verdict{} // no bytes of a bound name are read
	}
	return s.judgeName(n, c)
}

// judgeName is judgeOpen for what may be a bound name.
func (s *server) judgeName(n *notification, c call) verdict {
	f := s.find(c, c.flags&unix.O_NOFOLLOW == 0)
	switch {
	case f.name < 0 && f.errno == unix.ENOENT && c.flags&unix.O_CREAT != 0:
		return verdict{} // it is to be made
	case f.name < 0:
		return refuse(f.errno) // or none: it goes on
	case !s.valid(n.id):
		return refuse(unix.EINTR) // nobody hears it
	case c.flags&unix.O_TRUNC != 0:
		return refuse(unix.EROFS)
	case c.flags&unix.O_ACCMODE != unix.O_RDONLY:
		return refuse(unix.EACCES)
	}
	return verdict{give: true, name: f.name, flags: c.flags}
}

// judgeExec lets a bound name be executed while it means the approved bytes. A
// descriptor cannot be put in place of an execve, so the kernel looks at the name
// once more: what is done to it in between, a few microseconds, is not seen.
//
// The kernel asks nobody about the interpreter that a script's first line names,
// so it is looked at here, too.
func (s *server) judgeExec(id uint64, c call) verdict {
	s.lookAtBits(c)
	if len(s.held) == 0 {
		return verdict{}
	}
	f := s.target(c)
	for range runner.ShebangDepth + 1 {
		if f.name < 0 {
			return refuse(f.errno)
		}
		h := s.held[f.name]
		if f.errno != 0 || f.object != h.id {
			return s.drifted(id, h)
		}
		if h.interp == "" {
			return verdict{}
		}
		f = s.find(call{pid: c.pid, dir: unix.AT_FDCWD, path: h.interp}, true)
	}
	return refuse(unix.ELOOP) // as the kernel says
}

// target is what an execve would run. An empty path means the descriptor, which
// an open with O_PATH can have given without an answer.
func (s *server) target(c call) found {
	if c.path != "" || c.flags&unix.AT_EMPTY_PATH == 0 {
		return s.find(c, c.flags&unix.AT_SYMLINK_NOFOLLOW == 0)
	}
	fd, errno := s.start(c)
	if errno != 0 {
		return nothing // the kernel will say so
	}
	defer unix.Close(fd)
	return s.asObject(fd)
}

// drifted refuses an execve and tells of it, unless nobody hears the answer.
func (s *server) drifted(id uint64, h held) verdict {
	if s.valid(id) {
		s.tell(Event{Code: jobspec.CodeDriftScript, Target: h.path, Count: 1})
	}
	return refuse(unix.EACCES)
}

// split cuts a path before its last part. Slashes at the end belong to no part.
func split(path string) (dir, last string) {
	path = strings.TrimRight(path, "/")
	i := strings.LastIndexByte(path, '/')
	return path[:i+1], path[i+1:]
}
