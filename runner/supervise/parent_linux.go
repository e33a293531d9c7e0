package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner/internal/child"
)

// Spawn starts this program with the given name and files at 0, 1, 2 and so on,
// with the account of the job and nothing in its environment. The child must
// find its own program as the last file and die with the caller.
type Spawn func(argv []string, files []*os.File) (*os.Process, error)

// Helper is the supervisor of one run at a time.
type Helper struct {
	proc *os.Process
	conn *net.UnixConn
	once sync.Once
	run  *session // nil between runs
	bad  bool     // it did not begin a run, or did not end one
}

// session is the parent's side of one run.
type session struct {
	gone chan struct{} // closed when the child is gone or says no more, before the run was ended
	over chan struct{} // closed when the child says no more of this run, for whatever reason
	told bool          // all was told; valid when over is closed
	well bool          // and the child can serve another run
}

// Start starts a supervisor. It waits for Expect.
func Start(spawn Spawn) (*Helper, error) {
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
	proc, err := spawn([]string{childName}, []*os.File{null, null, null, theirs})
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("start the supervisor: %w", err)
	}
	return &Helper{proc: proc, conn: conn}, nil
}

// Expect tells the child of the run that comes, and waits for nothing. The child
// takes the listener of the one child of init as soon as something lies in the
// pipe through which the stub speaks, looks at all names and begins to answer: by
// itself, since every process that had to wake another for it would be waited for
// by the job. InitFD is a pidfd of init. Expect may be called once for each run, and again only after Finish.
func (h *Helper) Expect(init, initFD int, stub *os.File, cfg Config) error {
	h.bad = true
	text, err := json.Marshal(cfg)
	if err != nil {
		return fmt.Errorf("order the supervisor: %w", err)
	}
	config, err := memory(text)
	if err != nil {
		return fmt.Errorf("order the supervisor: %w", err)
	}
	defer config.Close()
	pipe, err := stub.SyscallConn()
	if err != nil {
		return fmt.Errorf("order the supervisor: %w", err)
	}
	var sent error
	err = pipe.Control(func(fd uintptr) { sent = h.order(order{Init: init}, int(fd), int(config.Fd()), initFD) })
	return errors.Join(err, sent)
}

// Take waits until the child has taken the listener, and says of which process. Its
// error is an *Error where the child said why; until says how long it may take.
// Nobody may read what the stub says before Take returns: the child would not see
// it. After it comes Listen, or Finish.
func (h *Helper) Take(until time.Time) (pid int, err error) {
	if err := h.conn.SetDeadline(until); err != nil {
		return 0, fmt.Errorf("hear the supervisor: %w", err)
	}
	a, err := h.read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it ended; a main that runs jobs calls supervise.ChildMain first")
		}
		return 0, fmt.Errorf("hear the supervisor: %w", err)
	}
	if a.Ready == 0 {
		return 0, a.failure()
	}
	if err := h.conn.SetDeadline(time.Time{}); err != nil {
		return 0, fmt.Errorf("hear the supervisor: %w", err)
	}
	return a.Ready, nil
}

// Listen has told called, by one goroutine, for what the job tried and was stopped
// at, and used for each connection to the outside that is over.
func (h *Helper) Listen(told func(Event), used func(record.Connection)) {
	h.bad = false
	h.run = &session{gone: make(chan struct{}), over: make(chan struct{})}
	go h.listen(h.run, told, used)
}

func (h *Helper) order(o order, fds ...int) error {
	body, err := json.Marshal(o)
	if err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	if _, _, err := h.conn.WriteMsgUnix(body, rights, nil); err != nil {
		return fmt.Errorf("order the supervisor: %w", err)
	}
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

// listen passes on what the child tells of a run until that is over.
func (h *Helper) listen(s *session, told func(Event), used func(record.Connection)) {
	defer close(s.over)
	for {
		a, err := h.read()
		switch {
		case err != nil:
			close(s.gone)
			return
		case a.Over:
			s.told, s.well = true, !a.Last
			return
		case a.Event != nil:
			told(*a.Event)
		case a.Used != nil:
			used(*a.Used)
		}
	}
}

// Gone is closed when the child is gone or says no more while its run goes on,
// and Over when it says no more of the run for whatever reason. Both may be called
// after Listen and before Finish.
func (h *Helper) Gone() <-chan struct{} { return h.run.gone }

// Over is described with Gone.
func (h *Helper) Over() <-chan struct{} { return h.run.over }

// finishTime is how long a child may take to tell the rest of a run. It takes
// milliseconds; on a machine that is busy beyond measure a run is still no failure.
const finishTime = 5 * time.Second

// Finish ends the run, whose tree must be gone, and waits until all was told. It
// reports whether that was so, and whether the child has dropped everything of the
// run and can serve another one.
func (h *Helper) Finish() (told, again bool) {
	if h.run == nil {
		return true, !h.bad // it was given none
	}
	s := h.run
	h.bad = true
	h.conn.SetDeadline(time.Now().Add(finishTime)) // a socket can have one
	if err := h.order(order{End: true}); err != nil {
		return false, false
	}
	<-s.over
	h.conn.SetDeadline(time.Time{})
	if s.well {
		h.run, h.bad = nil, false
	}
	return s.told, s.well
}

// End ends the child and waits until it is gone and all that it said was told.
// It may be called again.
func (h *Helper) End() {
	h.once.Do(func() {
		h.proc.Kill()
		h.proc.Wait()
		if h.run != nil {
			<-h.run.over
		}
		h.conn.Close()
	})
}

// memory makes a sealed memory file.
func memory(b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("config", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make a memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), "config")
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
