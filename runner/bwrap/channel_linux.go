package bwrap

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sbxcron/sbxcron/runner"
	"golang.org/x/sys/unix"
)

// channel is the pipe through which shims tell what was tried: a named one, as
// only 0, 1 and 2 are open in a job and it can make no sockets. The name is
// needed for the mount only and goes when the sandbox stands.
type channel struct {
	path string   // in RUN, "" once it is gone
	name *os.File // O_PATH, for the mount
	pipe *os.File // our end: to read, and to write, so that it never looks closed
}

// openChannel makes the pipe of a run. Everybody may write to it, which lets the
// job's account do so; but nobody can list the folder or guess the name, and
// inside landlock grants writing alone.
func (b *Backend) openChannel() (*channel, error) {
	path, err := b.makePipe()
	if err != nil {
		return nil, err
	}
	c := &channel{path: path}
	if err := c.open(); err != nil {
		c.close()
		return nil, fmt.Errorf("open the pipe for events: %w", err)
	}
	return c, nil
}

// makePipe makes a pipe under a name that nobody guesses. The folder may lie in
// /tmp, where a machine's cleaner takes away what was idle for days: then it is
// made anew.
func (b *Backend) makePipe() (string, error) {
	var name [16]byte
	rand.Read(name[:]) // never fails (crypto/rand)
	b.mu.Lock()
	defer b.mu.Unlock()
	path := filepath.Join(b.channels, hex.EncodeToString(name[:]))
	err := unix.Mkfifo(path, 0o600)
	if errors.Is(err, unix.ENOENT) {
		if b.channels, err = channelDir(b.run); err != nil {
			return "", err
		}
		path = filepath.Join(b.channels, hex.EncodeToString(name[:]))
		err = unix.Mkfifo(path, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("make the pipe for events: %w", err)
	}
	return path, nil
}

func (c *channel) open() error {
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

// mount is where the pipe appears in the sandbox. A pipe can be written through
// a read-only mount, and the mount keeps its mode and owner as they are.
func (c *channel) mount() guarded { return guarded{path: runner.ChannelPath, file: c.name} }

// unlink takes the name away.
func (c *channel) unlink() {
	if c.path != "" {
		os.Remove(c.path) // what stays is removed by the next start of the service
		c.path = ""
	}
}

func (c *channel) close() {
	if c == nil {
		return
	}
	c.unlink()
	closeAll(c.name, c.pipe)
}

// waiting reports whether the pipe holds anything.
func (c *channel) waiting() bool {
	fds := []unix.PollFd{{Fd: int32(c.pipe.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}

// awaitFirst waits until the pipe holds something or is past its deadline, and
// reads nothing: most runs tell nothing and shall cost nothing.
func (c *channel) awaitFirst() bool {
	conn, err := c.pipe.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		return err == nil && n > 0
	})
	return err == nil
}
