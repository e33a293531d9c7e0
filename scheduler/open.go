package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// Problem is why a job that is in force cannot become due.
type Problem struct {
	Job    jobspec.Name
	Code   jobspec.Code
	Detail string
}

// open accounts for what happened before: starts that nobody saw end are lost,
// and what was due while the service was off is missed.
func (s *Scheduler) open() error {
	holds, err := s.o.History.Holds()
	if err != nil {
		return fmt.Errorf("read holds: %w", err)
	}
	breakers, err := s.o.History.Breakers()
	if err != nil {
		return fmt.Errorf("read denied runs: %w", err)
	}
	began, err := s.o.History.OpenRuns()
	if err != nil {
		return fmt.Errorf("read open runs: %w", err)
	}
	var lost []*record.Leaf
	for _, started := range began {
		lost = append(lost, s.rows.lostAtStart(started))
	}
	if err := s.write(lost...); err != nil {
		return err
	}
	s.mu.Lock()
	s.began = s.o.Clock.Now()
	for job, h := range holds {
		s.holds[job] = h.bound(s.o.Clock.Now(), s.o.Clock.Boot())
	}
	maps.Copy(s.breakers, breakers)
	s.mu.Unlock()
	if err := s.load(true); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == opening {
		s.phase = serving
	}
	return nil
}

// Reload takes over a chain that has changed. Jobs that did not change keep
// their place; running jobs run on. Whoever changes the chain calls it.
func (s *Scheduler) Reload() error { return s.load(false) }

func (s *Scheduler) load(first bool) error {
	s.reload.Lock()
	defer s.reload.Unlock()
	changes, err := s.changes(first)
	if err != nil {
		return fmt.Errorf("read jobs: %w", err)
	}
	sortEntries(changes.Entries)
	s.turn.Lock()
	defer s.turn.Unlock()
	s.tickLocked() // what is due under the old chain comes first
	rows, err := s.change(changes, first)
	if err != nil {
		return err
	}
	s.ops = changes.Ops
	s.nudge()
	return s.write(rows...)
}

// changes reads the whole chain at a start, and then what is new in it.
func (s *Scheduler) changes(first bool) (c Changes, err error) {
	if !first {
		return s.o.Jobs.Since(s.ops)
	}
	c.Entries, c.Ops, err = s.o.Jobs.Entries()
	return c, err
}

