package witness

import (
	"errors"
	"io"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/internal/child"
	"github.com/sbxcron/sbxcron/runner/shim"
)

// ChildName is the argv[0] by which our own program knows that it is a witness.
// Whoever starts it so by hand gets a process that reads descriptor 3 with the
// rights that he has anyway.
const ChildName = "sbxcron: witness"

// ModeEvents reads the pipe of shims. The other modes are the words of result.
const ModeEvents = "events"

// The witness's descriptors. It ends what it does when control ends.
const (
	fdControl = 0
	fdEvents  = 1
	fdInput   = 3
)

// ChildMain must be the first call of every main, and TestMain, that runs jobs.
// In a witness's process it never returns; everywhere else it returns at once.
func ChildMain() {
	if len(os.Args) != 2 || os.Args[0] != ChildName {
		return
	}
	if err := serve(os.Args[1]); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(mode string) error {
	if err := harden(); err != nil {
		return err
	}
	out := os.NewFile(fdEvents, "events")
	if mode == ModeEvents {
		return serveEvents(out)
	}
	return serveResult(mode, os.NewFile(fdInput, "result"), out)
}

// memory bounds what a witness keeps beyond what the program has when it begins.
const memory = 512 << 20

// maxFiles is how many descriptors a witness may have.
const maxFiles = 32

// harden takes from the process what it never needs. It reads, and writes to one
// pipe; it opens nothing.
func harden() error {
	if err := child.Harden("witness"); err != nil {
		return err
	}
	if err := child.Limit(maxFiles, memory); err != nil {
		return err
	}
	debug.SetMemoryLimit(memory / 2)
	return unix.CloseRange(fdInput+1, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
}

// turnTime is how often the pipe is read at most: a job that floods it fills the
// pipe and waits for itself, and nobody else does.
const turnTime = 20 * time.Millisecond

// serveEvents hands on what the pipe brings until control ends, and then what is
// left in the pipe.
func serveEvents(out io.Writer) error {
	if err := unix.SetNonblock(fdInput, true); err != nil {
		return err
	}
	var p shim.Parser
	buf := make([]byte, 64<<10)
	for {
		last, err := await()
		if err != nil {
			return err
		}
		n, err := unix.Read(fdInput, buf)
		if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return err
		}
		if last && n <= 0 {
			return nil
		}
		if err := tell(&p, buf[:max(n, 0)], out); err != nil {
			return err
		}
		if !last {
			time.Sleep(turnTime)
		}
	}
}

// await waits for the pipe or for the end of control, and reports the latter.
func await() (last bool, err error) {
	fds := []unix.PollFd{{Fd: fdInput, Events: unix.POLLIN}, {Fd: fdControl, Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		if !errors.Is(err, unix.EINTR) {
			return fds[1].Revents != 0, err
		}
	}
}

// tell hands on one turn.
func tell(p *shim.Parser, b []byte, out io.Writer) error {
	var t tally
	p.Feed(b, t.add)
	for _, e := range t.list {
		line, err := e.Encode()
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}
