package supervise

import (
	"bytes"
	"fmt"
	"path"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/witness"
)

// localSockets say which local sockets a run may connect to: those that it names,
// by their identity, and whatever lies in the file systems that are the sandbox's
// own, where only the job can have made it. Its other mounts may hold sockets of
// the host, and those stay closed.
type localSockets struct {
	named map[fileID]bool
	own   map[uint64]bool // devices
	slots chan struct{}   // one for each connect that is being made
}

// exist reports whether the job can have local sockets.
func (l localSockets) exist() bool { return l.slots != nil }

// maxConnecting bounds how many connects to local sockets may wait at once.
const maxConnecting = 64

// beginSockets looks at what the run names, in its own view.
func (s *server) beginSockets(named []string) error {
	if len(named) == 0 {
		return nil
	}
	s.local = localSockets{map[fileID]bool{}, map[uint64]bool{}, make(chan struct{}, maxConnecting)}
	for _, p := range named {
		fd, err := unix.Openat2(s.root, p, &unix.OpenHow{Flags: place, Resolve: inRoot | unix.RESOLVE_NO_SYMLINKS})
		if err != nil {
			return fmt.Errorf("look at socket %s: %w", p, err)
		}
		id, err := identify(fd)
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("look at socket %s: %w", p, err)
		}
		s.local.named[id] = true
	}
	for _, dir := range []string{runner.TmpPath, runner.HomePath, runner.ScratchDir, "/dev/shm"} {
		fd, err := unix.Openat2(s.root, dir, &unix.OpenHow{Flags: place | unix.O_DIRECTORY, Resolve: inRoot | unix.RESOLVE_NO_SYMLINKS})
		if err == unix.ENOENT {
			continue // only tier scratch has them all
		}
		if err != nil {
			return fmt.Errorf("look at %s: %w", dir, err)
		}
		id, err := identify(fd)
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("look at %s: %w", dir, err)
		}
		s.local.own[id.dev] = true
	}
	return nil
}

// connectUnix connects a socket of the caller to what it names, or refuses and
// tells. The connection is made here, with the copy of the path that was judged
// and to the very file that it led to: the kernel does not read the caller's
// memory again.
func (s *server) connectUnix(n *notification, name []byte) verdict {
	if i := bytes.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	to, errno := s.openSocket(n, string(name))
	if errno != 0 {
		return s.noSocket(n, string(name), errno)
	}
	id, err := identify(to)
	if err != nil || !s.local.named[id] && !s.local.own[id.dev] {
		unix.Close(to)
		return s.noSocket(n, string(name), unix.EACCES)
	}
	from, errno := socketOf(n)
	if errno != 0 {
		unix.Close(to)
		return refuse(errno)
	}
	return s.connectLater(n.id, func() unix.Errno {
		if err := unix.Connect(from, &unix.SockaddrUnix{Name: self(to)}); err != nil {
			return errnoOf(err)
		}
		return 0
	}, from, to)
}

// connectCopy makes a connect that may go on, by the copy of its address.
func (s *server) connectCopy(n *notification, text []byte) verdict {
	from, errno := socketOf(n)
	if errno != 0 {
		return refuse(errno)
	}
	return s.connectLater(n.id, func() unix.Errno {
		_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(from), uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)))
		return errno
	}, from)
}

// openSocket opens what a path leads to in the caller's view.
func (s *server) openSocket(n *notification, name string) (int, unix.Errno) {
	c := call{pid: int(n.pid), dir: unix.AT_FDCWD, path: name}
	start, errno := s.start(c)
	if errno != 0 {
		return -1, errno
	}
	defer closeUnless(start, s.root)
	if start != s.root {
		name = realPath(start) + "/" + name
	}
	fd, err := unix.Openat2(s.root, name, &unix.OpenHow{Flags: place, Resolve: inRoot})
	if err != nil {
		return -1, errnoOf(err)
	}
	return fd, 0
}

// connectLater makes a connection without keeping others from being answered: the
// other side may let it wait. It closes the descriptors that it was made with.
func (s *server) connectLater(id uint64, connect func() unix.Errno, fds ...int) verdict {
	select {
	case s.local.slots <- struct{}{}:
	default:
		closeAll(fds)
		return refuse(unix.EAGAIN) // as the kernel says where a queue is full
	}
	go func() { // stop ends the process where this goes on
		errno := connect()
		closeAll(fds)
		s.send(response{id: id, err: -int32(errno)})
		<-s.local.slots
	}()
	return verdict{later: true}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// noSocket refuses a connect. What is not there, in a place of the job's own, is
// told to nobody.
func (s *server) noSocket(n *notification, name string, errno unix.Errno) verdict {
	if !s.valid(n.id) {
		return refuse(unix.EINTR) // nobody hears it
	}
	e := Event{Code: jobspec.CodeEscUnixSocket, Target: witness.Words([]string{path.Clean(name)}), Count: 1}
	switch what := jobspec.NeverSocket(name); {
	case path.Clean(name) == "/var/run/nscd/socket" || path.Clean(name) == "/run/nscd/socket":
		e.Rule, e.Expected = "builtin:nscd", true
	case what != "":
		e.Code = socketCode(what)
	}
	s.tell(e)
	return refuse(errno)
}

// socketCode says under which code a service is recorded that no job may use.
func socketCode(what string) jobspec.Code {
	switch what {
	case "D-Bus", "systemd":
		return jobspec.CodeEscDBus
	case "docker", "podman", "containerd", "a container or machine manager":
		return jobspec.CodeEscContainerSock
	case "an ssh agent":
		return jobspec.CodeEscAgentSock
	}
	return jobspec.CodeEscUnixSocket
}

// socketOf copies the socket that a connect is about out of its caller.
func socketOf(n *notification) (int, unix.Errno) {
	pidfd, err := unix.PidfdOpen(leader(int(n.pid)), 0)
	if err != nil {
		return -1, errnoOf(err)
	}
	defer unix.Close(pidfd)
	fd, err := unix.PidfdGetfd(pidfd, int(int32(n.args[0])), 0)
	if err != nil {
		return -1, errnoOf(err)
	}
	return fd, 0
}
