// Package rights does things with the file system rights of a job's account: a
// service that is root uses its own for nothing that a spec names.
package rights

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// As runs f with the file system rights of an account: on a thread of its own
// that has no groups and the account's ids for file access. The kernel takes the
// overriding capabilities from a thread whose fsuid is not 0 (capabilities(7)).
// The thread is never used again.
func As(uid, gid int, f func() error) error {
	return OnThread(func() error {
		if err := TakeGroup(gid); err != nil {
			return err
		}
		unix.Setfsuid(uid)
		if now, _ := unix.SetfsuidRetUid(-1); now != uid {
			return fmt.Errorf("take on the file system rights of uid %d", uid)
		}
		return f()
	})
}

// AsWhole runs f on a thread that is of an account in all that the kernel asks
// the caller of a call for. To look into a process it asks for more than file
// system rights: the same ids, or the capability in the user namespace of that
// process, which the account has that made it (ptrace(2), "access mode checking").
// The thread keeps its real and saved ids, by which others would be let at it.
func AsWhole(uid, gid int, f func() error) error {
	const keep = ^uintptr(0)
	return OnThread(func() error {
		// Of the raw calls each changes only this thread; package unix's change all.
		if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
			return fmt.Errorf("drop groups: %w", errno)
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, keep, uintptr(gid), keep); errno != 0 {
			return fmt.Errorf("take on gid %d: %w", gid, errno)
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(uid), keep); errno != 0 {
			return fmt.Errorf("take on uid %d: %w", uid, errno)
		}
		return f()
	})
}

// TakeGroup gives the calling thread, which must be locked, the group of an
// account and no other.
func TakeGroup(gid int) error {
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		return fmt.Errorf("drop groups: %w", errno)
	}
	unix.Setfsgid(gid)
	if now, _ := unix.SetfsgidRetGid(-1); now != gid {
		return fmt.Errorf("take on the file system rights of gid %d", gid)
	}
	return nil
}

// OnThread runs f on a thread that ends afterwards. The first thread of a
// process does not end with its goroutine, so it is left alone.
func OnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			done <- OnThread(f)
			return
		}
		done <- f()
	}()
	return <-done
}
