package scheduler

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Arming ahead: the sandbox of a slot is built before the slot, so that at the
// slot only the checks and one write to a barrier are left.
//
// A run that is built ahead is not live: nothing is recorded of it, the slot is
// still the timetable's, and whatever goes wrong sends the slot down the plain
// road. Shortly before the slot the run may claim it, durably, by a row of kind
// claimed; from then on the run alone owns the slot and must end it with a final
// row: finished, refused at the slot, or lost.
const (
	// ArmAhead is how long before its slot a sandbox may be built. Slots are whole
	// seconds; this is not, so that the work for one slot does not fall on another.
	ArmAhead = 1700 * time.Millisecond
	// ClaimAhead is how long before its slot an armed run makes its claim durable.
	ClaimAhead = 250 * time.Millisecond
	// armedTime bounds how long a sandbox waits for a slot that does not come:
	// somebody has set the clock back. It is counted by the clock that nobody sets.
	armedTime = ArmAhead + 3*time.Second
)

// kit is what a run needs at its gate.
type kit struct {
	v     Verified
	exam  *openExam
	armed Armed
}

// discard takes the sandbox down, and then lets the files go.
func (k *kit) discard() {
	if k != nil {
		k.armed.Discard()
		k.exam.Close()
	}
}

// building is a sandbox in the making, before its slot. kit is nil where nothing
// came of it, and belongs to whoever has waited for done.
type building struct {
	done chan struct{}
	stop context.CancelFunc
	kit  *kit          // valid when done is closed
	look chan struct{} // closed when a claimed slot is so near that it is looked at
	slot chan struct{} // closed when a claimed slot has come
	boot time.Duration // when it began

	ready     bool // done is closed; with the next three guarded by the scheduler's mu
	looking   bool // look is closed
	begun     bool // a builder has it
	abandoned bool // nobody will take the kit
}

// armAhead begins to build what will be due soon. The caller holds mu.
func (s *Scheduler) armAhead(now time.Time) {
	for _, up := range s.table.Upcoming(now.Add(ArmAhead), s.mayArm, s.o.MaxParallel-s.armedNow()) {
		r := s.newRun(up.Key, record.BySchedule, up.Due.At)
		s.due(r, up.Due)
		ctx, stop := context.WithTimeoutCause(context.Background(), PrepareTime, errTooLong)
		r.early = &building{done: make(chan struct{}), stop: stop, look: make(chan struct{}), slot: make(chan struct{}), boot: s.o.Clock.Boot()}
		s.ahead[up.Key.Job] = r
		s.runs.Add(1)
		go s.build(ctx, r, r.key, r.early)
	}
}

// mayArm reports whether a sandbox may be built ahead for a job. The caller holds
// mu.
func (s *Scheduler) mayArm(job jobspec.Name) bool {
	_, held := s.holds[job]
	return !held && s.live[job] == nil && s.ahead[job] == nil
}

// armedNow is how many sandboxes stand or are built before their slots. The
// caller holds mu.
func (s *Scheduler) armedNow() int {
	n := len(s.ahead)
	for _, r := range s.live {
		if r.stage == armed {
			n++
		}
	}
	return n
}

// build goes the road of a run up to the barrier and records nothing. What says
// no here says it again at the slot, where it becomes a row.
func (s *Scheduler) build(ctx context.Context, r *run, key Key, b *building) {
	defer s.runs.Done()
	defer b.stop()
	k, why := s.inTurn(ctx, r.id, key, b)
	if why != nil {
		s.o.Log.Info("not armed ahead of its slot", "job", string(key.Job), "cause", why.Error())
	}
	s.mu.Lock()
	b.kit, b.ready = k, true
	close(b.done)
	abandoned := b.abandoned
	s.mu.Unlock()
	if abandoned {
		k.discard()
	}
	s.nudge()
}

