package scheduler

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// arrive is the road of a run that was built before its slot: claim it where it
// is near, wait for it, and look again at everything that a run of this moment
// would be judged by. Where that has changed, the sandbox is put away and the run
// takes the plain road from its beginning. The look may be a few milliseconds
// older than the slot where nothing that it went by has changed since; see glance.
func (s *Scheduler) arrive(ctx context.Context, r *run) *record.Leaf {
	k := s.built(ctx, r)
	kept := false
	defer func() {
		if !kept {
			k.discard()
		}
	}()
	var seen glance
	if k != nil && r.claims {
		if err := s.claim(r, s.rows.claimed(r, k.v, k.exam.Basis(), k.armed.Facts())); err != nil {
			return nil
		}
		s.flush(r)
		seen = s.glance(ctx, r, k)
		if row := s.awaitSlot(ctx, r); row != nil {
			return row
		}
	}
	if row := s.halted(r); row != nil {
		return row
	}
	if k == nil {
		return s.depart(ctx, r)
	}
	if seen.stands(s, r) {
		kept = true
		defer k.exam.Close()
		return s.start(r, k.v, k.exam, k.armed)
	}
	// Two looks at different things, each of a few tenths of a millisecond.
	fresh := s.ask(k.exam)
	defer fresh() // nothing is closed under it
	row := s.lastLook(r, k.v, k.exam)
	switch {
	case !fresh() || !k.exam.Fits():
		k.discard()
		k = nil
		return s.depart(ctx, r)
	case row != nil:
		return row
	}
	kept = true // start discards what it does not release
	defer k.exam.Close()
	return s.start(r, k.v, k.exam, k.armed)
}

// ask begins to ask whether a sandbox may stand for one of this moment. The answer
// waits for it.
func (s *Scheduler) ask(exam *openExam) (answer func() bool) {
	done := make(chan bool, 1)
	go func() { done <- s.fresh(exam) }()
	return sync.OnceValue(func() bool { return <-done })
}

// fresh asks whether a sandbox may stand for one of this moment. A defect is a no.
func (s *Scheduler) fresh(exam *openExam) (ok bool) {
	defer func() {
		if cause := recover(); cause != nil {
			s.o.Log.Error("a look at what is armed panicked", "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
			ok = false
		}
	}()
	return exam.Fresh()
}

// closing is the final row of a run: what follows a claim is finished, refused or
// lost, whatever kept the payload from starting.
func closing(r *run, row *record.Leaf) *record.Leaf {
	if row != nil && r.claims && (row.Kind == record.Skipped || row.Kind == record.Held || row.Kind == record.Missed) {
		row.Kind, row.Outcome = record.Refused, record.OutcomeRefused
	}
	return row
}

// built waits for what is built, and gives it up when the run is not to start.
func (s *Scheduler) built(ctx context.Context, r *run) *kit {
	select {
	case <-r.early.done:
	case <-ctx.Done():
		r.early.stop()
		<-r.early.done
	}
	return r.early.kit
}

// awaitSlot waits for the slot that the run has claimed.
func (s *Scheduler) awaitSlot(ctx context.Context, r *run) *record.Leaf {
	select {
	case <-r.early.slot:
	case <-ctx.Done():
		return s.orHalted(r, s.rows.refused(r, Verified{}, Basis{}, unprepared(ctx, ctx.Err(), jobspec.CodeSbxSetupFailed)))
	}
	if late := s.o.Clock.Now().Sub(r.due.At); late > MissedAfter { // the machine slept, or the clock was set
		return s.rows.refused(r, Verified{}, Basis{}, record.Reason{Code: jobspec.CodeMissedSkipped, Detail: "its slot was noticed too late"})
	}
	return nil
}
