package send

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/pin"
)

// start starts a sender. Our program is executed through a descriptor, so that it
// is found below a folder that the account cannot enter.
func start(mode string, who Account) (*process, io.ReadCloser, error) {
	if os.Getuid() == 0 && (who.UID == 0 || who.GID == 0) {
		return nil, nil, errors.New("start a sender: it is never root")
	}
	exe, err := pin.OwnProgram(context.Background())
	if err != nil {
		return nil, nil, fmt.Errorf("start a sender: %w", err)
	}
	defer exe.Close()
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("start a sender: %w", err)
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("start a sender: %w", err), in.Close())
	}
	defer theirOut.Close()
	cmd := exec.Command("/proc/self/fd/3")
	cmd.Args, cmd.Env, cmd.Dir = []string{childName, mode}, []string{}, "/"
	cmd.Stdin, cmd.Stdout, cmd.ExtraFiles = theirIn, theirOut, []*os.File{exe}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if who.UID != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(who.UID), Gid: uint32(who.GID), Groups: []uint32{}}
	}
	if err := startBare(cmd, mode, who.UID != 0); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("start a sender as uid %d: %w", who.UID, err), in.Close(), out.Close())
	}
	var once sync.Once
	p := &process{in: in,
		kill: func() { _ = cmd.Process.Kill() }, // it may have ended by itself
		wait: func() {
			once.Do(func() {
				_ = cmd.Wait() // how it ended changes nothing
				if who.Release != nil {
					who.Release()
				}
			})
		}}
	return p, out, nil
}

// startBare starts cmd from a thread of its own that, but for a sender that starts
// a program, can gain no rights and as root has an empty bounding set. Both are
// inherited over fork. The thread ends with its goroutine; the first thread of a
// process cannot, and is left alone.
func startBare(cmd *exec.Cmd, mode string, root bool) error {
	if mode == modeProgram {
		return cmd.Start()
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			done <- startBare(cmd, mode, root)
			return
		}
		if err := bare(root); err != nil {
			done <- err
			return
		}
		done <- cmd.Start()
	}()
	return <-done
}

func bare(root bool) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	for c := uintptr(0); root; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && c > unix.CAP_AUDIT_READ {
			break // past the last capability of this kernel
		}
		if err != nil {
			return fmt.Errorf("drop capability %d from the bounding set: %w", c, err)
		}
	}
	return nil
}
