package statedir

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/pin"
)

// as runs f with the file system rights of an account: on a thread of its own
// that has no groups and the account's ids for file access. The kernel takes the
// overriding capabilities from a thread whose fsuid is not 0 (capabilities(7)).
// The thread is never used again.
func as(a pin.Account, f func() error) error {
	if !a.Drop {
		return f()
	}
	return onThread(func() error {
		if err := takeGroup(a.GID); err != nil {
			return err
		}
		unix.Setfsuid(a.UID)
		if now, _ := unix.SetfsuidRetUid(-1); now != a.UID {
			return fmt.Errorf("take on the file system rights of uid %d", a.UID)
		}
		return f()
	})
}

// withGroup runs f with our own uid and the account's group: what f makes
// belongs to that group.
func withGroup(a pin.Account, f func() error) error {
	if !a.Drop {
		return f()
	}
	return onThread(func() error {
		if err := takeGroup(a.GID); err != nil {
			return err
		}
		return f()
	})
}

func takeGroup(gid int) error {
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		return fmt.Errorf("drop groups: %w", errno)
	}
	unix.Setfsgid(gid)
	if now, _ := unix.SetfsgidRetGid(-1); now != gid {
		return fmt.Errorf("take on the file system rights of gid %d", gid)
	}
	return nil
}

// onThread runs f on a thread that ends afterwards. The first thread of a
// process does not end with its goroutine, so it is left alone.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			done <- onThread(f)
			return
		}
		done <- f()
	}()
	return <-done
}
