package supervise

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/internal/child"
)

// Bounds of the child.
const (
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

// serve takes the one order, begins to answer and ends with its socket.
func serve() error {
	list, err := readNames()
	if err != nil {
		return err
	}
	if err := harden(len(list.List)); err != nil {
		return err
	}
	o, pidfd, err := readOrder()
	if err != nil {
		return err
	}
	s, a := begin(o, pidfd, list.List)
	unix.Close(pidfd)
	if s == nil {
		return errors.Join(send(a), waitEnd())
	}
	failed := make(chan error, workers)
	for range workers {
		go func() { failed <- s.work() }()
	}
	if err := send(answer{Ready: true}); err != nil {
		return err
	}
	go func() { failed <- waitEnd() }()
	return <-failed
}

func readNames() (names, error) {
	var list names
	f := os.NewFile(childNames, "names")
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 64<<20))
	if err != nil {
		return list, err
	}
	return list, json.Unmarshal(text, &list)
}

// harden takes from the process what it never needs. A file is open for each name.
func harden(names int) error {
	unix.Close(childExe)
	if err := child.Harden("supervisor"); err != nil {
		return err
	}
	if err := child.Limit(uint64(names+spareFiles), spareMemory); err != nil {
		return err
	}
	debug.SetMemoryLimit(softMemory)
	runtime.GOMAXPROCS(workers + 1) // a worker that returns from the kernel finds a place at once
	return nil
}

func readOrder() (order, int, error) {
	var o order
	buf, oob := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := unix.Recvmsg(childSocket, buf, oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return o, -1, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return o, -1, errors.New("an order without a process")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return o, -1, errors.New("an order without a process")
	}
	return o, fds[0], json.Unmarshal(buf[:n], &o)
}

func send(a answer) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return unix.Sendto(childSocket, body, unix.MSG_NOSIGNAL, nil)
}

// waitEnd returns when the parent closes its end.
func waitEnd() error {
	var buf [1]byte
	for {
		n, err := unix.Read(childSocket, buf[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n == 0 || err != nil {
			return err
		}
	}
}
