package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/internal/child"
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
	if o.End || len(fds) != 2 {
		return errors.New("an order without a process and a configuration")
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
	s, a := begin(o, fds[0], cfg)
	unix.Close(fds[0])
	if s == nil {
		return errors.Join(send(a), waitEnd(), errors.New("the run did not begin"))
	}
	s.answerCalls()
	if err := send(answer{Ready: true}); err != nil {
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
const maxRights = 2

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
