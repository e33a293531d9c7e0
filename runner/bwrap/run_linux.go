package bwrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/cgroup"
	"github.com/sbxcron/sbxcron/runner/internal/channel"
	"github.com/sbxcron/sbxcron/runner/internal/ends"
	"github.com/sbxcron/sbxcron/runner/mask"
	"github.com/sbxcron/sbxcron/runner/stub"
	"github.com/sbxcron/sbxcron/runner/supervise"
	"golang.org/x/sys/unix"
)

// run is one sandbox: armed at first, then a process.
type run struct {
	b        *Backend
	p        *runner.Blueprint
	facts    record.Facts
	table    *stub.Table
	pipes    *pipes
	json     *json.Decoder
	proc     *os.Process
	init     int // pidfd of the namespace's init: killing it kills everything
	initGone *gone
	// payload is a pidfd of the process that becomes the payload.
	payload  int
	captures [2]*runner.Capture
	watched  []watchedDir
	helper   *supervise.Lent // nil once it was given back
	untold   bool            // it may not have told everything
	leaf     *cgroup.Leaf
	exact    bool           // the kernel told how the payload ended
	events   cgroup.Events  // when the tree was gone
	watchers sync.WaitGroup // of limits, until the tree is gone
	began    time.Time      // before anything of the job could run
	private  []*private     // places of the job that can be full
	grows    bool           // limits.workspace_growth is watched
	before   int64          // what the writable folders took when the run began
	grown    atomic.Int64   // how much more it was at the last count

	channel     *channel.Channel
	denials     *runner.Denials
	connections runner.Connections
	eventsDone  chan struct{}
	lostEvents  error    // valid when eventsDone is closed
	result      *os.File // what an agent printed, nil where nobody reads it

	secrets *mask.Set // the values of the job's credentials, cleared when the run is over

	watchDone chan struct{} // nil before somebody watches the helper

	exited chan struct{}    // bwrap is gone and reaped
	state  *os.ProcessState // valid when exited is closed
	ended  chan struct{}    // the tree is gone

	mu  sync.Mutex
	why jobspec.Code // first reason to end the run; "" for none
	end bool         // the tree is gone: later reasons do not count

	drained  [2]chan struct{}
	execDone chan struct{}
	started  time.Time
	finished time.Time // when nothing of it was left
	execFail *stub.Report
	timer    *time.Timer
	usage    unix.Rusage // of the init and what it waited for
}

// Facts are what Prepare measured.
func (r *run) Facts() record.Facts { return r.facts }

func (r *run) reap(g *gone) {
	g.wait()
	g.close()
	r.state, _ = r.proc.Wait()
	close(r.exited)
}

// openOutputs makes the file that a result will be read from; those of other streams
// are made with their first byte.
func (r *run) openOutputs() error {
	for i, name := range []string{"out", "err"} {
		if !r.readsResult(name) {
			made := func() (*os.File, error) { return r.p.Outputs.Create(name) }
			r.captures[i] = runner.NewCapture(name, runner.MadeWhenNeeded(made), r.p.Limits.OutputBytes, r.secrets)
			continue
		}
		f, err := r.p.Outputs.Create(name)
		if err != nil {
			return refusal(jobspec.CodeSbxResource, name, "make output file %s: %v", name, err)
		}
		if r.result, err = ends.Reopen(f); err != nil {
			f.Close()
			return refusal(jobspec.CodeSbxResource, name, "open output file %s: %v", name, err)
		}
		r.captures[i] = runner.NewCapture(name, f, r.p.Limits.OutputBytes, r.secrets)
	}
	return nil
}

// Discard takes the sandbox down.
func (r *run) Discard() { r.discard() }

// discard kills what there is and waits for it. The stub dies at the barrier.
func (r *run) discard() {
	r.kill()
	r.killEarly()
	<-r.exited
	r.awaitInit()
	r.reapInit()
	r.mu.Lock()
	r.end = true
	r.mu.Unlock()
	for _, d := range r.drained {
		if d != nil { // a Release that failed had begun to read
			<-d
		}
	}
	for _, c := range r.captures {
		if c != nil {
			c.Finish() // an empty file; that it could not be synced loses nothing
		}
	}
	r.release()
}

