package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/child"
)

// Spawn starts this program with the given name and files at 0, 1, 2 and so on,
// with the account of the job and nothing in its environment. The child must
// find its own program as the last file and die with the caller.
type Spawn func(argv []string, files []*os.File) (*os.Process, error)

// Helper is the supervisor of one run.
type Helper struct {
	proc  *os.Process
	conn  *net.UnixConn
	gone  chan struct{} // closed when the child says no more
	taken bool
}

// Start starts a supervisor for these names. It waits for Take.
func Start(list []runner.Name, spawn Spawn) (*Helper, error) {
	text, err := json.Marshal(names{List: list})
	if err != nil {
		return nil, fmt.Errorf("start the supervisor: %w", err)
	}
	config, err := memory(text)
	if err != nil {
		return nil, fmt.Errorf("start the supervisor: %w", err)
	}
	defer config.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("start the supervisor: %w", err)
	}
	defer null.Close()
	conn, theirs, err := child.SocketPair("supervisor")
	if err != nil {
		return nil, fmt.Errorf("start the supervisor: %w", err)
	}
	defer theirs.Close()
	proc, err := spawn([]string{childName}, []*os.File{null, null, null, theirs, config})
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("start the supervisor: %w", err)
	}
	return &Helper{proc: proc, conn: conn, gone: make(chan struct{})}, nil
}

// Take has the child take the listener of the process that waits with it, look
// at all names and begin to answer. Its error is an *Error where the child said
// why; until says how long it may take. From then on told is called, by one
// goroutine, for each execve of a bound name that meant other bytes and was
// refused. Take may be called once.
func (h *Helper) Take(pid, pidfd int, until time.Time, told func(path string)) error {
	body, err := json.Marshal(order{PID: pid})
	if err != nil {
		return err
	}
	if err := h.conn.SetDeadline(until); err != nil {
		return fmt.Errorf("order the supervisor: %w", err)
	}
	if _, _, err := h.conn.WriteMsgUnix(body, unix.UnixRights(pidfd), nil); err != nil {
		return fmt.Errorf("order the supervisor: %w", err)
	}
	a, err := h.read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it ended; a main that runs jobs calls supervise.ChildMain first")
		}
		return fmt.Errorf("hear the supervisor: %w", err)
	}
	if !a.Ready {
		return a.failure()
	}
	h.taken = true
	if err := h.conn.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("hear the supervisor: %w", err)
	}
	go h.listen(told)
	return nil
}

func (h *Helper) read() (answer, error) {
	var a answer
	buf := make([]byte, maxMessage)
	n, err := h.conn.Read(buf)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(buf[:n], &a)
}

// listen passes on what the child tells until it is gone.
func (h *Helper) listen(told func(path string)) {
	defer close(h.gone)
	for {
		a, err := h.read()
		if err != nil {
			return
		}
		if a.Drifted {
			told(a.Target)
		}
	}
}

// Gone is closed when the child is gone or says no more. It never is before
// Take has succeeded.
func (h *Helper) Gone() <-chan struct{} { return h.gone }

// End ends the child and waits until it is gone and all that it said was told.
func (h *Helper) End() {
	h.proc.Kill()
	h.proc.Wait()
	if h.taken {
		<-h.gone
	}
	h.conn.Close()
}

// memory makes a sealed memory file.
func memory(b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("names", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make a memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), "names")
	_, err = f.WriteAt(b, 0)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("fill a memory file: %w", err)
	}
	return f, nil
}
