package scheduler_test

import (
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/scheduler/schedulertest"
)

// lapping is a job with a word for overlap.
func (w *world) lapping(name, cron, overlap string) scheduler.Entry {
	w.t.Helper()
	return w.sign(name, &jobspec.Spec{Argv: []string{"/bin/true"}, Schedule: jobspec.Schedule{Cron: cron, Timezone: "UTC", Missed: "skip", Overlap: overlap}})
}

func TestAQueuedSlotRunsWhenTheRunBeforeItEndsAndTheNewestOnly(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:40Z", func(w *world) {
		e := w.lapping("q", "* * * * *", "queue")
		w.box.Payload = w.lasting(constant(130 * time.Second))
		w.jobs.Set(e)
		w.boot()
		w.passBy(20*time.Second, 15)
		w.want("started q 30T12:01", "skipped q 30T12:02 skipped overlap_skipped", "finished q 30T12:01 succeeded",
			"started q 30T12:03", "skipped q 30T12:04 skipped overlap_skipped", "finished q 30T12:03 succeeded", "started q 30T12:05")
		w.end()
		w.covered(e, w.clock.Now())
	})
}

func TestAQueuedSlotThatNothingWasWrittenOfIsTakenUpAfterACrash(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.lapping("q", "* * * * *", "queue")
		w.box.Payload = w.lasting(constant(time.Hour))
		w.jobs.Set(e)
		w.boot()
		w.pass(30 * time.Second)
		w.pass(time.Minute) // 12:02 waits
		w.ledger.CrashAfter(0)
		w.end()
		w.ledger.Repair()
		w.boot()
		w.want("started q 30T12:01", "lost q 30T12:01 lost lost_run", "started q 30T12:02")
		w.end()
		w.covered(e, w.clock.Now())
	})
}

func TestShutdownSkipsTheRunAndTheSlotThatWaitsInTheirOrder(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.lapping("q", "* * * * *", "queue")
		w.box.Payload = w.lasting(constant(time.Hour))
		w.jobs.Set(e)
		w.boot()
		w.pass(30 * time.Second)
		w.pass(time.Minute)
		w.end()
		w.want("started q 30T12:01", "finished q 30T12:01 killed shutdown", "skipped q 30T12:02 skipped shutdown")
		w.covered(e, w.clock.Now())
	})
}

func TestANewSlotReplacesTheRunThatIsNotOver(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.lapping("r", "*/5 * * * *", "replace")
		w.box.Payload = w.lasting(constant(7 * time.Minute))
		w.jobs.Set(e)
		w.boot()
		for range 23 {
			w.pass(30 * time.Second)
		}
		w.want("started r 30T12:05", "finished r 30T12:05 killed overlap_replaced", "started r 30T12:10")
		w.end()
		w.covered(e, w.clock.Now())
	})
}

func TestAReplacedRunThatIsSlowToEndIsFollowedByTheNewestSlotOnly(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.lapping("r", "* * * * *", "replace")
		w.box.Payload = func(p *schedulertest.Process) record.End {
			<-p.Canceled()
			a := w.clock.Alarm()
			defer a.Stop()
			a.Arm(w.clock.Now().Add(90 * time.Second))
			select {
			case <-a.C():
			case <-p.Killed():
			}
			return p.End(record.OutcomeKilled, p.Why())
		}
		w.jobs.Set(e)
		w.boot()
		for range 7 {
			w.pass(30 * time.Second)
		}
		w.want("started r 30T12:01", "skipped r 30T12:02 skipped overlap_skipped", "finished r 30T12:01 killed overlap_replaced", "started r 30T12:03")
		w.end()
		w.covered(e, w.clock.Now())
	})
}

// Overlap is asked of what lives, not of what was written: a run that an earlier
// service left behind is lost and blocks nothing.
func TestAStartThatNobodySawEndBlocksNoLaterSlot(t *testing.T) {
	for _, overlap := range []string{"skip", "queue", "replace"} {
		inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
			e := w.lapping("j", "* * * * *", overlap)
			w.box.Payload = w.lasting(constant(time.Hour))
			w.jobs.Set(e)
			w.boot()
			w.pass(30 * time.Second)
			w.ledger.CrashAfter(0)
			w.end()
			w.ledger.Repair()
			w.box.Payload = nil
			w.boot()
			w.pass(time.Minute)
			w.want("started j 30T12:01", "lost j 30T12:01 lost lost_run", "started j 30T12:02", "finished j 30T12:02 succeeded")
			w.covered(e, w.clock.Now())
		})
	}
}

func TestASlotThatWaitsCanBeCanceled(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.lapping("q", "* * * * *", "queue")
		w.box.Payload = w.lasting(constant(100 * time.Second))
		w.jobs.Set(e)
		w.boot()
		w.pass(30 * time.Second)
		w.pass(time.Minute)
		for _, r := range w.s.Running() {
			if r.State == "queued" {
				if err := w.s.Cancel(r.Run, record.Requester{UID: 7}); err != nil {
					t.Error(err)
				}
			}
		}
		w.pass(50 * time.Second)
		w.want("started q 30T12:01", "finished q 30T12:01 succeeded", "skipped q 30T12:02 skipped canceled")
		w.covered(e, w.clock.Now())
	})
}
