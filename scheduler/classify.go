package scheduler

import (
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Bounds of what counts as what. A wake that comes later than an alarm ever sleeps
// was late; a wall clock that is off by more than jumpSeen against the clock that
// nobody sets was set; one that was set by more than absurdStep is not believed
// where nothing vouches for it.
const (
	jumpSeen   = 5 * time.Second
	absurdStep = 24 * time.Hour
)

// Move is what the clocks did between two looks at them.
type Move uint8

// The moves. The zero value is the first look, of which nothing can be said.
const (
	MoveUnknown   Move = iota
	MoveNormal         // both clocks agree, and the wake was in time
	MoveLate           // both agree, and the loop was away for longer than it sleeps
	MoveSuspended      // both agree, and the machine slept
	MoveForward        // the wall clock was set ahead
	MoveBack           // the wall clock was set back
	MoveAbsurd         // the wall clock was set by more than a day, either way
)

// looks are the clocks at one wake.
type looks struct {
	wall  time.Time     // as it was set, also where it went back
	now   time.Time     // what counts
	boot  time.Duration // goes on while the machine sleeps
	awake time.Duration // stands still then; the same as boot where there is no such clock
}

// look reads the clocks.
func look(c Clock) looks {
	now := c.Now().Round(0)
	l := looks{wall: now, now: now, boot: c.Boot()}
	l.awake = l.boot
	if w, ok := c.(Wall); ok {
		l.wall = w.Wall().Round(0)
	}
	if a, ok := c.(Awake); ok {
		l.awake = a.Awake()
	}
	return l
}

// classify says what happened between two looks, and by how much: the size of a
// step, or how long the loop was away.
func classify(before, now looks) (Move, time.Duration) {
	if before.wall.IsZero() {
		return MoveUnknown, 0
	}
	passed := now.boot - before.boot
	step := now.wall.Sub(before.wall) - passed
	switch {
	case step > absurdStep || step < -absurdStep:
		return MoveAbsurd, step
	case step > jumpSeen:
		return MoveForward, step
	case step < -jumpSeen:
		return MoveBack, step
	case passed-(now.awake-before.awake) > jumpSeen:
		return MoveSuspended, passed - (now.awake - before.awake)
	case passed > lateAfter:
		return MoveLate, passed
	}
	return MoveNormal, passed
}

// stepped reports whether the wall clock was set.
func (m Move) stepped() bool { return m == MoveForward || m == MoveBack || m == MoveAbsurd }

// clockMoved is what the clocks did, in words; "" for what needs none.
func clockMoved(m Move, by time.Duration) string {
	span := by.Abs().Round(time.Second).String()
	switch {
	case m == MoveLate:
		return "the service looked at the clock no earlier, after " + span
	case m == MoveSuspended:
		return "the machine slept for " + span
	case m.stepped() && by > 0:
		return "the clock was set ahead by " + span
	case m.stepped():
		return "the clock was set back by " + span
	}
	return ""
}

// watchClock compares the wall clock with the one that nobody can set, at each
// wake, and gives the row that tells of a step: whoever asks why slots were missed
// must find it. The caller holds mu.
func (s *Scheduler) watchClock() (now looks, rows []*record.Leaf) {
	now = look(s.o.Clock)
	move, by := classify(s.lastLooks, now)
	s.lastLooks, s.moved = now, clockMoved(move, by)
	if s.moved != "" {
		s.o.Log.Warn("the clocks moved", "what", s.moved)
	}
	if move.stepped() && s.phase == serving {
		rows = append(rows, s.rows.clock(jobspec.CodeClockStepped, s.moved))
	}
	return now, append(rows, s.watchHold()...)
}

// clock is a row about the machine's clock. It belongs to no job.
func (w rows) clock(code jobspec.Code, detail string) *record.Leaf {
	l := w.base(record.Alert, Key{})
	l.Reasons = []record.Reason{{Code: code, Target: "clock", Detail: detail}}
	return bounded(l)
}

// notRunning says why slots from before the start of the service are missed.
const notRunning = "the service did not run"

// because says in a row of missed slots why nobody took them: the service was started
// after the last of them, or what the clocks did just before they were noticed.
func (s *Scheduler) because(row *record.Leaf) *record.Leaf {
	if len(row.Reasons) == 0 || row.Reasons[0].Detail != "" {
		return row
	}
	last := latest(record.ParseStamp(row.Scheduled), record.ParseStamp(row.Until))
	if row.Reasons[0].Detail = s.moved; s.moved == "" && last.Before(s.began) {
		row.Reasons[0].Detail = notRunning
	}
	return row
}

// String names the move.
func (m Move) String() string {
	names := [...]string{"unknown", "normal", "late", "suspend", "step forward", "step back", "absurd"}
	if int(m) >= len(names) {
		return fmt.Sprintf("move %d", m)
	}
	return names[m]
}
