package attempt

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// lookVerbs read.
func lookVerbs() map[string]verb {
	return map[string]verb{
		"read": func(_ *worker, a []string) error { return readOne(a[0]) },
		"list": func(_ *worker, a []string) error { return list(a[0]) },
		"stat": func(_ *worker, a []string) error { return unix.Lstat(a[0], new(unix.Stat_t)) },
		"readlink": func(_ *worker, a []string) error {
			_, err := unix.Readlink(a[0], make([]byte, 4096))
			return err
		},
		"contains": func(_ *worker, a []string) error {
			text, err := content(a[0])
			return found(bytes.Contains(text, []byte(a[1])), err)
		},
		"environment": func(_ *worker, a []string) error {
			_, set := os.LookupEnv(a[0])
			return found(set, nil)
		},
		"anyenviron": anyEnviron,
		"inherited":  func(w *worker, _ []string) error { return found(len(w.inherited) > 0, nil) },
		"strangers":  strangers,
		"isatty": func(_ *worker, a []string) error {
			_, err := unix.IoctlGetTermios(int(number(a[0])), unix.TCGETS)
			return err
		},
	}
}

func found(yes bool, err error) error {
	if err != nil {
		return err
	}
	if !yes {
		return none
	}
	return nil
}

func readOne(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Read(fd, make([]byte, 1))
	return err
}

// content reads a file without the buffers of package os, whose errors say more
// than the kernel did.
func content(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 64<<10)
	n, err := unix.Read(fd, buf)
	return buf[:max(n, 0)], err
}

func list(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Getdents(fd, make([]byte, 4096))
	return err
}

func anyEnviron(_ *worker, a []string) error {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return err
	}
	for _, f := range files {
		if text, err := content(f); err == nil && bytes.Contains(text, []byte(a[0]+"=")) {
			return nil
		}
	}
	return none
}

// strangers looks who the first process is: in a namespace of its own that is
// the init of the sandbox.
func strangers(*worker, []string) error {
	text, err := content("/proc/1/cmdline")
	return found(!strings.HasPrefix(string(text), "bwrap\x00"), err)
}
