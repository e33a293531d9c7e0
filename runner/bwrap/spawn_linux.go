package bwrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"github.com/sbxcron/sbxcron/runner/cgroup"
	"github.com/sbxcron/sbxcron/runner/pin"
	"golang.org/x/sys/unix"
)

// spawner is the one thread that starts every bwrap. PR_SET_PDEATHSIG, on which
// --die-with-parent stands, follows the thread and not the process: when a
// goroutine that had locked its thread ended, the job was killed 0.7 s later.
// So this thread lives exactly as long as the backend.
type spawner struct {
	work   chan func()
	stop   chan struct{}
	locked chan struct{} // closed when the thread is found
	once   sync.Once
}

var errClosed = errors.New("the backend is closed")

// newSpawner starts the thread and takes from it what no job ever needs.
func newSpawner() (*spawner, error) {
	s := &spawner{work: make(chan func()), stop: make(chan struct{}), locked: make(chan struct{})}
	ready := make(chan error)
	go s.run(ready)
	if err := <-ready; err != nil {
		return nil, fmt.Errorf("prepare the spawn thread: %w", err)
	}
	return s, nil
}

func (s *spawner) run(ready chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	if unix.Gettid() == os.Getpid() {
		// The process's first thread does not end with a goroutine (package
		// runtime parks it for ever). While it is held here, another is taken.
		go s.run(ready)
		<-s.locked
		runtime.UnlockOSThread()
		return
	}
	close(s.locked)
	err := confineThread()
	ready <- err
	if err != nil {
		return
	}
	for {
		select {
		case f := <-s.work:
			f()
		case <-s.stop:
			return
		}
	}
}

// confineThread sets no_new_privs, which children inherit, and as root also
// empties the bounding set and the groups. Both are the thread's own: the rest
// of the service keeps what it has.
func confineThread() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if os.Geteuid() != 0 {
		return nil
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		return fmt.Errorf("drop groups: %w", errno)
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("drop capability %d from the bounding set: %w", c, err)
		}
	}
	return nil
}

// do runs f on the thread and waits for it.
func (s *spawner) do(f func()) error {
	done := make(chan struct{})
	select {
	case s.work <- func() { defer close(done); f() }:
		<-done
		return nil
	case <-s.stop:
		return errClosed
	}
}

// close ends the thread, and with it every sandbox that it started.
func (s *spawner) close() { s.once.Do(func() { close(s.stop) }) }

// self starts this program under another name; see package supervise.
func (s *spawner) self(argv []string, files []*os.File, cred *syscall.Credential) (*os.Process, error) {
	exe, err := pin.OwnProgram(context.Background())
	if err != nil {
		return nil, err
	}
	defer exe.Close()
	return s.start(&program{file: exe}, argv, files, cred)
}

// start starts a program by its descriptor with exactly these files and its own
// behind them, nothing in its environment, and the ids of the account.
//
// The program is one of the files because only these have a number that can be
// relied on at exec: os.StartProcess moves files about in the child, and every
// other number may mean a file of the job by then, which would run in place of
// bwrap. It did, for a job with 400 files.
func (s *spawner) start(p *program, argv []string, files []*os.File, cred *syscall.Credential) (*os.Process, error) {
	return s.startIn(nil, p, argv, files, cred)
}

// startIn starts a program in the cgroup of a run.
func (s *spawner) startIn(leaf *cgroup.Leaf, p *program, argv []string, files []*os.File, cred *syscall.Credential) (*os.Process, error) {
	var proc *os.Process
	var startErr error
	all := append(slices.Clone(files), p.file)
	path := fmt.Sprintf("/proc/self/fd/%d", len(all)-1)
	err := s.do(func() {
		sys := &syscall.SysProcAttr{Credential: cred, Pdeathsig: syscall.SIGKILL, Setsid: true}
		startErr = leaf.Start(sys, func() error {
			var err error
			proc, err = os.StartProcess(path, argv, &os.ProcAttr{Dir: "/", Env: []string{}, Files: all, Sys: sys})
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if startErr != nil && proc != nil { // the thread did not come back from the leaf
		proc.Kill()
		proc.Wait()
		return nil, startErr
	}
	return proc, startErr
}

// as runs f on the thread with the file system rights of an account. The kernel
// takes the overriding capabilities from a thread whose fsuid is not 0
// (capabilities(7)).
func (s *spawner) as(uid, gid int, f func()) error {
	var idErr error
	err := s.do(func() {
		if os.Geteuid() == 0 {
			defer unix.Setfsgid(os.Getegid())
			defer unix.Setfsuid(os.Geteuid())
			unix.Setfsgid(gid)
			unix.Setfsuid(uid)
			if now, _ := unix.SetfsuidRetUid(-1); now != uid {
				idErr = fmt.Errorf("take on the file system rights of uid %d", uid)
				return
			}
		}
		f()
	})
	return errors.Join(err, idErr)
}
