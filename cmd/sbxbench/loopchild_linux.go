package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Names of the loops that are measured.
const (
	oursKind = "ours"
	peerKind = "robfig"
)

// loopName is how this program is called where it is such a loop.
const loopName = "sbxbench-loop"

// tableLoop is a loop whose jobs do nothing.
type tableLoop interface {
	// start returns once the first timer is armed.
	start()
	// adder gives what adds a job of that schedule to the running loop, with all done
	// beforehand that is no part of adding, such as naming the job.
	adder(text string) func() error
	// settle returns once all that was added is in its place.
	settle()
	// ran is how many jobs were due.
	ran() int64
}

// loopChild is a process that is such a loop and nothing else.
type loopChild struct {
	kind  string
	cmd   *exec.Cmd
	asks  io.WriteCloser
	tells *bufio.Scanner
}

// startLoop returns once the loop is filled and runs.
func startLoop(kind string, n int) (*loopChild, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: self, Args: []string{loopName, kind, strconv.Itoa(n)}, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	asks, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	tells, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	l := &loopChild{kind: kind, cmd: cmd, asks: asks, tells: bufio.NewScanner(tells)}
	if _, err := l.ask("ran"); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// ask gives the answer to one word.
func (l *loopChild) ask(word string) (int64, error) {
	if _, err := fmt.Fprintln(l.asks, word); err != nil {
		return 0, err
	}
	if !l.tells.Scan() {
		return 0, fmt.Errorf("the loop %s ended: %w", l.kind, l.tells.Err())
	}
	return strconv.ParseInt(l.tells.Text(), 10, 64)
}

func (l *loopChild) close() {
	_ = l.cmd.Process.Kill() // it may have ended
	_ = l.cmd.Wait()
}

// cpuTime is what a process has used, to the nanosecond. Its clock's number is made of
// its id (CPUCLOCK_SCHED of <linux/posix-timers.h>).
func cpuTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|2), &t)
	return time.Duration(t.Nano()), err
}

// loopMain is the life of a process that is a loop. Where it is not called as one it
// does nothing.
func loopMain() {
	if len(os.Args) != 3 || os.Args[0] != loopName {
		return
	}
	if err := beLoop(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func beLoop(kind, number string) error {
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	var l tableLoop
	switch kind {
	case oursKind:
		l, err = newOurLoop(texts(n), tableBusy)
	case peerKind:
		l, err = newPeerLoop(texts(n), tableBusy)
	default:
		err = fmt.Errorf("no loop %q", kind)
	}
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // nothing of the filling is left to do for the collector
	l.start()
	return answer(l, os.Stdin)
}

// answer answers each word with a number: how many jobs were due, or the processor
// time that some adds took, in nanoseconds.
func answer(l tableLoop, asks io.Reader) error {
	added := 0
	for words := bufio.NewScanner(asks); words.Scan(); {
		told := l.ran()
		if strings.TrimSpace(words.Text()) == "add" {
			took, err := timeAdds(l, added)
			if err != nil {
				return err
			}
			added += tableAdds
			told = int64(took)
		}
		fmt.Println(told)
	}
	return nil
}

func timeAdds(l tableLoop, from int) (time.Duration, error) {
	adds := make([]func() error, tableAdds)
	for i := range adds {
		adds[i] = l.adder(newText(from + i))
	}
	before, err := cpuTime(os.Getpid())
	if err != nil {
		return 0, err
	}
	for _, add := range adds {
		if err := add(); err != nil {
			return 0, err
		}
	}
	l.settle()
	after, err := cpuTime(os.Getpid())
	return after - before, err
}