// inTurn lets as few sandboxes be built at one time as there are processors: of many
// that are begun together none is ready before the last.
func (s *Scheduler) inTurn(ctx context.Context, id string, key Key, b *building) (*kit, error) {
	select {
	case s.builders <- struct{}{}:
		defer func() { <-s.builders }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	b.begun = true
	gone := b.abandoned
	s.mu.Unlock()
	if gone {
		return nil, context.Canceled
	}
	s.stepAside(ctx)
	return s.tryBuild(ctx, id, key)
}

// How close to the slot of an armed run no sandbox is begun: building one takes a
// processor for some milliseconds, which the payload that is due would wait for.
const (
	quietBefore = 25 * time.Millisecond
	quietAfter  = 5 * time.Millisecond
)

// stepAside waits until no slot of an armed run is so close. It waits once: what is
// built must be ready for its own slot.
func (s *Scheduler) stepAside(ctx context.Context) {
	s.mu.Lock()
	pause := s.quietFor(s.o.Clock.Now())
	s.mu.Unlock()
	if pause <= 0 {
		return
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

// quietFor is how long no sandbox is to be begun from now on. The caller holds mu.
func (s *Scheduler) quietFor(now time.Time) (pause time.Duration) {
	for _, r := range s.live {
		to := r.due.At.Sub(now)
		if r.stage == armed && to <= quietBefore && to > -quietAfter {
			pause = max(pause, to+quietAfter)
		}
	}
	return pause
}

func (s *Scheduler) tryBuild(ctx context.Context, id string, key Key) (k *kit, why error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.o.Log.Error("arming panicked", "job", string(key.Job), "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
			k, why = nil, fmt.Errorf("a defect: %v", cause)
		}
	}()
	v, err := s.o.Verifier.Current(key.Job)
	if err != nil {
		return nil, err
	}
	if !v.Signed.Valid() || v.Identity != "" || v.Signed.Digest() != key.Op {
		return nil, fmt.Errorf("the op of the slot is not the one that is in force and verified")
	}
	x, err := s.o.Examiner.Examine(ctx, jobspec.PhaseTrigger, v)
	if err != nil {
		return nil, err
	}
	exam := &openExam{Examination: x}
	keep := false
	defer func() {
		if !keep {
			exam.Close()
		}
	}()
	if !exam.Decision().Allowed() {
		return nil, fmt.Errorf("refused: %s", reasonsOf(exam.Decision().Refusals())[0].Code)
	}
	a, err := exam.Prepare(ctx, id, 1)
	if err != nil {
		return nil, err
	}
	keep = true
	return &kit{v, exam, a}, nil
}

// dropAhead gives up what is built for a job before its slot: nothing was
// recorded of it, and the slot is as if it had not begun. The caller holds mu.
func (s *Scheduler) dropAhead(job jobspec.Name) {
	r := s.ahead[job]
	if r == nil {
		return
	}
	delete(s.ahead, job)
	s.abandon(r)
}

// abandon puts away what was built for a run that nobody drives. The caller holds
// mu.
func (s *Scheduler) abandon(r *run) {
	b := r.early
	if b == nil || b.abandoned {
		return
	}
	b.stop()
	b.abandoned = true // build discards what it still makes
	if b.ready {
		s.runs.Add(1)
		go func() {
			defer s.runs.Done()
			b.kit.discard()
		}()
	}
}

// dropAllAhead is dropAhead for every job.
func (s *Scheduler) dropAllAhead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for job := range s.ahead {
		s.dropAhead(job)
	}
}

// dropStale gives up what waits for longer than any slot is away: the clock was
// set back. A run that has claimed its slot already ends it with a refusal. The
// caller holds mu.
func (s *Scheduler) dropStale(boot time.Duration) {
	for job, r := range s.ahead {
		if boot-r.early.boot > armedTime {
			s.dropAhead(job)
		}
	}
	for _, r := range s.live {
		if r.stage == armed && boot-r.early.boot > armedTime && r.halt == nil {
			r.halt = &halt{code: jobspec.CodeClockHold}
			r.abort()
		}
	}
}

// claimAhead lets armed runs whose slots are near claim them, as far as there are
// seats and nobody waits for one. The caller holds mu.
func (s *Scheduler) claimAhead(now time.Time) {
	for job, r := range s.ahead {
		near := !now.Before(r.due.At.Add(-ClaimAhead)) && now.Before(r.due.At)
		if !near || !r.early.ready || r.early.kit == nil || !s.seats.free(r.how.share) || s.queue.wants(s.seats.free) || s.live[job] != nil {
			continue
		}
		if !s.table.Take(r.key, r.due.At) {
			s.dropAhead(job)
			continue
		}
		delete(s.ahead, job)
		ctx, abort := context.WithTimeoutCause(context.Background(), PrepareTime, errTooLong)
		r.stage, r.abort, r.claims = armed, abort, true
		s.live[job] = r
		s.sit(r)
		s.runs.Add(1)
		go s.drive(ctx, r)
	}
}

// openSlots lets go of those whose claimed slot has come, and lets those look whose
// slot is next. The caller holds mu.
func (s *Scheduler) openSlots(now time.Time) {
	ahead := s.lookAhead()
	var opened []*run
	defer func() {
		for _, r := range opened {
			r.crowd = len(opened)
			r.stage = preparing
			close(r.early.slot)
		}
	}()
	for _, r := range s.live {
		if r.stage != armed {
			continue
		}
		if !r.early.looking && !now.Before(r.due.At.Add(-ahead)) {
			r.early.looking = true
			close(r.early.look)
		}
		if !now.Before(r.due.At) {
			opened = append(opened, r)
		}
	}
}

// Where many runs are let go at one instant, those that are over first wait a moment
// before they are put on record: that takes more of a processor than a start does, and
// the last of them have yet to start.
const (
	fewRuns   = 4
	eachStart = 300 * time.Microsecond
	allStarts = 40 * time.Millisecond
)

// letOthersStart is that moment.
func (r *run) letOthersStart() {
	if r.crowd > fewRuns {
		time.Sleep(min(time.Duration(r.crowd)*eachStart, allStarts))
	}
}

// takeAhead is the run that was built for this very due, else nil. What was built
// for another is given up. The caller holds mu.
func (s *Scheduler) takeAhead(key Key, at time.Time) *run {
	r := s.ahead[key.Job]
	if r == nil {
		return nil
	}
	if r.key != key || !r.due.At.Equal(at) || !r.early.begun || r.early.ready && r.early.kit == nil {
		s.dropAhead(key.Job)
		return nil
	}
	delete(s.ahead, key.Job)
	return r
}

// wakeAhead is the next instant at which something is to be done before a slot,
// or at a claimed one; the zero time for none. The caller holds mu.
func (s *Scheduler) wakeAhead(now time.Time) time.Time {
	var at time.Time
	sooner := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	for _, r := range s.ahead {
		if claim := r.due.At.Add(-ClaimAhead); now.Before(claim) {
			sooner(claim)
		}
	}
	waiting, looks := len(s.ahead), s.lookAhead()
	for _, r := range s.live {
		if r.stage != armed {
			continue
		}
		waiting++
		sooner(r.due.At)
		if !r.early.looking {
			sooner(r.due.At.Add(-looks))
		}
	}
	if waiting > 0 {
		sooner(now.Add(armedTime)) // to notice a clock that was set back
	}
	if next, ok := s.table.After(now.Add(ArmAhead)); ok {
		sooner(next.Add(-ArmAhead))
	}
	return at
}
