package send

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
)

// childName is argv[0] of the sender. Who starts it by hand gets a process that
// sends what he could send himself.
const childName = "sbxcron: sender"

// The modes of the sender: network before and after Landlock, and the one that
// starts a program.
const (
	modeNetwork  = "network"
	modeConfined = "confined"
	modeProgram  = "program"
)

// maxAtOnce is how many tasks a sender works on, one for each channel and more.
const maxAtOnce = 64

// ChildMain is the life of the sender; in any other process it returns at once.
// Every main, and TestMain, that makes a Sender calls it first.
func ChildMain() {
	if len(os.Args) != 2 || os.Args[0] != childName {
		return
	}
	if err := childLife(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func childLife(mode string) error {
	runtime.LockOSThread() // what is taken away below is taken from this thread, and kept by exec
	if err := harden(mode); err != nil {
		return err
	}
	if mode == modeNetwork {
		// The thread is confined, and the program begins anew: so each thread is.
		if err := confine(); err != nil && !errors.Is(err, errNoLandlock) {
			return err
		}
		return unix.Exec("/proc/self/exe", []string{childName, modeConfined}, []string{})
	}
	if mode != modeConfined && mode != modeProgram {
		return fmt.Errorf("the sender has no mode %q", mode)
	}
	runtime.UnlockOSThread()
	return work(os.Stdin, os.Stdout)
}

// Limits of the sender. A program that it starts inherits none on the size of a
// file, because it writes to a spool.
const (
	maxFiles  = 256
	maxMemory = 256 << 20
)

func harden(mode string) error {
	if os.Getuid() == 0 || os.Getgid() == 0 || os.Getuid() != os.Geteuid() {
		return errors.New("the sender still is root")
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("keep the sender from being traced: %w", err)
	}
	limits := map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: maxFiles}
	if mode != modeProgram {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("keep the sender from new rights: %w", err)
		}
		limits[unix.RLIMIT_FSIZE] = 0
	}
	if mode == modeNetwork {
		data, err := ownData()
		if err != nil {
			return fmt.Errorf("read the size of this process: %w", err)
		}
		limits[unix.RLIMIT_DATA] = data + maxMemory
	}
	for what, most := range limits {
		var old unix.Rlimit
		if err := unix.Getrlimit(what, &old); err != nil {
			return fmt.Errorf("limit resource %d: %w", what, err)
		}
		most = min(most, old.Max)
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit resource %d: %w", what, err)
		}
	}
	debug.SetMemoryLimit(maxMemory / 2)
	return unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
}

// ownData is how much RLIMIT_DATA counts already, proc(5): the runtime reserves
// much of it at its start.
func ownData() (uint64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var pages [6]uint64
	if _, err := fmt.Sscan(string(text), &pages[0], &pages[1], &pages[2], &pages[3], &pages[4], &pages[5]); err != nil {
		return 0, err
	}
	return pages[5] * uint64(os.Getpagesize()), nil
}

// work does tasks until its input ends, which is also how it is ended: nobody
// waits for a server then.
func work(in io.Reader, out io.Writer) error {
	var mu sync.Mutex
	seats := make(chan struct{}, maxAtOnce)
	for {
		id, t, err := readTask(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		seats <- struct{}{}
		go func() {
			defer func() { <-seats }()
			res := Deliver(context.Background(), t)
			mu.Lock()
			defer mu.Unlock()
			if _, err := out.Write(encodeResult(id, res)); err != nil {
				os.Exit(1) // nobody listens any more
			}
		}()
	}
}
