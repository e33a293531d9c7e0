package landlock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner/internal/child"
)

// childName is the argv[0] by which our own program knows that it is the keeper
// of a run. Whoever starts it so by hand gets a process that starts a program
// with the rights that he has anyway.
const childName = "sbxcron: keep"

// The keeper's descriptors beside 0, 1, 2: its end of the socket, then the
// stub's files. Its own program is the last.
const (
	keeperSocket = 3
	keeperFiles  = 4
)

// message is what the keeper says: at first the number of the stub's process,
// then, when nothing of the run is left, how it ended.
type message struct {
	PID    int    `json:"pid,omitempty"`
	Over   bool   `json:"over,omitempty"`
	Status uint32 `json:"status,omitempty"` // of the payload, as wait(2) has it
	CPU    int64  `json:"cpu_ms,omitempty"`
	RSS    int64  `json:"rss_bytes,omitempty"`
	Error  string `json:"error,omitempty"`
}

const maxMessage = 4096

// ChildMain must be the first call of every main, and TestMain, that runs jobs
// with this backend. In a keeper's process it never returns; everywhere else it
// returns at once.
func ChildMain() {
	if len(os.Args) != 2 || os.Args[0] != childName {
		return
	}
	n, err := strconv.Atoi(os.Args[1])
	if err != nil || n < 1 || n > maxLocal {
		os.Exit(2)
	}
	runtime.LockOSThread() // the payload dies with this thread: PR_SET_PDEATHSIG follows the thread
	if err := keep(n); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// keeper is the process that every process of a run comes from. Whatever they do,
// the kernel gives it what their parents left behind (PR_SET_CHILD_SUBREAPER), so
// that it knows when nothing is left. It lies outside of the job's landlock
// domain, so the job cannot signal it.
type keeper struct {
	conn    *net.UnixConn
	payload int

	mu     sync.Mutex
	ending bool // everything that is found is killed
}

// keep starts the stub with n files and stays until nothing of the run is left.
func keep(n int) error {
	conn, err := ownSocket()
	if err != nil {
		return err
	}
	k := &keeper{conn: conn}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return k.failed(err)
	}
	if k.payload, err = startStub(n); err != nil {
		return k.failed(err)
	}
	unix.Close(keeperFiles + n + 1) // our own program
	if err := child.Harden("keeper"); err != nil {
		return k.failed(err)
	}
	if err := k.say(message{PID: k.payload}); err != nil {
		k.end()
	}
	go k.obey()
	return k.say(k.reap())
}

func ownSocket() (*net.UnixConn, error) {
	f := os.NewFile(keeperSocket, "keeper")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.New("the keeper was given no socket")
	}
	return u, nil
}

// startStub starts the stub, whose program is the file behind the n others. It is
// one of the child's own files: no other number can be relied on at exec. Nothing
// of them stays open here: the pipes of the run must end with the run.
func startStub(n int) (int, error) {
	files := make([]*os.File, n+1)
	for i := range files {
		files[i] = os.NewFile(uintptr(keeperFiles+i), "stub")
		defer files[i].Close() // by its owner: a finalizer would close the number again, of another file by then
	}
	p, err := os.StartProcess(fmt.Sprintf("/proc/self/fd/%d", n), []string{"stub"}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: files, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}})
	if err != nil {
		return 0, err
	}
	runtime.SetFinalizer(p, nil) // reaped here by its number, together with all that it leaves behind
	return p.Pid, nil
}

func (k *keeper) say(m message) error {
	b, err := json.Marshal(m)
	if err == nil {
		_, err = k.conn.Write(b)
	}
	return err
}

func (k *keeper) failed(err error) error { return errors.Join(err, k.say(message{Error: err.Error()})) }

// obey ends the run when it is told to, or when nobody is left to tell: the
// service is gone then.
func (k *keeper) obey() {
	var buf [16]byte
	k.conn.Read(buf[:]) // whatever comes, and the end too, means the same
	k.end()
}

func (k *keeper) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ending = true
	killChildren()
}

// reap waits for everything that is or becomes a child of this process. When the
// payload has ended, or the run is to end, all children are killed, and then what
// they leave behind, until nobody is left: a process that is killed leaves its
// children to the keeper before it can be waited for.
func (k *keeper) reap() message {
	m := message{Over: true}
	for {
		var status unix.WaitStatus
		var used unix.Rusage
		pid, err := unix.Wait4(-1, &status, unix.WALL, &used)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return m // ECHILD: nobody is left
		}
		m.CPU += (used.Utime.Nano() + used.Stime.Nano()) / 1e6
		m.RSS = max(m.RSS, used.Maxrss<<10)
		k.mu.Lock()
		if pid == k.payload {
			m.Status, k.ending = uint32(status), true
		}
		if k.ending {
			killChildren()
		}
		k.mu.Unlock()
	}
}

// killChildren kills every child of this process. A number that was read may be
// another process's by now, so what is killed is held first and then looked at.
func killChildren() {
	for _, pid := range children() {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // gone
		}
		if isChild(pid) {
			unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		unix.Close(fd)
	}
}

// children lists the processes whose parent is this one, whichever of its threads
// started them.
func children() []int {
	var all []int
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	for _, t := range tasks {
		list, err := os.ReadFile("/proc/self/task/" + t.Name() + "/children")
		if err != nil {
			continue
		}
		for _, word := range strings.Fields(string(list)) {
			if pid, err := strconv.Atoi(word); err == nil {
				all = append(all, pid)
			}
		}
	}
	return all
}

// isChild reads the parent of a process (proc_pid_stat(5): behind the name, which
// can hold anything, come the state and the parent).
func isChild(pid int) bool {
	f, err := os.Open(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return false
	}
	i := strings.LastIndexByte(string(text), ')')
	fields := strings.Fields(string(text[i+1:]))
	return len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid())
}
