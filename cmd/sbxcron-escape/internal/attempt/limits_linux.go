package attempt

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// limitVerbs use things up.
func limitVerbs() map[string]verb {
	return map[string]verb{
		"fill":    fill,
		"large":   large,
		"opens":   opens,
		"raise":   raise,
		"limitis": limitIs,
		"mlock":   lockMemory,
	}
}

// fill writes files of a quarter of a megabyte until there is no more room, and
// removes them again.
func fill(w *worker, a []string) (err error) {
	piece := make([]byte, 256<<10)
	for n := uintptr(0); n < number(a[1]); n += uintptr(len(piece)) {
		path := filepath.Join(a[0], fmt.Sprintf("fill-%s-%d", w.id, n))
		fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		defer os.Remove(path)
		done, err := unix.Write(fd, piece)
		unix.Close(fd)
		if err != nil {
			return err
		}
		if done < len(piece) {
			return unix.ENOSPC // the next write would say so
		}
	}
	return nil
}

// large writes one byte far out.
func large(_ *worker, a []string) error {
	fd, err := unix.Open(a[0], unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(a[0])
	defer unix.Close(fd)
	_, err = unix.Pwrite(fd, []byte("x"), int64(number(a[1])))
	return err
}

func opens(_ *worker, a []string) error {
	var all []int
	defer func() {
		for _, fd := range all {
			unix.Close(fd)
		}
	}()
	for range number(a[0]) {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		all = append(all, fd)
	}
	return nil
}

// raise asks for one more than a limit allows.
func raise(_ *worker, a []string) error {
	var r unix.Rlimit
	which := int(number(a[0]))
	if err := unix.Getrlimit(which, &r); err != nil {
		return err
	}
	if r.Max == unix.RLIM_INFINITY {
		return nil
	}
	return unix.Setrlimit(which, &unix.Rlimit{Cur: r.Cur, Max: r.Max + 1})
}

// limitIs says same where a limit has a value.
func limitIs(_ *worker, a []string) error {
	var r unix.Rlimit
	if err := unix.Getrlimit(int(number(a[0])), &r); err != nil {
		return err
	}
	if want := uint64(number(a[1])); r.Cur == want && r.Max == want {
		return same
	}
	return nil
}

func lockMemory(_ *worker, a []string) error {
	b, err := unix.Mmap(-1, 0, int(number(a[0])), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	defer unix.Munmap(b)
	return unix.Mlock(b)
}
