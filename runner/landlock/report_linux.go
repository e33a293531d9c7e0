package landlock

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/left"
	"github.com/sbxcron/sbxcron/runner/internal/protect"
	"github.com/sbxcron/sbxcron/runner/witness"
)

// watchedDir is a writable directory and the protected names that were missing
// when the run began.
type watchedDir struct {
	path    string
	dir     *os.File
	missing []string
}

// watchGuards keeps the writable directories open beyond the plan, whose files
// the caller may close at Release.
func (r *run) watchGuards() error {
	for _, g := range r.p.Guard {
		fd, err := unix.FcntlInt(r.p.Pins.File(g.Pin).Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("hold %s: %w", g.Path, err)
		}
		w := watchedDir{path: g.Host, dir: os.NewFile(uintptr(fd), g.Host)}
		for _, name := range g.Protect() {
			if !slices.Contains(r.p.MayCreate, name) && !protect.Exists(fd, name) {
				w.missing = append(w.missing, name)
			}
		}
		r.watched = append(r.watched, w)
	}
	return nil
}

// reportCreated makes a run denied that left a protected name where there was none.
func (r *run) reportCreated(end *record.End) {
	var found []string
	for _, w := range r.watched {
		for _, name := range w.missing {
			if protect.Exists(int(w.dir.Fd()), name) {
				found = append(found, w.path+"/"+name)
			}
		}
	}
	left.Tell(end, found)
}

// reportLeft makes a run denied that left in a writable folder what others would
// trust without looking.
func (r *run) reportLeft(end *record.End) {
	if len(r.watched) == 0 {
		return
	}
	var folders []left.Folder
	for _, w := range r.watched {
		folders = append(folders, left.Folder{Path: w.path, Dir: w.dir})
	}
	found, err := left.Look{UID: r.p.Account.UID, Since: r.began, MayCreate: r.p.MayCreate}.At(folders)
	if err != nil {
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeInternal, Detail: fmt.Sprintf("look for set-id files: %v", err)})
		found = append(found, r.watched[0].path) // nobody knows what lies there
	}
	left.Tell(end, found)
}

// spawn starts our own program for a witness, which ends with its control pipe.
func spawn(argv []string, files []*os.File) (*os.Process, error) {
	return startSelf(context.Background(), argv, files)
}

// reportResult has the agent's own result read for what was denied to it. A
// result that cannot be understood is a failure: it may hide a no.
func (r *run) reportResult(end *record.End) {
	if r.result == nil || !end.Exited || end.Outcome != record.OutcomeSucceeded && end.Outcome != record.OutcomeFailed {
		return
	}
	if why := r.readResult(end); why != "" {
		end.Outcome = record.OutcomeFailed
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeResultUnreadable, Target: r.p.Result, Detail: why})
	}
}

// readResult returns why the result is not understood, "" when it is.
func (r *run) readResult(end *record.End) string {
	for _, o := range end.Outputs {
		if o.Stream == "out" && o.Truncated {
			return fmt.Sprintf("only %d of its %d bytes were kept", o.Kept, o.Bytes)
		}
	}
	w, err := witness.Start(spawn, r.p.Result, r.result)
	if err != nil {
		return err.Error()
	}
	w.Hurry()
	why := ""
	if err := w.Each(func(e witness.Event) {
		if e.Code == jobspec.CodeResultUnreadable {
			why = e.Target
			return
		}
		r.denials.Observed(runner.Attempt{Code: e.Code, Target: e.Target, Count: e.Count})
	}); err != nil {
		return err.Error()
	}
	return why
}

// watchEvents notes what shims tell while the run goes on, and ends the run where
// the rules say so. A run whose attempts cannot be noted any more is ended too.
func (r *run) watchEvents() {
	defer close(r.eventsDone)
	over := make(chan struct{})
	go func() {
		defer close(over)
		<-r.ended
		r.channel.Pipe().SetReadDeadline(time.Now()) // it is a pipe that can have one
	}()
	if !r.channel.AwaitFirst() {
		<-over
		if !r.channel.Waiting() {
			return
		}
	}
	if r.lostEvents = r.hearEvents(); r.lostEvents != nil {
		r.Kill(jobspec.CodeSbxWitnessFailed)
	}
	<-over
}

// hearEvents is the life of the witness of a run.
func (r *run) hearEvents() error {
	w, err := witness.Start(spawn, witness.ModeEvents, r.channel.Pipe())
	if err != nil {
		return err
	}
	heard, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-r.ended:
			w.Finish()
		case <-heard:
		}
	}()
	defer func() {
		close(heard)
		<-watched
	}()
	return w.Each(func(e witness.Event) {
		if why := r.denials.Observed(runner.Attempt{Code: e.Code, Target: e.Target, Count: e.Count}); why != "" {
			r.Kill(why)
		}
	})
}

// reportEvents puts what was denied into the end of the run.
func (r *run) reportEvents(end *record.End) {
	if r.lostEvents != nil {
		end.Outcome = record.OutcomeKilled
		end.Reasons = []record.Reason{{Code: jobspec.CodeSbxWitnessFailed, Detail: r.lostEvents.Error()}}
	}
	r.denials.Into(end)
}
