package scheduler

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Catch-ups of one turn start a little apart: after a night down, what was missed
// by many jobs must not all begin in the same moment.
const (
	// CatchUpStep is the distance of two catch-ups.
	CatchUpStep = 250 * time.Millisecond
	// CatchUpSpread bounds how long the last of them waits for that reason.
	CatchUpSpread = 30 * time.Second
)

// catchUp makes one start of a turn in which slots were missed: the newest slot, if
// it may still start, and what lies before it is missed. It is for jobs whose
// schedule says missed = "once".
func (it *item) catchUp(turn Turn, from, now time.Time) Turn {
	last := turn.Missed.LastAt
	if n := len(turn.Dues); n > 0 {
		last = turn.Dues[n-1].At
	}
	until := last.Add(-time.Second)
	if late := now.Sub(last); late > it.how.deadline {
		until, turn.Dues = last, nil
	} else {
		due, ok := it.cal.Next(until)
		if !ok || !due.At.Equal(last) {
			return turn // cannot be: the calendar gave this instant a moment ago
		}
		turn.Dues, turn.CatchUp = turn.Dues[:0:0], late > MissedAfter
		turn.Dues = append(turn.Dues, due)
	}
	turn.Missed, _ = it.cal.Span(from, until)
	return turn
}

// spread gives the catch-ups of a turn, which come in the order of slot and name,
// their earliest starts by the clock that nobody sets.
func spread(catchUps []*run, boot time.Duration) {
	if len(catchUps) == 0 {
		return
	}
	step := min(CatchUpStep, CatchUpSpread/time.Duration(len(catchUps)))
	for i, r := range catchUps {
		r.notBefore = boot + time.Duration(i)*step
	}
}

// tooLate reports whether a run that has not begun is past its start deadline. The
// caller holds mu.
func (s *Scheduler) tooLate(r *run) bool {
	return len(r.due.Slots) > 0 && len(r.attempts) == 0 && r.how.deadline > 0 && s.o.Clock.Now().Sub(r.due.At) > r.how.deadline
}

// missedRun is the final row of a run whose start deadline passed while it waited.
func (w rows) missedRun(r *run) *record.Leaf {
	l := w.ofRun(record.Missed, record.OutcomeMissed, r)
	why := record.Reason{Code: jobspec.CodeCapacity, Detail: "its start deadline of " + r.how.deadline.String() + " passed while it waited for a seat"}
	if r.waited {
		why = record.Reason{Code: jobspec.CodeMissedSkipped, Detail: "its start deadline of " + r.how.deadline.String() + " passed while it waited for the run before it"}
	}
	l.Reasons = []record.Reason{why}
	return l
}