// release gives all descriptors back.
func (r *run) release() {
	r.endSupervisor()
	r.b.dropLeaf(r.leaf)
	r.pipes.close()
	closeFDs(r.init, r.payload)
	r.initGone.close()
	r.channel.Close()
	closeAll(r.result)
	r.secrets.Clear()
	for _, p := range r.private {
		p.dir.Close()
	}
	for _, w := range r.watched {
		w.dir.Close()
	}
}

func closeFDs(fds ...int) {
	for _, fd := range fds {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// awaitInit waits until the namespace's init is dead, which is when the kernel
// has killed everything in the namespace.
func (r *run) awaitInit() {
	if r.initGone != nil {
		r.initGone.wait()
		return
	}
	if r.init >= 0 {
		ended(r.init, -1)
	}
}

// reapInit reaps the init where it became ours, which is when bwrap is gone.
func (r *run) reapInit() unix.Rusage {
	var usage unix.Rusage
	if r.init < 0 {
		return usage
	}
	for {
		err := unix.Waitid(unix.P_PIDFD, r.init, nil, unix.WEXITED, &usage)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil { // bwrap itself has reaped it
			return unix.Rusage{}
		}
		return usage
	}
}

// Release lets the payload go.
func (r *run) Release() (runner.Process, error) {
	// The payload goes first: what reads its output and its end can follow.
	_, err := r.pipes.barrier.Write([]byte{runner.ReleaseByte})
	r.execDone, r.eventsDone = make(chan struct{}), make(chan struct{})
	for i, from := range []*os.File{r.pipes.out, r.pipes.err} {
		r.drained[i] = make(chan struct{})
		go func() {
			defer close(r.drained[i])
			io.Copy(ends.NewDam(r.captures[i], r.p.Limits.OutputBytes, func() { r.Kill(jobspec.CodeLimitOutput) }), from) // ends with the last writer, or at the deadline that Wait sets
		}()
	}
	if err != nil {
		r.discard()
		return nil, fmt.Errorf("release the payload: %w", err)
	}
	r.timer = time.AfterFunc(time.Duration(r.p.Limits.TimeoutSeconds)*time.Second, func() { r.Cancel(jobspec.CodeLimitTimeout) })
	go r.watchExec()
	go r.watchEnd()
	go r.watchEvents()
	r.watchers.Add(2)
	go r.watchLimits()
	go r.watchGrowth()
	return r, nil
}

// watchExec learns from the status pipe when the payload began: it closes at
// execve, or brings the report of an execve that failed.
func (r *run) watchExec() {
	defer close(r.execDone)
	var msg [stub.MessageSize]byte
	n, err := io.ReadFull(r.pipes.status, msg[:])
	r.started = r.b.now()
	if n == 0 && errors.Is(err, io.EOF) {
		return
	}
	_, report, err := stub.ParseMessage(msg[:n])
	if err != nil {
		report = stub.Report{Row: -1}
	}
	r.execFail = &report
}

// exitTime is how long bwrap gets to end once nothing is left of its sandbox.
const exitTime = 2 * time.Second

// watchEnd closes ended when the tree is gone. bwrap ends when the payload does,
// and --die-with-parent then ends the namespace's init. A bwrap that another
// process of the account has stopped would never end: it is killed once its
// sandbox is gone.
func (r *run) watchEnd() {
	r.awaitInit()
	select {
	case <-r.exited:
	case <-time.After(exitTime):
		r.proc.Kill()
		<-r.exited
	}
	usage, events := r.reapInit(), r.leaf.Events()
	r.mu.Lock()
	r.end = true
	r.usage, r.events, r.finished = usage, events, r.b.now()
	r.mu.Unlock()
	close(r.ended)
}
