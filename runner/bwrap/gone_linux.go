package bwrap

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/internal/ready"
)

// gone waits for the end of processes by the poller of the runtime: waitid and poll
// would each hold a thread of the service for as long as a run goes on, and one more
// thread for each of a hundred runs that are released at one instant is what the last
// of them would wait for.
type gone struct{ file *os.File }

// goneOf watches the process of a pid that cannot be another's by now.
func goneOf(pid int) (*gone, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK) // else the poller does not take it
	if err != nil {
		return nil, fmt.Errorf("watch process %d: %w", pid, err)
	}
	return &gone{os.NewFile(uintptr(fd), "pidfd")}, nil
}

// watchStarted watches a child that nobody has waited for yet; nil where that cannot
// be had, and then who waits for the child holds a thread.
func watchStarted(child *os.Process) *gone {
	g, err := goneOf(child.Pid)
	if err != nil {
		return nil
	}
	return g
}

// wait returns when the process has ended; it need not be reaped. A nil one waits
// for nothing.
func (g *gone) wait() {
	if g == nil {
		return
	}
	conn, err := g.file.SyscallConn()
	if err == nil {
		err = conn.Read(func(fd uintptr) bool { return ended(int(fd), 0) })
	}
	if err != nil { // the poller of this kernel does not take it
		ended(int(g.file.Fd()), -1)
	}
}

// ended asks whether a process has ended; with a negative wait it waits for that.
// A descriptor that cannot be asked counts as ended.
func ended(pidfd int, wait time.Duration) bool {
	said, err := ready.Within(pidfd, unix.POLLIN, wait)
	return said != 0 || err != nil
}

func (g *gone) close() {
	if g != nil {
		g.file.Close()
	}
}
