package attempt

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"

	"github.com/sbxcron/sbxcron/runner/escape"
	"golang.org/x/sys/unix"
)

// Main is the life of the program: as a job it reads an order from standard
// input and prints an answer a line. As "worker" it makes attempts for itself.
func Main(args []string) int {
	open := inherited() // before anything of ours opens more
	var err error
	switch {
	case len(args) == 1:
		err = manage(os.Stdin, os.Stdout, open)
	case len(args) == 2 && args[1] == "worker":
		err = work(os.NewFile(orderFD, "order"), os.Stdout)
	case len(args) == 2 && args[1] == "whoami":
		err = whoami()
	default:
		err = fmt.Errorf("usage: %s <order; sbxcron doctor --escape starts it", args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// inherited lists the open descriptors beyond the first three that an exec would
// hand on. The runtime's own are close-on-exec.
func inherited() []int {
	var list []int
	for fd := 3; fd < 4096; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			list = append(list, fd)
		}
	}
	return list
}

// whoami prints the rights of this process: its ids and its capabilities.
func whoami() error {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "Uid:") || strings.HasPrefix(line, "Gid:") || strings.HasPrefix(line, "CapEff:") {
			fmt.Print(line)
		}
	}
	return nil
}

// task is what a worker is told.
type task struct {
	Order     escape.Order
	Inherited []int
	From, To  int // of the attempts of the order
}

// work makes attempts until one gets through: what it changed in this process
// must not help the next.
func work(order *os.File, out *os.File) error {
	runtime.LockOSThread()
	signal.Ignore(unix.SIGXFSZ) // its default ends the process before it has an answer
	var t task
	if err := json.NewDecoder(order).Decode(&t); err != nil {
		return fmt.Errorf("read a task: %w", err)
	}
	if err := order.Close(); err != nil {
		return err
	}
	w := &worker{targets: t.Order.Targets, inherited: t.Inherited}
	w.targets["parent"] = fmt.Sprint(os.Getppid())
	for _, a := range t.Order.Attempts()[t.From:t.To] {
		answer := w.make(a)
		if err := json.NewEncoder(out).Encode(answer); err != nil {
			return err
		}
		if answer.Said == "ok" {
			return nil
		}
	}
	return nil
}
