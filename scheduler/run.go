package scheduler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// stage is how far a run has come.
type stage uint8

const (
	queued stage = iota
	armed        // built and claimed, before its slot
	preparing
	running
	pausing // between two attempts
)

// run is one start of a job, from due to its final row. The fields below the
// line are guarded by the scheduler's mu.
type run struct {
	id      string
	trigger record.Trigger
	by      *record.Requester
	due     calendar.Due // no slots when asked for by hand
	order   time.Time    // the queue's order: the due instant, or when it was asked for
	handle  *Handle

	how        *manner // never nil
	seated     bool
	sits       share            // whose seat it has
	line       share            // in which it waits for one
	notBefore  time.Duration    // by the clock that nobody sets; 0 for at once
	ready      bool             // a run that waits for another: the rows of earlier slots are durable
	resume     chan struct{}    // closed when a run that waits for its next attempt has a seat
	attempts   []record.Attempt // by the run's own goroutine while it is driven
	whole      record.End       // what all attempts did together
	retryUntil time.Time
	waited     bool // for another run of its job

	key      Key // of a manual run known only once it is verified
	stage    stage
	crowd    int  // how many were let go with it, of those built before their slot
	ending   bool // gave its seat back and is being put on record
	began    time.Time
	claimed  bool           // past the point of no return: it starts, or is lost
	claims   bool           // claims its slot before the slot comes
	early    *building      // built before its slot, nil for a run that was not
	recorded bool           // the first row is durable, and nothing waits behind it
	later    []*record.Leaf // rows of later slots that wait for the first row
	halt     *halt
	abort    context.CancelFunc // ends a preparation
	proc     Process
}

// halt is why a run must not start, or must end.
type halt struct {
	code jobspec.Code
	by   *record.Requester
}

// PrepareTime bounds how long a run may open its files and build its sandbox. A
// file system or an opener that somebody stops would otherwise keep its seat for
// ever, and a few of those all seats.
const PrepareTime = 2 * time.Minute

var errTooLong = fmt.Errorf("not ready within %s", PrepareTime)

// unprepared is why a preparation came to nothing.
func unprepared(ctx context.Context, err error, otherwise jobspec.Code) record.Reason {
	if errors.Is(context.Cause(ctx), errTooLong) {
		return record.Reason{Code: jobspec.CodeSbxSetupFailed, Detail: errTooLong.Error()}
	}
	return reasonOf(err, otherwise)
}

// openExam is an examination that is closed once, however a run ends.
type openExam struct {
	Examination
	closed bool
}

// Close is called by the run's own goroutine only.
func (e *openExam) Close() {
	if !e.closed {
		e.closed = true
		e.Examination.Close()
	}
}

// newRun is called with mu held.
func (s *Scheduler) newRun(key Key, trigger record.Trigger, order time.Time) *run {
	id := runID(s.o.Clock.Now(), s.o.Random)
	return &run{id: id, key: key, trigger: trigger, order: order, handle: newHandle(id), how: s.table.mannerOf(key.Job)}
}

// drive is the life of one run, in a goroutine of its own.
func (s *Scheduler) drive(ctx context.Context, r *run) {
	defer s.runs.Done()
	defer r.abort()
	s.settle(r, closing(r, s.travel(ctx, r)))
}

