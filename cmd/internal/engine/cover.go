package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/store"
)

// What is over, of a job's slots, is read from files that anybody can change who
// can write STATE. A line that we wrote covers slots that have come, or claims one
// a moment before. One about the far future would keep a job from running in
// silence: it is told, and past the bound that also holds for the clock it is not
// believed. Nearer ones are: a clock that is set back in the moment of a start
// makes such lines, and no slot may start twice.

// LastCovered is the last slot of a job and op that any line covers.
func (e *Engine) LastCovered(job jobspec.Name, op jobspec.Digest) (jobspec.Slot, time.Time, bool, error) {
	c, ok, err := e.runs.LastSlot(job, op)
	if err != nil {
		return c.Slot, c.At, ok, err
	}
	return e.believed(job, op, c, ok)
}

// Covered is LastCovered of many: what it gives answers from the lines that are there
// when it is called.
func (e *Engine) Covered() (scheduler.CoveredBy, error) {
	all, err := e.runs.LastSlots()
	if err != nil {
		return nil, err
	}
	return func(job jobspec.Name, op jobspec.Digest) (jobspec.Slot, time.Time, bool, error) {
		c, ok := all.Last(job, op)
		return e.believed(job, op, c, ok)
	}, nil
}

// believed takes what the index says where it can be.
func (e *Engine) believed(job jobspec.Name, op jobspec.Digest, c store.Covered, ok bool) (_ jobspec.Slot, _ time.Time, _ bool, err error) {
	if !ok {
		e.doubt(job, false, c.At)
		return c.Slot, c.At, false, nil
	}
	now := e.Now()
	early := c.At.After(now.Add(2 * scheduler.ClaimAhead))
	e.doubt(job, early, c.At)
	if early && tooEarly(c.At, now) {
		c, ok, err = e.coveredSoFar(job, op, now)
	}
	return c.Slot, c.At, ok, err
}

// tooEarly reports whether nothing of ours covers a slot of that instant yet.
func tooEarly(slot, now time.Time) bool { return slot.After(now.Add(maxAhead)) }

// coveredSoFar reads the last slot that can be believed from the ledger itself.
func (e *Engine) coveredSoFar(job jobspec.Name, op jobspec.Digest, now time.Time) (last store.Covered, ok bool, err error) {
	err = e.history.Scan(0, func(l store.Leaf) error {
		if l.Job != job || l.Op != op {
			return nil
		}
		if c, covers := store.CoveredBy(l.Leaf); covers && !tooEarly(c.At, now) && c.Beyond(last) {
			last, ok = c, true
		}
		return nil
	})
	return last, ok, err
}

// doubt keeps, for status, what the record says that cannot be.
func (e *Engine) doubt(job jobspec.Name, early bool, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !early {
		delete(e.doubts, job)
		return
	}
	if e.doubts == nil {
		e.doubts = map[jobspec.Name]string{}
	}
	e.doubts[job] = fmt.Sprintf("the record says that its slots are over up to %s, which has not come yet", at.UTC().Format(time.RFC3339))
}

// doubtful lists the doubts as problems.
func (e *Engine) doubtful() []api.Reason {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var all []api.Reason
	for _, job := range slices.Sorted(maps.Keys(e.doubts)) {
		all = append(all, api.Reason{Code: jobspec.CodeStoreCorrupt, Target: string(job), Detail: e.doubts[job], Remedy: jobspec.CodeStoreCorrupt.Remedy()})
	}
	return all
}
