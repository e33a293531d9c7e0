package pin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxDepth bounds the components of a path: each is one descriptor, and a
// message carries at most 253 (SCM_MAX_FD, unix(7)).
const maxDepth = 200

// chain are O_PATH descriptors from "/" to a path, one a component. Holding all
// of them makes the place of the file a fact about inodes: whoever renames or
// links a component meanwhile does not change what is held.
type chain []*os.File

func (c chain) last() *os.File { return c[len(c)-1] }

func (c chain) close() {
	for _, f := range c {
		f.Close()
	}
}

// walk opens every component of a clean absolute path with the rights of this
// process. No symbolic link is followed, the last one included.
func walk(path string) (chain, error) {
	names := strings.Split(path, "/")[1:]
	if path == "/" {
		names = nil
	}
	if len(names) > maxDepth {
		return nil, unix.ENAMETOOLONG
	}
	c := chain{}
	if err := c.step(unix.AT_FDCWD, "/", "/", true); err != nil {
		return nil, err
	}
	at := "/"
	for i, name := range names {
		at = filepath.Join(at, name)
		if err := c.step(int(c.last().Fd()), name, at, i < len(names)-1); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// step opens one component. RESOLVE_NO_SYMLINKS refuses a symbolic link with
// ELOOP even as the last component of an O_PATH open (openat2(2)).
func (c *chain) step(dir int, name, at string, mustBeDir bool) error {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	if mustBeDir {
		how.Flags |= unix.O_DIRECTORY
	}
	fd, err := openat2(dir, name, &how)
	if err != nil {
		return err
	}
	*c = append(*c, os.NewFile(uintptr(fd), at))
	return nil
}

// openat2 repeats the call where the kernel asks for it: EINTR, and EAGAIN when
// a rename ran beside the lookup.
func openat2(dir int, name string, how *unix.OpenHow) (int, error) {
	const tries = 64
	for i := 0; ; i++ {
		fd, err := unix.Openat2(dir, name, how)
		again := errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN)
		if err == nil || !again || i == tries {
			return fd, err
		}
	}
}
