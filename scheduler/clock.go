package scheduler

import "time"

// Clock tells the time. Now is the wall clock, made honest where the service
// holds it against signed times; Boot is the time since the machine started,
// which nobody can set and which goes on while it sleeps.
type Clock interface {
	Now() time.Time
	Boot() time.Duration
}

// Awake is a Clock that can also tell the time that the machine did not sleep.
type Awake interface{ Awake() time.Duration }

// Wall is a Clock whose Now is made honest, and that can also tell what the wall
// clock shows.
type Wall interface{ Wall() time.Time }

// Alarm wakes the loop. It may ring early, never only late: whoever hears it
// looks at the clock.
type Alarm interface {
	// Arm sets the one instant to ring at, in place of the one before.
	Arm(at time.Time)
	// Ring rings at once, for anybody and without waiting. A ring that nobody has
	// heard yet stays, whatever is armed behind it.
	Ring()
	// Wait returns when it rings. One goroutine waits, the one that arms.
	Wait()
	// Stop ends it, when nobody waits any more.
	Stop()
}

// longestSleep bounds a sleep of the Timer. A Go timer counts time on a clock
// that stands still while the machine sleeps and that does not follow the wall
// clock when it is set (golang/go#35012), so the wall clock is looked at afresh
// at least this often.
const longestSleep = 30 * time.Second

// lateAfter is how long after a look one must have come by any alarm.
const lateAfter = time.Minute + jumpSeen

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now is the wall clock.
func (SystemClock) Now() time.Time { return time.Now() }

// Boot is the time since the machine started.
func (SystemClock) Boot() time.Duration { return sinceBoot() }

// Awake is Boot without the time that the machine slept.
func (SystemClock) Awake() time.Duration { return awakeSinceBoot() }

// Timer is an Alarm on a Go timer.
type Timer struct {
	clock Clock
	timer *time.Timer
	ring  chan struct{}
}

// NewTimer makes an alarm that follows the clock and is not armed.
func NewTimer(clock Clock) *Timer {
	t := &Timer{clock: clock, ring: make(chan struct{}, 1)}
	t.timer = time.AfterFunc(longestSleep, t.Ring)
	return t
}

// Ring never blocks: one ring that waits to be heard is enough.
func (t *Timer) Ring() {
	select {
	case t.ring <- struct{}{}:
	default:
	}
}

// Arm sets the next ring, at most 30 seconds away. The zero time stands for no
// instant and rings after those 30 seconds.
func (t *Timer) Arm(at time.Time) {
	sleep := longestSleep
	if !at.IsZero() {
		sleep = min(max(at.Sub(t.clock.Now()), 0), longestSleep)
	}
	t.timer.Reset(sleep)
}

// Wait returns when it rings.
func (t *Timer) Wait() { <-t.ring }

// Stop ends the timer.
func (t *Timer) Stop() { t.timer.Stop() }