// travel takes the whole road and returns the final row. A panic on the road
// ends this run only.
func (s *Scheduler) travel(ctx context.Context, r *run) (final *record.Leaf) {
	defer func() {
		if cause := recover(); cause != nil {
			s.o.Log.Error("a run panicked", "job", string(r.key.Job), "run", r.id, "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
			final = s.afterPanic(r)
		}
	}()
	if r.early != nil {
		return s.arrive(ctx, r)
	}
	return s.depart(ctx, r)
}

// depart is the road of a run of which nothing stands yet.
func (s *Scheduler) depart(ctx context.Context, r *run) *record.Leaf {
	if row := s.halted(r); row != nil {
		return row
	}
	v, err := s.o.Verifier.Current(r.key.Job)
	if err != nil {
		return s.rows.refused(r, v, Basis{}, reasonOf(err, jobspec.CodeIdentityUnproven))
	}
	if row := s.adopt(r, v); row != nil {
		return row
	}
	exam, err := s.o.Examiner.Examine(ctx, jobspec.PhaseTrigger, v)
	if err != nil {
		return s.orHalted(r, s.rows.refused(r, v, Basis{}, unprepared(ctx, err, jobspec.CodeInternal)))
	}
	held := &openExam{Examination: exam}
	defer held.Close()
	return s.enter(ctx, r, v, held)
}

// enter goes on from a decision. Allowed is not enough: whatever the examiner
// holds, unverified bytes start nothing.
func (s *Scheduler) enter(ctx context.Context, r *run, v Verified, exam *openExam) *record.Leaf {
	basis := exam.Basis()
	if ruling := exam.Decision(); !ruling.Allowed() {
		return s.rows.refused(r, v, basis, reasonsOf(ruling.Refusals())...)
	}
	if !v.Signed.Valid() || v.Identity != "" {
		return s.rows.refused(r, v, basis, record.Reason{Code: jobspec.CodeIdentityUnproven, Detail: v.Detail})
	}
	armed, err := exam.Prepare(ctx, r.id, len(r.attempts)+1)
	if err != nil {
		return s.orHalted(r, s.rows.refused(r, v, basis, unprepared(ctx, err, jobspec.CodeSbxSetupFailed)))
	}
	return s.release(r, v, exam, armed)
}

// release looks once more and lets the payload go.
func (s *Scheduler) release(r *run, v Verified, exam *openExam, armed Armed) *record.Leaf {
	if row := s.looked(r, v, exam, armed); row != nil {
		return row
	}
	return s.start(r, v, exam, armed)
}

// looked is the last look; the sandbox is put away with a no, or a panic.
func (s *Scheduler) looked(r *run, v Verified, exam *openExam, armed Armed) (no *record.Leaf) {
	yes := false
	defer func() {
		if !yes {
			armed.Discard()
		}
	}()
	no = s.lastLook(r, v, exam)
	yes = no == nil
	return no
}

// start makes the claim durable, where it is not yet, and lets the payload go, in
// this order.
func (s *Scheduler) start(r *run, v Verified, exam *openExam, armed Armed) *record.Leaf {
	released := false
	defer func() {
		if !released {
			armed.Discard()
		}
	}()
	if row := s.decideToStart(r); row != nil {
		return row
	}
	started := s.rows.started(r, v, exam.Basis(), armed.Facts())
	if err := s.before(r, started); err != nil {
		return nil
	}
	released = true
	proc, err := armed.Release()
	if err != nil {
		return s.rows.neverRan(r, reasonOf(err, jobspec.CodeSbxSetupFailed))
	}
	s.attach(r, proc)
	exam.Close() // a long run must not keep the files of its decision open
	if len(r.attempts) == 0 {
		r.handle.start(started)
	}
	s.flush(r)
	r.letOthersStart()
	end := proc.Wait()
	s.standUp(r)
	return s.finish(r, end)
}

// before makes durable what must be so before the payload is let go: the claim of
// the slot, where it is not yet, or that a further attempt begins.
func (s *Scheduler) before(r *run, started *record.Leaf) error {
	switch {
	case len(r.attempts) > 0:
		started.Kind, started.Attempt = record.Attempted, int64(len(r.attempts)+1)
		return s.write(started)
	case r.claims:
		return nil
	}
	return s.claim(r, started)
}

// finish looks at how an attempt ended, and goes on to the next one or to the final
// row.
func (s *Scheduler) finish(r *run, end record.End) *record.Leaf {
	s.holdForLooking(r, end)
	s.breakAfter(r, end)
	r.keep(end)
	if s.mayTryAgain(r, end) {
		return s.tryAgain(r, end)
	}
	return s.conclude(r, end)
}

// adopt compares the op that was found with the one that was due.
func (s *Scheduler) adopt(r *run, v Verified) *record.Leaf {
	if !v.Signed.Valid() {
		return nil // the decision refuses it, with the reason
	}
	found := Key{r.key.Job, v.Signed.Digest(), v.Signed.Op().Seq}
	if (len(r.due.Slots) > 0 || len(r.attempts) > 0) && found.Op != r.key.Op {
		return s.rows.skipped(r, record.Reason{Code: jobspec.CodeHeadMoved, Detail: "the job was replaced before this slot could start"}, nil)
	}
	s.mu.Lock()
	r.key = found
	s.mu.Unlock()
	return nil
}

// halted is the row of a run that must not start any more, else nil.
func (s *Scheduler) halted(r *run) *record.Leaf {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.haltedLocked(r)
}

// decideToStart is the point of no return: the last look at what may keep a run
// from starting, and the mark that it starts, are one step. Whoever took a
// spec out of force before it is obeyed, whoever comes after it meets a run.
func (s *Scheduler) decideToStart(r *run) *record.Leaf {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.haltedLocked(r)
	r.claimed = row == nil
	return row
}

func (s *Scheduler) haltedLocked(r *run) *record.Leaf {
	hold, held := s.holds[r.key.Job]
	switch {
	case r.halt != nil:
		return s.rows.skipped(r, record.Reason{Code: r.halt.code}, r.halt.by)
	case s.tooLate(r):
		return s.rows.missedRun(r)
	case s.phase != serving:
		return s.rows.skipped(r, record.Reason{Code: jobspec.CodeShutdown, Detail: "the service ends"}, nil)
	case held && len(r.due.Slots) > 0:
		return s.rows.heldRun(r, hold)
	case held:
		return s.rows.refused(r, Verified{}, Basis{}, record.Reason{Code: hold.CauseCode(), Target: string(r.key.Job)})
	}
	return nil
}

// orHalted prefers the cause of a halt to the error that it brought about.
func (s *Scheduler) orHalted(r *run, row *record.Leaf) *record.Leaf {
	if halted := s.halted(r); halted != nil {
		return halted
	}
	return row
}

// afterPanic ends what may still run and says what is known: a run whose claim
// may be durable is lost, any other was refused.
func (s *Scheduler) afterPanic(r *run) *record.Leaf {
	s.mu.Lock()
	proc, claimed := r.proc, r.claimed
	s.mu.Unlock()
	if proc != nil {
		s.quietly(func() { proc.Kill(jobspec.CodeInternal) })
	}
	cause := record.Reason{Code: jobspec.CodeInternal, Detail: "the service had a defect in this run"}
	if claimed || len(r.attempts) > 0 {
		return s.rows.lost(r, cause)
	}
	return s.rows.refused(r, Verified{}, Basis{}, cause)
}

// quietly calls what may panic a second time.
func (s *Scheduler) quietly(do func()) {
	defer func() {
		if cause := recover(); cause != nil {
			s.o.Log.Error("ending a run panicked", "cause", fmt.Sprint(cause))
		}
	}()
	do()
}
