package engine

import (
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Whose word about the time counts for how much:
//
//   - A signed op, and the pin, which only who commits an op writes, are believed.
//   - The wall clock is believed as it was when the engine was opened, and wherever
//     the kernel says that it is synchronised. From there on it may be a day ahead of
//     the clock that nobody sets, and no more: a step beyond that is not followed, and
//     time goes on by that other clock until something vouches for the new one.
//   - The ledger's own lines move time ahead by a day at most beyond all that: a
//     forged last line must not expire every job, nor hold the service for years.
//
// Time never goes back behind what was believed once, so a clock that is set back
// lets no expired job run again.

// unvouched is how far a source that nobody vouches for may move time ahead.
const unvouched = 24 * time.Hour

// vouch notes that it was t at this moment, by the word of somebody who is
// believed. The caller holds mu.
func (e *Engine) vouch(t time.Time) {
	if base := t.Add(-e.sinceBoot()); base.After(e.base) {
		e.base = base
	}
}

// sinceBoot is the clock that nobody sets; it stands still where none is known.
func (e *Engine) sinceBoot() time.Duration {
	if e.Boot == nil {
		return 0
	}
	return e.Boot()
}

// farthest is how far an unsigned source may say that it is. The caller holds mu.
func (e *Engine) farthest() time.Time { return e.base.Add(e.sinceBoot() + unvouched) }

// raise notes a time that a believed source stated.
func (e *Engine) raise(t time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.vouch(t)
	if t.After(e.seen) {
		e.seen = t
	}
}

// raiseUnsigned notes a time that a line of the ledger states.
func (e *Engine) raiseUnsigned(t time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if far := e.farthest(); t.After(far) {
		t = far
	}
	if t.After(e.seen) {
		e.seen = t
	}
}

// wall is the wall clock where it is believed. Where it is not, time goes on by the
// clock that nobody sets, and ahead is by how much the wall clock is beyond that.
func (e *Engine) wall() (now time.Time, ahead time.Duration) {
	now = e.Clock()
	if e.Boot == nil {
		return now, 0 // a command, which looks once
	}
	e.mu.RLock()
	far := e.farthest()
	e.mu.RUnlock()
	if !now.After(far) {
		return now, 0
	}
	if e.Synchronised != nil && e.Synchronised() {
		e.mu.Lock()
		e.vouch(now)
		e.mu.Unlock()
		return now, 0
	}
	return far.Add(-unvouched), now.Sub(far.Add(-unvouched))
}

// Now is the effective time: the wall clock as far as it is believed, which never
// goes back behind what was stated before. So a clock set back un-expires nothing.
func (e *Engine) Now() time.Time {
	now, _ := e.wall()
	e.mu.RLock()
	defer e.mu.RUnlock()
	if now.Before(e.seen) {
		return e.seen
	}
	return now
}

// ClockHold reports whether the wall clock lies so far behind the highest time
// seen that nothing may be started by it.
func (e *Engine) ClockHold() bool {
	now := e.Clock()
	e.mu.RLock()
	defer e.mu.RUnlock()
	return now.Add(maxAhead).Before(e.seen)
}

// ClockDoubt says why nothing may come due by the wall clock, "" where it may.
func (e *Engine) ClockDoubt() (jobspec.Code, string) {
	if e.ClockHold() {
		return jobspec.CodeClockHold, "it shows " + e.Clock().UTC().Format(time.RFC3339) + ", and the highest time seen is " + e.Now().UTC().Format(time.RFC3339)
	}
	if now, ahead := e.wall(); ahead > 0 {
		return jobspec.CodeClockUntrusted, fmt.Sprintf("it shows %s, which is %s ahead of what is known, and the kernel does not say that it is synchronised",
			now.Add(ahead).UTC().Format(time.RFC3339), ahead.Round(time.Second))
	}
	return "", ""
}
