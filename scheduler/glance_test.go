package scheduler_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
)

// short of the slot of 12:01 every look has been taken.
const short = 5 * time.Millisecond

// looks counts what is asked of the chain and the trust files from now on.
func (w *world) looks() *atomic.Int32 {
	var n atomic.Int32
	w.verify = func(job jobspec.Name) (scheduler.Verified, error) {
		n.Add(1)
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.signed[job], nil
	}
	return &n
}

func TestTheLastLookIsTakenShortlyBeforeTheSlot(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.job("m", "1 12 * * *", "UTC")
		w.jobs.Set(e)
		w.boot()
		w.pass(toArming)
		w.pass(toClaim)
		looks := w.looks()
		w.pass(toSlot - short - scheduler.LookAhead)
		if looks.Load() != 0 {
			t.Errorf("looked %d times too early", looks.Load())
		}
		w.pass(scheduler.LookAhead)
		if looks.Load() != 1 || len(w.box.Released()) != 0 {
			t.Errorf("looked %d times, released %q", looks.Load(), w.box.Released())
		}
		w.pass(short)
		w.want("claimed m 30T12:01", "finished m 30T12:01 succeeded")
		if f := w.ledger.Rows()[1]; looks.Load() != 1 || f.StartedAt != f.Scheduled {
			t.Errorf("looked %d times, started at %s for %s", looks.Load(), f.StartedAt, f.Scheduled)
		}
		w.covered(e, w.clock.Now())
	})
}

// What happens between look and slot: by itself each of these is the change of one
// file, or of the chain, and nobody tells the scheduler.
func TestWhatChangesBetweenLookAndSlotIsObeyed(t *testing.T) {
	for name, c := range between {
		if name == "files swapped" || name == "files touched" {
			continue // see TestWhatWasHashedRunsWhenItIsSwappedAfterTheLook
		}
		t.Run(name, func(t *testing.T) {
			inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
				w.jobs.Set(w.job("m", "1 12 * * *", "UTC"))
				w.boot()
				w.pass(toArming)
				w.pass(toClaim)
				w.pass(toSlot - short)
				c.do(w)
				w.marks.Add(1)
				w.pass(short)
				want := []string{"claimed m 30T12:01"}
				if name == "held" {
					want = append(want, "held m")
				}
				w.want(append(want, c.claimed)...)
				if got := len(w.box.Released()); got != c.released {
					t.Errorf("%d payloads", got)
				}
			})
		})
	}
}

func TestWhatWasHashedRunsWhenItIsSwappedAfterTheLook(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		prepared := w.countPrepared()
		w.jobs.Set(w.job("m", "1 12 * * *", "UTC"))
		w.boot()
		w.pass(toArming)
		w.pass(toClaim)
		w.pass(toSlot - short)
		between["files swapped"].do(w)
		w.pass(short)
		w.want("claimed m 30T12:01", "finished m 30T12:01 succeeded")
		if prepared.Load() != 1 {
			t.Errorf("prepared %d times", prepared.Load())
		}
	})
}

// A look that says no, or cannot be relied on, is taken again at the slot.
func TestALookThatDoesNotStandIsTakenAgainAtTheSlot(t *testing.T) {
	for name, c := range map[string]struct {
		before, after func(w *world)
		looks         int32
		want          string
	}{
		"no change can be told from none": {func(w *world) { w.blind = true }, func(*world) {}, 1, "finished m 30T12:01 succeeded"},
		"nor at the slot":                 {func(*world) {}, func(w *world) { w.blind = true }, 2, "finished m 30T12:01 succeeded"},
		"trust changed":                   {func(*world) {}, func(w *world) { w.marks.Add(1) }, 2, "finished m 30T12:01 succeeded"},
		"the slot comes late": {func(*world) {}, func(w *world) {
			w.clock.Set(parseTime("2026-11-30T12:00:59Z"))
			w.pass(500 * time.Millisecond)
			w.pass(500*time.Millisecond - short)
		}, 2, "finished m 30T12:01 succeeded"},
		"the clock was set ahead": {func(*world) {}, func(w *world) { w.clock.Set(parseTime("2026-11-30T12:01:20Z")) }, 2, "finished m 30T12:01 succeeded"},
		"denied before, allowed at the slot": {func(w *world) { w.box.Again = deniedBy("another policy") },
			func(w *world) { w.box.Again = nil }, 2, "finished m 30T12:01 succeeded"},
		"denied before, denied at the slot": {func(w *world) { w.box.Again = deniedBy("another policy") },
			func(*world) {}, 2, "refused m 30T12:01 refused cmd_denied_rule"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
				e := w.job("m", "1 12 * * *", "UTC")
				w.jobs.Set(e)
				w.boot()
				w.pass(toArming)
				w.pass(toClaim)
				looks := w.looks()
				c.before(w)
				w.pass(toSlot - short)
				w.want("claimed m 30T12:01")
				c.after(w)
				w.pass(short)
				w.must(w.s.Reload()) // an alarm of the machine rings when the clock is set
				synctest.Wait()
				w.want("claimed m 30T12:01", c.want)
				if looks.Load() != c.looks {
					t.Errorf("looked %d times, want %d", looks.Load(), c.looks)
				}
				w.covered(e, w.clock.Now())
			})
		})
	}
}

func deniedBy(what string) func(jobspec.Name) []jobspec.Check {
	return func(jobspec.Name) []jobspec.Check {
		return []jobspec.Check{{Step: "command", Verdict: "no", Code: jobspec.CodeCmdDeniedRule, Detail: what}}
	}
}

func parseTime(s string) time.Time {
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return at
}

// The look of each is taken before the slot, however many there are: what is left
// at the slot is one write each.
func TestManyLookBeforeTheirSlot(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.maxParallel = 100
		var all []scheduler.Entry
		for i := range 100 {
			all = append(all, w.job(fmt.Sprintf("m%d", i), "1 12 * * *", "UTC"))
		}
		w.jobs.Set(all...)
		w.boot()
		w.pass(toArming)
		w.pass(toClaim)
		looks := w.looks()
		w.pass(toSlot - scheduler.LookAhead)
		if looks.Load() != 100 {
			t.Errorf("%d looks", looks.Load())
		}
		w.must(w.s.Hold("m7", record.Requester{UID: 7}, scheduler.Remark{}))
		w.pass(scheduler.LookAhead)
		if got := w.box.Released(); len(got) != 99 || looks.Load() != 100 {
			t.Errorf("released %d, %d looks", len(got), looks.Load())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for _, e := range all {
			w.covered(e, w.clock.Now())
		}
	})
}
