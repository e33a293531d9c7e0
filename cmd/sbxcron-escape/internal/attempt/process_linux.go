package attempt

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// processVerbs look into other processes, or start some.
func processVerbs() map[string]verb {
	return map[string]verb{
		"readmemory":     func(_ *worker, a []string) error { return memory(unix.SYS_PROCESS_VM_READV, a[0]) },
		"writememory":    func(_ *worker, a []string) error { return memory(unix.SYS_PROCESS_VM_WRITEV, a[0]) },
		"attach":         attach,
		"stealfd":        stealFD,
		"processmadvise": adviseOther,
		"whoami":         runWhoami,
		"run":            run,
		"exec":           func(w *worker, a []string) error { return run(w, a) },
		"daemonise":      daemonise,
	}
}

// memory reads or writes a word at an address that means nothing. Whoever may
// not look into the process is told so first, so a fault means that it may.
func memory(nr uintptr, pid string) error {
	word := make([]byte, 8)
	local := []uint64{uint64(addressOf(word)), 8}
	remote := []uint64{0x1000, 8}
	l, r := words64(local), words64(remote)
	_, err := raw(nr, number(pid), addressOf(l), 1, addressOf(r), 1, 0)
	runtime.KeepAlive(word)
	runtime.KeepAlive(l)
	runtime.KeepAlive(r)
	return reached(err)
}

func words64(v []uint64) []byte {
	var b []byte
	for _, w := range v {
		b = append(b, words32(uint32(w), uint32(w>>32))...)
	}
	return b
}

// reached turns errors that only whoever was let in can get into success.
func reached(err error) error {
	if errors.Is(err, unix.EFAULT) || errors.Is(err, unix.ENOMEM) {
		return nil
	}
	return err
}

// attach stops a process and lets it go on.
func attach(_ *worker, a []string) error {
	pid := int(number(a[0]))
	if err := unix.PtraceAttach(pid); err != nil {
		return err
	}
	if _, err := unix.Wait4(pid, nil, unix.WALL, nil); err != nil {
		return err
	}
	return unix.PtraceDetach(pid)
}

func stealFD(_ *worker, a []string) error {
	pidfd, err := unix.PidfdOpen(int(number(a[0])), 0)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	fd, err := unix.PidfdGetfd(pidfd, 1, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func adviseOther(_ *worker, a []string) error {
	pidfd, err := unix.PidfdOpen(int(number(a[0])), 0)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	at := words64([]uint64{0x1000, 4096})
	_, err = raw(unix.SYS_PROCESS_MADVISE, uintptr(pidfd), addressOf(at), 1, unix.MADV_COLD, 0)
	runtime.KeepAlive(at)
	return reached(err)
}

// runWhoami runs a program that would have more rights than this process.
func runWhoami(_ *worker, a []string) error {
	out, err := exec.Command(a[0], "whoami").Output()
	if err != nil {
		return err
	}
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(string(text), line) {
			return nil
		}
	}
	if len(out) == 0 {
		return errors.New("it said nothing")
	}
	return same
}

// run runs a program to its end; what it exits with is the answer.
func run(_ *worker, a []string) error {
	cmd := exec.Command(a[0], a[1:]...)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return said(fmt.Sprintf("exit%d", exit.ExitCode()))
	case errors.Is(err, exec.ErrNotFound):
		return unix.ENOENT
	}
	return err
}

// daemonise leaves a process behind that no group, session or signal of this one
// reaches.
func daemonise(_ *worker, a []string) error {
	return exec.Command("/bin/sh", "-c", "(trap '' TERM HUP INT; exec setsid sleep "+a[0]+" >/dev/null 2>&1 </dev/null) &").Run()
}
