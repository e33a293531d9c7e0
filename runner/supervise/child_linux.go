package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/internal/child"
	"github.com/sbxcron/sbxcron/runner/internal/ready"
)

// Bounds of the child. What it may open and hold is bounded for good by the most
// that any run may need, and for each run by what that one needs.
const (
	mostFiles   = 8 << 10
	spareFiles  = 64        // descriptors beside one for each name
	spareMemory = 256 << 20 // beyond what the program has when it begins
	softMemory  = 64 << 20
	workers     = 4 // threads that wait for calls
)

// ChildMain must be the first call of every main, and TestMain, that runs jobs.
// In the supervisor's process it never returns; everywhere else it returns at
// once.
func ChildMain() {
	if len(os.Args) != 1 || os.Args[0] != childName {
		return
	}
	if err := serve(); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// serve takes one run after another and ends with its socket. Nothing of a run
// is left when the next one begins: all of it hangs on one server.
func serve() error {
	if err := harden(); err != nil {
		return err
	}
	for {
		o, fds, err := readOrder()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := serveRun(o, fds); err != nil {
			return err
		}
	}
}

// serveRun is one run from its order to its end. On an error the process ends,
// and the kernel refuses what waits for an answer.
func serveRun(o order, fds []int) error {
	if o.End || len(fds) != 3 {
		return errors.New("an order without a pipe, a configuration and a process")
	}
	cfg, err := readConfig(fds[1])
	if err != nil {
		return errors.Join(send(answer{Problem: problemOther, Detail: err.Error()}), err)
	}
	files := len(cfg.Names) + spareFiles
	if cfg.Net != nil {
		files += netFiles
	}
	if err := child.LimitFiles(uint64(files)); err != nil {
		return err
	}
	if err := awaitWord(fds[0]); err != nil {
		return err
	}
	pid, pidfd, err := findStub(o.Init, fds[2])
	unix.Close(fds[2])
	if err != nil {
		return errors.Join(send(answer{Problem: problemListener, Detail: err.Error()}), waitEnd(), err)
	}
	s, a := begin(pid, pidfd, cfg)
	unix.Close(pidfd)
	if s == nil {
		return errors.Join(send(a), waitEnd(), errors.New("the run did not begin"))
	}
	s.answerCalls()
	if err := send(answer{Ready: pid}); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- waitEnd() }()
	select {
	case err = <-s.failed:
	case err = <-ended:
	}
	if err != nil {
		return err
	}
	stopped := s.stop()
	if err := send(answer{Over: true, Last: stopped != nil}); err != nil || stopped != nil {
		return errors.Join(stopped, err)
	}
	s.close()
	return nil
}

// awaitWord waits until something lies in the pipe, reads none of it, since it is
// the parent's, and closes it. That the parent says something first is an error:
// the run is over before it began.
func awaitWord(pipe int) error {
	defer unix.Close(pipe)
	fds := []unix.PollFd{{Fd: int32(pipe), Events: unix.POLLIN}, {Fd: childSocket, Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for the stub: %w", err)
		case fds[1].Revents != 0:
			return errors.New("the run ended before its stub said anything")
		default:
			return nil
		}
	}
}

// findStub opens the one child of the sandbox's init. The init must live when that
// is done: then its number was its own, and so is its child's, which waits.
func findStub(init, initFD int) (pid, pidfd int, err error) {
	list, err := os.ReadFile(procPath(init, "task/"+strconv.Itoa(init)+"/children"))
	if err != nil {
		return 0, -1, fmt.Errorf("find the stub: %w", err)
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(list))); err != nil {
		return 0, -1, fmt.Errorf("find the stub: children of the sandbox's init are %q", list)
	}
	if pidfd, err = unix.PidfdOpen(pid, 0); err != nil {
		return 0, -1, fmt.Errorf("hold the stub: %w", err)
	}
	if over, err := ready.Now(initFD, unix.POLLIN); err != nil || over != 0 {
		unix.Close(pidfd)
		return 0, -1, fmt.Errorf("the sandbox's init ended (%v)", err)
	}
	return pid, pidfd, nil
}

func readConfig(fd int) (Config, error) {
	var cfg Config
	f := os.NewFile(uintptr(fd), "config")
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxConfig))
	if err != nil {
		return cfg, fmt.Errorf("read the configuration: %w", err)
	}
	return cfg, json.Unmarshal(text, &cfg)
}

// harden takes from the process what it never needs.
func harden() error {
	unix.Close(childExe)
	if err := child.Harden("supervisor"); err != nil {
		return err
	}
	if err := child.Limit(mostFiles, spareMemory); err != nil {
		return err
	}
	debug.SetMemoryLimit(softMemory)
	runtime.GOMAXPROCS(workers + 1) // a worker that returns from the kernel finds a place at once
	return nil
}

// readOrder waits for a message and the descriptors beside it.
func readOrder() (order, []int, error) {
	var o order
	buf, oob := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*maxRights))
	n, oobn, _, _, err := unix.Recvmsg(childSocket, buf, oob, unix.MSG_CMSG_CLOEXEC)
	for errors.Is(err, unix.EINTR) {
		n, oobn, _, _, err = unix.Recvmsg(childSocket, buf, oob, unix.MSG_CMSG_CLOEXEC)
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return o, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return o, nil, err
	}
	var fds []int
	for i := range messages {
		more, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return o, nil, err
		}
		fds = append(fds, more...)
	}
	return o, fds, json.Unmarshal(buf[:n], &o)
}

// maxRights is how many descriptors travel beside an order.
const maxRights = 3

func send(a answer) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return unix.Sendto(childSocket, body, unix.MSG_NOSIGNAL, nil)
}

// waitEnd returns nil when the parent ends the run, and io.EOF when it closes its
// end of the socket.
func waitEnd() error {
	o, _, err := readOrder()
	if err == nil && !o.End {
		err = errors.New("an order to begin while a run goes on")
	}
	return err
}
