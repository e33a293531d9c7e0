package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// A job that is denied something run after run does not get better by itself,
// and each run may try something else. The breaker holds it: after BreakerRuns
// denied runs in sequence until an operator releases it, and the BreakerTrips-th
// time within BreakerWindow until its owner signs again.
const (
	BreakerRuns   = 3
	BreakerTrips  = 3
	BreakerWindow = 24 * time.Hour
)

// Breaker is what the ledger says of one job's denied runs. The zero value is
// that of a job that never ran. It is kept by one goroutine at a time.
type Breaker struct {
	op     jobspec.Digest
	denied int         // denied runs of op in sequence
	held   bool        // by the service, for that
	trips  []time.Time // when the service held the job for it, the last BreakerTrips
}

// Note takes one row about the job, in the order of the ledger.
func (b *Breaker) Note(l *record.Leaf) {
	switch {
	case l.Kind == record.Held && l.Slot == nil && l.Outcome == "" && HoldOf(l).Why == jobspec.CodeBreakerOpen:
		b.held = true
		b.trips = append(b.trips, record.ParseStamp(l.Time))
		b.trips = b.trips[max(0, len(b.trips)-BreakerTrips):]
	case l.Kind == record.Released && b.held:
		b.denied, b.held = 0, false // no other release says that an operator looked at it
	case l.Kind == record.Finished && l.Outcome != record.OutcomeRefused:
		b.denied = b.with(l.Op, l.Outcome, l.Denials)
		b.op = l.Op
	}
}

// with is the number of denied runs in sequence after one more run. A spec that
// was replaced begins anew; a run that never began says nothing. One that was
// ended from outside counts by what it was denied until then: who may cancel a
// run, or lets it go on until its time is over, ends no sequence by it.
func (b *Breaker) with(op jobspec.Digest, outcome record.Outcome, denials []record.Denial) int {
	before := b.denied
	if op != b.op {
		before = 0
	}
	switch {
	case outcome == record.OutcomeDenied, slices.ContainsFunc(denials, func(d record.Denial) bool { return !d.Expected }):
		return before + 1
	case outcome == record.OutcomeKilled:
		return before
	}
	return 0
}

// locked reports whether a hold that was taken at a time is one that only the
// owner's signature lifts.
func (b *Breaker) locked(at time.Time) bool {
	n := 0
	for _, t := range b.trips {
		if !t.Before(at.Add(-BreakerWindow)) {
			n++
		}
	}
	return n >= BreakerTrips
}

// breaker is the job's, made if need be. The caller holds mu.
func (s *Scheduler) breaker(job jobspec.Name) *Breaker {
	b := s.breakers[job]
	if b == nil {
		b = &Breaker{}
		s.breakers[job] = b
	}
	return b
}

// noteBreaker takes a row that is durable.
func (s *Scheduler) noteBreaker(l *record.Leaf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breaker(l.Job).Note(l)
}

// breakAfter holds the job of a run that was denied once too often. It comes
// before the run's final row, and so before the job's next start. An error is the
// ledger's, which ends the service's work by itself, or says that the job is held
// already.
func (s *Scheduler) breakAfter(r *run, end record.End) {
	s.mu.Lock()
	n := s.breaker(r.key.Job).with(r.key.Op, end.Outcome, end.Denials)
	s.mu.Unlock()
	if n < BreakerRuns {
		return
	}
	s.o.Log.Warn("a job is held", "job", string(r.key.Job), "run", r.id, "code", string(jobspec.CodeBreakerOpen), "denied", n)
	_ = s.holdSelf(r.key.Job, jobspec.CodeBreakerOpen, record.Reason{
		Code: jobspec.CodeBreakerOpen, Target: r.id, Detail: fmt.Sprintf("%d denied runs in sequence", n)})
}

// liftSigned releases the jobs that the breaker held and whose owner has signed
// since: who may approve a job may also say that it is repaired. The caller holds
// mu; the rows are to be written.
func (s *Scheduler) liftSigned(entries []Entry) []*record.Leaf {
	var rows []*record.Leaf
	for _, e := range entries {
		h, held := s.holds[e.Job]
		if !held || h.Why != jobspec.CodeBreakerOpen || !e.Until.IsZero() || !e.signed().After(h.At) {
			continue
		}
		row := s.rows.manual(record.Released, Key{e.Job, e.Op, e.Seq}, s.o.Origin.Self)
		s.breaker(e.Job).Note(row)
		delete(s.holds, e.Job)
		rows = append(rows, row)
	}
	return rows
}

// signed is when the owner last signed for the entry.
func (e Entry) signed() time.Time {
	if e.Signed.IsZero() {
		return e.Since
	}
	return e.Signed
}

// HoldOf reads a hold from its row.
func HoldOf(l *record.Leaf) Hold {
	h := Hold{At: record.ParseStamp(l.Time), Until: record.ParseStamp(l.Until)}
	if l.RequestedBy != nil {
		h.By = *l.RequestedBy
	}
	if len(l.Reasons) > 0 && l.Reasons[0].Code == jobspec.CodeBreakerOpen {
		h.Why = l.Reasons[0].Code // any other is for whoever releases the job
	}
	return h
}

// CauseCode is the reason that the slots of a held job get.
func (h Hold) CauseCode() jobspec.Code {
	if h.Why == "" {
		return jobspec.CodeJobHeld
	}
	return h.Why
}
