package pin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/internal/child"
)

// startSession starts the child. It is our own program, executed through a
// descriptor so that it is found below a folder that the account cannot enter.
func startSession(ctx context.Context, acct Account) (*session, error) {
	conn, theirs, err := child.SocketPair("opener")
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	exe, err := OwnProgram(ctx)
	if err != nil {
		conn.Close()
		return nil, err
	}
	defer exe.Close()
	cmd := exec.CommandContext(ctx, fmt.Sprintf("/proc/self/fd/%d", childExe))
	cmd.Args, cmd.Env, cmd.Dir = []string{childName}, []string{}, "/"
	cmd.ExtraFiles = []*os.File{exe, theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{
		Uid: uint32(acct.UID), Gid: uint32(acct.GID), Groups: []uint32{},
	}}
	if err := startWithoutCaps(cmd); err != nil {
		conn.Close()
		return nil, fmt.Errorf("start the opener as uid %d: %w", acct.UID, err)
	}
	return &session{cmd: cmd, conn: conn}, nil
}

// OwnProgram opens this very program, whatever became of its name, to be executed
// by a child with an account's rights. One that others may not execute (built
// under umask 077) is handed over as a copy.
func OwnProgram(ctx context.Context) (*os.File, error) {
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	m, err := statFile(exe)
	if err == nil && m.mode&0o001 != 0 {
		return exe, nil
	}
	defer exe.Close()
	if err != nil {
		return nil, err
	}
	mem, t := seal(ctx, exe, MaxSealed)
	if t.Why != whyNone {
		return nil, fmt.Errorf("copy this program for a child: %w", firstOf(ctx, t.Errno))
	}
	return mem, nil
}

// startWithoutCaps starts cmd from a thread whose bounding set is empty and that
// can gain no privileges: both are per thread, inherited over fork, and must be
// in force before the ids change. The thread is never used again; it ends with
// its goroutine. The first thread of a process cannot end, and /proc/PID/status
// shows it, so it is left alone.
func startWithoutCaps(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			done <- startWithoutCaps(cmd)
			return
		}
		if err := dropCaps(); err != nil {
			done <- err
			return
		}
		done <- cmd.Start()
	}()
	return <-done
}

func dropCaps() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && c > unix.CAP_AUDIT_READ {
			break // past the last capability of this kernel
		}
		if err != nil {
			return fmt.Errorf("drop capability %d from the bounding set: %w", c, err)
		}
	}
	// What somebody left open without close-on-exec when they started us.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("mark descriptors close-on-exec: %w", err)
	}
	return nil
}
