package channel

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/internal/ready"
)

// Folder is where the pipes of runs lie until their sandboxes stand. It may be
// used by many goroutines.
type Folder struct {
	run string

	mu  sync.Mutex
	dir string
}

// Open makes the folder below RUN, or where the accounts of jobs can reach it.
func Open(run string) (*Folder, error) {
	dir, err := channelDir(run)
	if err != nil {
		return nil, err
	}
	return &Folder{run: run, dir: dir}, nil
}

// Close takes the folder away; it stays where a run still needs it.
func (f *Folder) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	os.Remove(f.dir) // not empty: a run still needs it
}

// Dir is the folder as it is now.
func (f *Folder) Dir() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dir
}

// Channel is the pipe through which shims tell what was tried: a named one, as
// only 0, 1 and 2 are open in a job and it can make no sockets. A nil Channel can
// be closed.
type Channel struct {
	path string   // in the folder, "" once it is gone
	name *os.File // O_PATH, to be mounted or named
	pipe *os.File // our end: to read, and to write, so that it never looks closed
}

// Pipe makes the pipe of a run. Everybody may write to it, which lets the job's
// account do so; but nobody can list the folder or guess the name, and inside
// landlock grants writing alone.
func (f *Folder) Pipe() (*Channel, error) {
	path, err := f.makePipe()
	if err != nil {
		return nil, err
	}
	c := &Channel{path: path}
	if err := c.open(); err != nil {
		c.Close()
		return nil, fmt.Errorf("open the pipe for events: %w", err)
	}
	return c, nil
}

// makePipe makes a pipe under a name that nobody guesses. The folder may lie in
// /tmp, where a machine's cleaner takes away what was idle for days: then it is
// made anew.
func (f *Folder) makePipe() (string, error) {
	var name [16]byte
	rand.Read(name[:]) // never fails (crypto/rand)
	f.mu.Lock()
	defer f.mu.Unlock()
	path := filepath.Join(f.dir, hex.EncodeToString(name[:]))
	err := unix.Mkfifo(path, 0o600)
	if errors.Is(err, unix.ENOENT) {
		if f.dir, err = channelDir(f.run); err != nil {
			return "", err
		}
		path = filepath.Join(f.dir, hex.EncodeToString(name[:]))
		err = unix.Mkfifo(path, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("make the pipe for events: %w", err)
	}
	return path, nil
}

func (c *Channel) open() error {
	fd, err := unix.Open(c.path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	c.pipe = os.NewFile(uintptr(fd), c.path)
	if err := unix.Fchmod(fd, 0o622); err != nil { // the umask has no say
		return err
	}
	if fd, err = unix.Open(c.path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	c.name = os.NewFile(uintptr(fd), c.path)
	return nil
}

// Name is a descriptor of the name, to mount the pipe from. A pipe can be written
// through a read-only mount, and the mount keeps its mode and owner as they are.
func (c *Channel) Name() *os.File { return c.name }

// Path is the name, "" once it was taken away.
func (c *Channel) Path() string { return c.path }

// Pipe is our end.
func (c *Channel) Pipe() *os.File { return c.pipe }

// Unlink takes the name away.
func (c *Channel) Unlink() {
	if c.path != "" {
		os.Remove(c.path) // what stays is removed by the next start of the service
		c.path = ""
	}
}

// Close gives the pipe back.
func (c *Channel) Close() {
	if c == nil {
		return
	}
	c.Unlink()
	for _, f := range []*os.File{c.name, c.pipe} {
		if f != nil {
			f.Close()
		}
	}
}

// Waiting reports whether the pipe holds anything.
func (c *Channel) Waiting() bool {
	said, err := ready.Now(int(c.pipe.Fd()), unix.POLLIN)
	return err == nil && said != 0
}

// AwaitFirst waits until the pipe holds something or is past its deadline, and
// reads nothing: most runs tell nothing and shall cost nothing.
func (c *Channel) AwaitFirst() bool {
	conn, err := c.pipe.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Read(func(fd uintptr) bool {
		said, err := ready.Now(int(fd), unix.POLLIN)
		return err == nil && said != 0
	})
	return err == nil
}
