package store

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/sbxcron/sbxcron/store/safefile"
)

// LockWait is how long a command waits for the lock before it gives up.
const LockWait = time.Second

const lockPoll = 20 * time.Millisecond

// Lock is the right to write the store. The service holds it for its life, a
// command only while it commits. It ends with the process, however that ends.
type Lock struct {
	file *os.File
	path string
}

// TryLock takes the lock, waiting at most wait, else the error is a
// *LockedError with the holder's pid. STATE must exist.
func TryLock(d Dirs, wait time.Duration) (*Lock, error) {
	deadline := time.Now().Add(wait)
	for {
		l, busy, err := tryOnce(d)
		if err != nil || l != nil {
			return l, err
		}
		if !busy {
			continue
		}
		if time.Now().After(deadline) {
			return nil, &LockedError{Path: d.Lock(), PID: holder(d)}
		}
		time.Sleep(lockPoll)
	}
}

// tryOnce answers no lock and not busy when the file was replaced under us.
func tryOnce(d Dirs) (l *Lock, busy bool, err error) {
	f, err := openLockFile(d)
	if err != nil {
		return nil, false, err
	}
	ok, err := flock(f)
	if err != nil || !ok {
		f.Close()
		return nil, !ok, err
	}
	if !sameFile(f, d.Lock()) {
		f.Close()
		return nil, false, nil
	}
	if err := writePID(f); err != nil {
		f.Close()
		return nil, false, err
	}
	return &Lock{file: f, path: d.Lock()}, false, nil
}

func openLockFile(d Dirs) (*os.File, error) {
	f, err := safefile.Open(d.Lock(), os.O_RDWR, d.options(0))
	if !os.IsNotExist(err) {
		return f, err
	}
	if err := safefile.CheckDir(d.State, d.UID); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	f, err = os.OpenFile(d.Lock(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		return safefile.Open(d.Lock(), os.O_RDWR, d.options(0))
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	return f, nil
}

func writePID(f *os.File) error {
	pid := []byte(strconv.Itoa(os.Getpid()) + "\n")
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if _, err := f.WriteAt(pid, 0); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// holder reads the pid that the holder left. It is for people: no decision
// rests on it, since pids are used again.
func holder(d Dirs) int {
	b, err := safefile.Read(d.Lock(), d.options(32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(b)))
	if err != nil {
		return 0
	}
	return pid
}

// sameFile reports whether path still names the open file.
func sameFile(f *os.File, path string) bool {
	have, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(have, there)
}

// holds reports whether l is the held lock of d.
func (l *Lock) holds(d Dirs) bool { return l != nil && l.file != nil && l.path == d.Lock() }

// Close gives the lock back. The file stays: removing it would let two
// processes hold two files of one name.
func (l *Lock) Close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
