package supervise

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/egress"
)

// fileID is which file a descriptor or a name means.
type fileID struct{ dev, ino uint64 }

// held is a bound name and the bytes behind it.
type held struct {
	path string
	base string
	dir  fileID // of the directory that the name lies in
	file int    // open for reading; shares its offset with nobody that reads
	id   fileID
	// interp is what its first line names, "" for a file that is no script.
	interp string
}

// server answers the calls of one run.
type server struct {
	listener int
	root     int // O_PATH descriptor of the sandbox's root
	held     []held
	bases    map[string]bool   // last parts of paths and aliases
	texts    map[string]int    // paths and aliases, each with its index in held
	above    map[fileID]string // directories that bound names lie below
	calls    map[int32]shape
	listened atomic.Bool // ListenerPath was opened

	counting atomic.Bool // the stub has measured; what comes is the job's
	attempts tally

	net     *egress.Server // nil without a network
	serving sync.WaitGroup // its listeners
	ports   []uint16
	local   localSockets

	stopping atomic.Bool
	working  sync.WaitGroup
	threads  [workers]atomic.Int32 // ids of the threads that wait for calls
	failed   chan error            // a worker that cannot go on
}

// begin takes the listener and looks at all names. On failure it returns no
// server and what to say.
func begin(pid, pidfd int, cfg Config) (*server, answer) {
	listener, err := takeListener(pidfd)
	if err != nil {
		return nil, answer{Problem: problemListener, Detail: err.Error()}
	}
	s := &server{listener: listener, bases: map[string]bool{}, texts: map[string]int{}, above: map[fileID]string{},
		calls: ownShapes(), attempts: newTally(), ports: cfg.Ports, failed: make(chan error, workers)}
	s.root, err = unix.Open(procPath(pid, "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, answer{Problem: problemOther, Detail: fmt.Sprintf("open the sandbox's root: %v", err)}
	}
	for _, n := range cfg.Names {
		if err := s.hold(n); err != nil {
			return nil, answer{Problem: problemName, Target: n.Path, Detail: err.Error()}
		}
	}
	if err := s.beginSockets(cfg.Sockets); err != nil {
		return nil, answer{Problem: problemOther, Detail: err.Error()}
	}
	if err := s.beginNet(cfg, pidfd); err != nil {
		return nil, answer{Problem: problemOther, Detail: err.Error()}
	}
	syncWakeUp(listener)
	return s, answer{}
}

// takeListener copies the descriptor out of the process that waits with it.
func takeListener(pidfd int) (int, error) {
	fd, err := unix.PidfdGetfd(pidfd, runner.ListenerFD, 0)
	if err != nil {
		return -1, fmt.Errorf("take the listener: %w", err)
	}
	if what := realPath(fd); what != "anon_inode:seccomp notify" {
		unix.Close(fd)
		return -1, fmt.Errorf("descriptor %d is %q, not a listener", runner.ListenerFD, what)
	}
	return fd, nil
}

// hold opens a name in the sandbox's view and makes sure of its bytes: a file of
// the sandbox's own root, or the very inode that only root can change, with the
// approved size and digest. The mount of a copy can be gone already.
func (s *server) hold(n runner.Name) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: inRoot | unix.RESOLVE_NO_SYMLINKS}
	dir, err := unix.Openat2(s.root, path.Dir(n.Path), &how)
	if err != nil {
		return fmt.Errorf("open the directory: %w", err)
	}
	defer unix.Close(dir)
	how = unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: inRoot | unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(s.root, n.Path, &how)
	if err != nil {
		return fmt.Errorf("open it: %w", err)
	}
	h := held{path: n.Path, base: path.Base(n.Path), file: fd, interp: runner.Interpreter(descriptor(fd))}
	if h.dir, err = identify(dir); err == nil {
		h.id, err = s.prove(fd, n)
	}
	if err == nil {
		err = s.keepAbove(n.Path)
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	for _, text := range append([]string{n.Path}, n.Aliases...) {
		s.bases[path.Base(text)] = true
		s.texts[text] = len(s.held)
	}
	s.held = append(s.held, h)
	return nil
}

// keepAbove notes which directories a name lies below: they are known by their
// identity when they were moved.
func (s *server) keepAbove(name string) error {
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		how := unix.OpenHow{Flags: place | unix.O_DIRECTORY, Resolve: inRoot | unix.RESOLVE_NO_SYMLINKS}
		fd, err := unix.Openat2(s.root, dir, &how)
		if err != nil {
			return fmt.Errorf("open %s: %w", dir, err)
		}
		id, err := identify(fd)
		unix.Close(fd)
		if err != nil {
			return err
		}
		s.above[id] = dir
	}
	return nil
}

// prove compares an open file with what was approved.
func (s *server) prove(fd int, n runner.Name) (fileID, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fileID{}, err
	}
	id := fileID{uint64(st.Dev), st.Ino}
	root, err := identify(s.root)
	switch {
	case err != nil:
		return id, err
	case n.Sealed && id.dev != root.dev:
		return id, errors.New("the name means a file of the host now")
	case !n.Sealed && (id.dev != n.ID.Dev || id.ino != n.ID.Ino):
		return id, errors.New("the name means another file now")
	case st.Size != n.Size:
		return id, fmt.Errorf("it has %d bytes, %d were approved", st.Size, n.Size)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(descriptor(fd), 0, n.Size)); err != nil {
		return id, err
	}
	if jobspec.Digest(sum.Sum(nil)) != n.What {
		return id, errors.New("it has other bytes than the approved ones")
	}
	return id, nil
}

// descriptor reads without an offset.
type descriptor int

func (d descriptor) ReadAt(b []byte, at int64) (int, error) {
	n, err := unix.Pread(int(d), b, at)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}

func identify(fd int) (fileID, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return fileID{uint64(st.Dev), st.Ino}, err
}

// self is the way to one of our own descriptors through procfs.
func self(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// realPath is where the kernel says that a descriptor lies. For a file below the
// sandbox's root it is the path in there: the root of a mount namespace that is
// not ours ends it.
func realPath(fd int) string {
	var buf [unix.PathMax]byte
	n, err := unix.Readlink(self(fd), buf[:])
	if err != nil {
		return ""
	}
	return string(buf[:n])
}
