package attempt

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// fileVerbs change what lies somewhere.
func fileVerbs() map[string]verb {
	return map[string]verb{
		"append":    func(w *worker, a []string) error { return w.open(a[0], unix.O_WRONLY|unix.O_APPEND) },
		"appendnow": func(w *worker, a []string) error { return w.open(a[0], unix.O_WRONLY|unix.O_NONBLOCK) },
		"create":    func(w *worker, a []string) error { return w.open(a[0], unix.O_WRONLY|unix.O_CREAT) },
		"opentrunc": func(w *worker, a []string) error { return w.open(a[0], unix.O_WRONLY|unix.O_TRUNC) },
		"tmpfile":   func(w *worker, a []string) error { return w.open(a[0], unix.O_WRONLY|unix.O_TMPFILE) },
		"openwrite": func(_ *worker, a []string) error { return touch(a[0], unix.O_WRONLY|unix.O_NONBLOCK) },
		"openrw":    func(_ *worker, a []string) error { return touch(a[0], unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY) },
		"truncate":  func(_ *worker, a []string) error { return unix.Truncate(a[0], 1) },
		"chmod":     func(_ *worker, a []string) error { return unix.Chmod(a[1], octal(a[0])) },
		"chown":     func(_ *worker, a []string) error { return unix.Chown(a[0], unix.Getuid(), unix.Getgid()) },
		"utimes": func(_ *worker, a []string) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, a[0], []unix.Timespec{{Sec: 1}, {Sec: 1}}, 0)
		},
		"setxattr": func(_ *worker, a []string) error { return unix.Setxattr(a[1], a[0], []byte("x"), 0) },
		"setcap": func(_ *worker, a []string) error {
			return unix.Setxattr(a[0], "security.capability", []byte{1, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0)
		},
		"unlink": func(_ *worker, a []string) error { return unix.Unlink(a[0]) },
		"rmdir":  func(_ *worker, a []string) error { return unix.Rmdir(a[0]) },
		"rename": func(_ *worker, a []string) error { return unix.Rename(a[0], a[1]) },
		"createmove": func(_ *worker, a []string) error {
			return afterMaking(a[0], func() error { return unix.Rename(a[0], a[1]) })
		},
		"exchange":   exchange,
		"reopen":     func(w *worker, a []string) error { return w.again(a[0], unix.O_PATH, unix.O_WRONLY) },
		"reopenread": func(w *worker, a []string) error { return w.again(a[0], unix.O_RDONLY, unix.O_RDWR) },
		"chmodfd":    chmodFD,
		"createat":   createAt,
		"writefd":    writeFD,
		"mapshared":  mapShared,
		"flock":      lock,
	}
}

// open opens a file, writes the attempt's line and closes it.
func (w *worker) open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, w.line())
	return err
}

// touch opens a file and closes it.
func touch(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func octal(s string) uint32 {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil {
		panic(err) // a fault of the list
	}
	return uint32(n)
}

func afterMaking(path string, f func() error) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("make %s first: %v", path, err)
	}
	unix.Close(fd)
	return f()
}

func exchange(_ *worker, a []string) error {
	swap := func() error { return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE) }
	if strings.HasPrefix(a[1], "/tmp/") {
		return afterMaking(a[1], swap)
	}
	return swap()
}

func fdPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

func (w *worker) again(path string, first, then int) error {
	fd, err := unix.Open(path, first|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return w.open(fdPath(fd), then)
}

func chmodFD(_ *worker, a []string) error {
	fd, err := unix.Open(a[1], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fchmod(fd, octal(a[0]))
}

// wasOpen says EBADF for a descriptor that the job did not start with: by now
// the number may be one of our own.
func (w *worker) wasOpen(word string) (int, error) {
	fd, err := strconv.Atoi(word)
	if err != nil {
		return 0, err
	}
	for _, have := range w.inherited {
		if have == fd {
			return fd, nil
		}
	}
	return 0, unix.EBADF
}

func createAt(w *worker, a []string) error {
	dir, err := w.wasOpen(a[0])
	if err != nil {
		return err
	}
	fd, err := unix.Openat(dir, a[1], unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func writeFD(w *worker, a []string) error {
	fd, err := w.wasOpen(a[0])
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, w.line())
	return err
}

func mapShared(_ *worker, a []string) error {
	fd, err := unix.Open(a[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	b, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	return unix.Munmap(b)
}

func lock(_ *worker, a []string) error {
	fd, err := unix.Open(a[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
}

// makeVerbs make new names.
func makeVerbs() map[string]verb {
	return map[string]verb{
		"mkdir":      func(_ *worker, a []string) error { return unix.Mkdir(a[0], 0o755) },
		"mkdirmode":  func(_ *worker, a []string) error { return unix.Mkdir(a[1], octal(a[0])) },
		"symlink":    func(_ *worker, a []string) error { return unix.Symlink(a[0], a[1]) },
		"mkfifo":     func(_ *worker, a []string) error { return unix.Mkfifo(a[0], 0o600) },
		"link":       func(_ *worker, a []string) error { return unix.Link(a[0], a[1]) },
		"linkfd":     linkFD,
		"mknod":      func(_ *worker, a []string) error { return unix.Mknod(a[2], octal(a[0]), int(number(a[1]))) },
		"createmode": createMode,
		"openat2":    openat2,
		"chownto":    chownTo,
		"readlinked": func(_ *worker, a []string) error {
			return linked(a, func() error { return touch(a[1], unix.O_RDONLY) })
		},
		"writelinked": func(w *worker, a []string) error {
			return linked(a, func() error { return w.open(a[1], unix.O_WRONLY|unix.O_APPEND) })
		},
	}
}

func linked(a []string, f func() error) error {
	if err := unix.Symlink(a[0], a[1]); err != nil {
		return fmt.Errorf("make the link: %v", err)
	}
	return f()
}

func linkFD(_ *worker, a []string) error {
	fd, err := unix.Open(a[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Linkat(unix.AT_FDCWD, fdPath(fd), unix.AT_FDCWD, a[1], unix.AT_SYMLINK_FOLLOW)
}

func createMode(_ *worker, a []string) error {
	fd, err := unix.Open(a[1], unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, octal(a[0]))
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func openat2(_ *worker, a []string) error {
	how := unix.OpenHow{Flags: unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC, Mode: uint64(octal(a[0]))}
	fd, err := unix.Openat2(unix.AT_FDCWD, a[1], &how)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func chownTo(_ *worker, a []string) error {
	uid := int(number(a[0]))
	path := filepath.Clean(a[1]) + "-chown"
	return afterMaking(path, func() error { return unix.Chown(path, uid, uid) })
}
