package schedulertest

import (
	"slices"
	"sync"
	"time"
)

// Clock is a clock that stands still until it is moved. It is safe for use by
// several goroutines.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	boot   time.Duration
	alarms []*Alarm
}

// NewClock makes a clock that shows the given time.
func NewClock(now time.Time) *Clock { return &Clock{now: now, boot: time.Hour} }

// Now is the time shown.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Boot is the time since the machine started, as the clock was advanced.
func (c *Clock) Boot() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.boot
}

// Advance lets time pass, and rings the alarms that are due at its end.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boot += d
	c.set(c.now.Add(d))
}

// Set changes the wall clock alone, as date(1) does, and rings every alarm, as a
// timer of the kernel does that is canceled when the clock is set.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.alarms {
		if !a.at.IsZero() {
			a.at = now
		}
	}
	c.set(now)
}

func (c *Clock) set(now time.Time) {
	c.now = now
	for _, a := range c.alarms {
		a.look()
	}
}

// Alarm makes an alarm on this clock, which is not armed.
func (c *Clock) Alarm() *Alarm {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &Alarm{clock: c, ring: make(chan struct{}, 1)}
	c.alarms = append(c.alarms, a)
	return a
}

// Alarm rings when its clock is moved to its instant or past it.
type Alarm struct {
	clock *Clock
	at    time.Time // guarded by the clock
	ring  chan struct{}
}

// Arm sets the instant; the zero time disarms.
func (a *Alarm) Arm(at time.Time) {
	a.clock.mu.Lock()
	defer a.clock.mu.Unlock()
	a.at = at
	if !slices.Contains(a.clock.alarms, a) {
		a.clock.alarms = append(a.clock.alarms, a)
	}
	a.look()
}

// look rings once for an instant that has come.
func (a *Alarm) look() {
	if a.at.IsZero() || a.at.After(a.clock.now) {
		return
	}
	a.at = time.Time{}
	a.Ring()
}

// Ring rings at once.
func (a *Alarm) Ring() {
	select {
	case a.ring <- struct{}{}:
	default:
	}
}

// Wait returns when it rings.
func (a *Alarm) Wait() { <-a.ring }

// C rings, for whoever waits for other things too.
func (a *Alarm) C() <-chan struct{} { return a.ring }

// Stop disarms, and lets the clock forget the alarm until it is armed again.
func (a *Alarm) Stop() {
	a.clock.mu.Lock()
	defer a.clock.mu.Unlock()
	a.at = time.Time{}
	a.clock.alarms = slices.DeleteFunc(a.clock.alarms, func(b *Alarm) bool { return a == b })
}

// Next is the earliest instant that an alarm is set to, zero for none.
func (c *Clock) Next() (at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.alarms {
		if !a.at.IsZero() && (at.IsZero() || a.at.Before(at)) {
			at = a.at
		}
	}
	return at
}
