package landlock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/channel"
	"github.com/sbxcron/sbxcron/runner/internal/ends"
	"github.com/sbxcron/sbxcron/runner/mask"
	"github.com/sbxcron/sbxcron/runner/stub"
)

// run is one held job: armed at first, then a process.
type run struct {
	b     *Backend
	p     *runner.Blueprint
	facts record.Facts
	table *stub.Table
	place place

	out, err, status, barrier *os.File // our ends
	keeper                    *kept    // nil before it is there
	payload                   int      // pidfd of the process that becomes the payload
	captures                  [2]*runner.Capture
	result                    *os.File // what an agent printed, nil where nobody reads it
	secrets                   *mask.Set
	watched                   []watchedDir
	began                     time.Time // before anything of the job could run

	channel    *channel.Channel
	denials    *runner.Denials
	lostEvents error // valid when eventsDone is closed

	mu  sync.Mutex
	why jobspec.Code // first reason to end the run; "" for none
	end bool         // the tree is gone: later reasons do not count

	ended      chan struct{} // the tree is gone
	drained    [2]chan struct{}
	execDone   chan struct{}
	eventsDone chan struct{}
	started    time.Time
	execFail   *stub.Report
	timer      *time.Timer
}

// Facts are what Prepare measured.
func (r *run) Facts() record.Facts { return r.facts }

// openOutputs makes the files that the streams are kept in.
func (r *run) openOutputs() error {
	for i, name := range []string{"out", "err"} {
		f, err := r.p.Outputs.Create(name)
		if err != nil {
			return refusal(jobspec.CodeSbxResource, name, "make output file %s: %v", name, err)
		}
		if name == "out" && r.p.Result != "" && r.p.Result != jobspec.ExitWord {
			if r.result, err = ends.Reopen(f); err != nil {
				f.Close()
				return refusal(jobspec.CodeSbxResource, name, "open output file %s: %v", name, err)
			}
		}
		r.captures[i] = runner.NewCapture(name, f, r.p.Limits.OutputBytes, r.secrets)
	}
	return nil
}

// Release lets the payload go.
func (r *run) Release() (runner.Process, error) {
	r.execDone, r.eventsDone = make(chan struct{}), make(chan struct{})
	for i, from := range []*os.File{r.out, r.err} {
		r.drained[i] = make(chan struct{})
		go func() {
			defer close(r.drained[i])
			io.Copy(ends.NewDam(r.captures[i], r.p.Limits.OutputBytes, func() { r.Kill(jobspec.CodeLimitOutput) }), from) // ends with the last writer, or at the deadline that Wait sets
		}()
	}
	if _, err := r.barrier.Write([]byte{runner.ReleaseByte}); err != nil {
		r.discard()
		return nil, fmt.Errorf("release the payload: %w", err)
	}
	r.timer = time.AfterFunc(time.Duration(r.p.Limits.TimeoutSeconds)*time.Second, func() { r.Cancel(jobspec.CodeLimitTimeout) })
	go r.watchExec()
	go r.watchEnd()
	go r.watchEvents()
	return r, nil
}

// Discard takes the run down; nothing of the job has run.
func (r *run) Discard() { r.discard() }

// discard ends what there is and waits for it. The stub dies at the barrier.
func (r *run) discard() {
	if r.keeper != nil {
		r.keeper.kill()
		<-r.keeper.over
	}
	r.over()
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

// release gives everything back.
func (r *run) release() {
	r.b.note(r, false)
	for _, f := range []*os.File{r.out, r.err, r.status, r.barrier, r.result} {
		if f != nil {
			f.Close()
		}
	}
	if r.payload >= 0 {
		unix.Close(r.payload)
	}
	r.channel.Close()
	r.secrets.Clear()
	for _, w := range r.watched {
		w.dir.Close()
	}
	if r.place.root != "" {
		r.place.remove() // what stays is removed by the next start of the service
	}
}

// over notes that the tree is gone.
func (r *run) over() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = true
}

// watchExec learns from the status pipe when the payload began: it closes at
// execve, or brings the report of an execve that failed.
func (r *run) watchExec() {
	defer close(r.execDone)
	var msg [stub.MessageSize]byte
	n, err := io.ReadFull(r.status, msg[:])
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

// watchEnd closes ended when the keeper says that nothing is left.
func (r *run) watchEnd() {
	<-r.keeper.over
	r.over()
	close(r.ended)
}

// because notes the first reason and reports whether this one is it.
func (r *run) because(why jobspec.Code) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end || r.why != "" {
		return false
	}
	r.why = why
	return true
}

// Cancel sends TERM to the payload; KILL follows after the grace, for all.
func (r *run) Cancel(why jobspec.Code) {
	if !r.because(why) {
		return
	}
	r.mu.Lock()
	if !r.end { // else the descriptor may be another's
		unix.PidfdSendSignal(r.payload, unix.SIGTERM, nil, 0) // one that is gone needs no signal
	}
	r.mu.Unlock()
	go func() {
		grace := time.NewTimer(time.Duration(r.p.Limits.GraceSeconds) * time.Second)
		defer grace.Stop()
		select {
		case <-r.ended:
		case <-grace.C:
			r.keeper.kill()
		}
	}()
}

// Kill ends the whole tree at once.
func (r *run) Kill(why jobspec.Code) {
	r.because(why)
	r.keeper.kill()
}
