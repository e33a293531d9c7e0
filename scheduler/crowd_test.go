package scheduler_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/scheduler/schedulertest"
)

// Ten thousand jobs that are due at one instant wait in a line, not in goroutines,
// and start in its order.
func TestManyDueAtOnceAreDrainedInOrder(t *testing.T) {
	const jobs = 10_000
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.maxParallel = 1
		var most atomic.Int64
		w.box.Payload = func(*schedulertest.Process) record.End {
			if n := int64(runtime.NumGoroutine()); n > most.Load() {
				most.Store(n)
			}
			return record.End{Outcome: record.OutcomeSucceeded, Exited: true}
		}
		one := w.job("signed", "1 12 * * *", "UTC")
		signed := w.signed["signed"]
		w.verify = func(jobspec.Name) (scheduler.Verified, error) { return signed, nil } // one signature speaks for all
		var all []scheduler.Entry
		for i := range jobs {
			e := one
			e.Job = jobspec.Name(fmt.Sprintf("job-%05d", (i*7919)%jobs))
			all = append(all, e)
		}
		w.jobs.Set(all...)
		w.boot()
		w.pass(30 * time.Second)
		for range 20 {
			w.pass(time.Second)
		}
		var started []string
		ended := 0
		for _, l := range w.ledger.Rows() {
			switch {
			case l.Kind == record.Started || l.Kind == record.Claimed:
				started = append(started, string(l.Job))
			case l.Final() && l.Slot != nil:
				ended++
			}
		}
		if len(started) != jobs || ended != jobs || !slices.IsSorted(started) {
			t.Errorf("%d started, %d ended, in order %v", len(started), ended, slices.IsSorted(started))
		}
		if n := most.Load(); n == 0 || n > 100 {
			t.Errorf("%d goroutines at one time", n)
		}
	})
}