// change brings the table in line with the entries.
func (s *Scheduler) change(c Changes, first bool) ([]*record.Leaf, error) {
	var rows []*record.Leaf
	covered := s.o.History.LastCovered
	if first {
		var err error
		if covered, err = s.o.History.Covered(); err != nil {
			return nil, fmt.Errorf("read the last slots: %w", err)
		}
		s.mu.Lock()
		s.table.Expect(len(c.Entries))
		s.mu.Unlock()
	}
	for _, e := range c.Entries {
		if !first && (!e.Until.IsZero() || s.unchanged(e)) {
			continue
		}
		more, err := s.admit(e, covered)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retire(c, first)
	s.seats.sharing = s.table.principals()
	s.overtake(c)
	return append(rows, s.liftSigned(c.Entries)...), nil
}

// retire lets go of the jobs that are not in force any more. The caller holds mu.
func (s *Scheduler) retire(c Changes, first bool) {
	for _, job := range c.Gone {
		s.table.Delete(job)
		delete(s.problems, job)
	}
	if !c.All && !(first && len(s.problems) > 0) {
		return
	}
	inForce := c.inForce()
	for _, job := range s.table.Jobs() {
		if _, ok := inForce[job]; !ok {
			s.table.Delete(job)
		}
	}
	for job := range s.problems {
		if _, ok := inForce[job]; !ok {
			delete(s.problems, job)
		}
	}
}

// inForce are the specs in force among the changes, by job.
func (c Changes) inForce() map[jobspec.Name]Key {
	all := make(map[jobspec.Name]Key, len(c.Entries))
	for _, e := range c.Entries {
		if e.Until.IsZero() {
			all[e.Job] = Key{e.Job, e.Op, e.Seq}
		}
	}
	return all
}

// overtake halts what is being prepared from a spec that is not in force any
// more: whoever was told that a job is removed, disabled or replaced does not
// see the old one start. What has started runs on. The caller holds mu.
func (s *Scheduler) overtake(c Changes) {
	if len(s.live) == 0 && len(s.ahead) == 0 {
		return
	}
	inForce, gone := c.inForce(), map[jobspec.Name]bool{}
	for _, job := range c.Gone {
		gone[job] = true
	}
	over := func(key Key) bool {
		now, named := inForce[key.Job]
		return named && now != key || gone[key.Job] || !named && c.All
	}
	for _, r := range s.live {
		if (r.stage == preparing || r.stage == armed) && !r.claimed && over(r.key) {
			if r.halt == nil {
				r.halt = &halt{code: jobspec.CodeHeadMoved}
			}
			if r.abort != nil {
				r.abort()
			}
		}
	}
	for job, r := range s.ahead {
		if over(r.key) {
			s.dropAhead(job)
		}
	}
}

func (s *Scheduler) unchanged(e Entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A spec that was put in force again keeps its next due: the tick before
	// accounted for everything up to now, in rows or in a run that waits.
	return s.table.Confirm(e)
}

// admit takes one entry in, or, for one that has ceased, the slots up to its
// end. What goes wrong with one job's schedule is that job's problem.
func (s *Scheduler) admit(e Entry, last CoveredBy) ([]*record.Leaf, error) {
	slot, scheduled, covered, err := last(e.Job, e.Op)
	if err != nil {
		return nil, fmt.Errorf("read the last slot of job %q: %w", e.Job, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !covered && e.Until.IsZero() { // it needs no look before it stands in the table
		s.seat(e, s.afterLive(e, e.from()))
		return nil, nil
	}
	cal, err := s.table.calendar(e)
	if err != nil {
		s.table.Delete(e.Job)
		s.report(e.Job, err)
		return nil, nil
	}
	var rows []*record.Leaf
	key := Key{e.Job, e.Op, e.Seq}
	after := e.from()
	if covered {
		r, err := cal.Resume(slot)
		if err != nil {
			s.report(e.Job, err)
			return nil, nil
		}
		if len(r.Rest) > 0 {
			rows = append(rows, s.rows.coalesced(key, r.Rest, r.At))
		}
		after = latest(after, scheduled, r.After)
	}
	after = s.afterLive(e, after)
	if !e.Until.IsZero() {
		return append(rows, s.untilEnd(key, cal, after, e.Until)...), nil
	}
	s.seat(e, after)
	return rows, nil
}

// from is the instant after which the entry's slots are due: those up to Since are not,
// whenever they would start.
func (e Entry) from() time.Time { return e.Since.Add(calendar.Jitter(e.Schedule, e.Op)) }

// afterLive is not before the slot of a run whose row may not be durable yet. The
// caller holds mu.
func (s *Scheduler) afterLive(e Entry, after time.Time) time.Time {
	if r := s.live[e.Job]; r != nil && len(r.due.Slots) > 0 && r.key == (Key{e.Job, e.Op, e.Seq}) {
		return latest(after, r.due.At)
	}
	return after
}

// seat puts an entry into the table. The caller holds mu.
func (s *Scheduler) seat(e Entry, after time.Time) {
	if err := s.table.Set(e, after); err != nil {
		s.report(e.Job, err)
		return
	}
	delete(s.problems, e.Job)
}

func (s *Scheduler) untilEnd(key Key, cal *calendar.Calendar, after, until time.Time) []*record.Leaf {
	span, ok := cal.Span(after, until)
	if !ok {
		return nil
	}
	return []*record.Leaf{s.because(s.rows.missed(key, span))}
}

// report keeps a job's problem for status. The caller holds mu.
func (s *Scheduler) report(job jobspec.Name, err error) {
	r := reasonOf(err, jobspec.CodeScheduleInvalid)
	s.problems[job] = Problem{Job: job, Code: r.Code, Detail: err.Error()}
	s.o.Log.Error("a job cannot become due", "job", string(job), "code", string(r.Code), "cause", err.Error())
}

func latest(times ...time.Time) time.Time {
	return slices.MaxFunc(times, time.Time.Compare)
}
