package scheduler_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
)

func TestAHoldEndsByItselfAndTheSlotOfThatInstantRuns(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.job("j", "*/5 * * * *", "UTC")
		w.jobs.Set(e)
		w.boot()
		if err := w.s.HoldUntil("j", record.Requester{UID: 7}, scheduler.Remark{}, parse(t, "2026-11-30T12:10:00Z")); err != nil {
			t.Fatal(err)
		}
		w.passBy(30*time.Second, 20)
		w.want("held j", "held j 30T12:05 held job_held", "released j", "started j 30T12:10", "finished j 30T12:10 succeeded")
		if l := w.ledger.Rows()[2]; l.RequestedBy == nil || *l.RequestedBy != (record.Requester{}) || l.Until != "2026-11-30T12:10:00Z" {
			t.Errorf("%+v", l)
		}
		w.covered(e, w.clock.Now())
	})
}

func TestAHoldWithAnEndOutlivesTheServiceAndNoClockMakesItLonger(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.job("j", "*/5 * * * *", "UTC")
		w.jobs.Set(e)
		w.boot()
		if err := w.s.HoldUntil("j", record.Requester{UID: 7}, scheduler.Remark{}, parse(t, "2026-11-30T12:30:00Z")); err != nil {
			t.Fatal(err)
		}
		w.end()
		w.pass(4 * time.Minute)
		w.boot()
		if h := w.s.Holds()["j"]; !h.Until.Equal(parse(t, "2026-11-30T12:30:00Z")) {
			t.Fatalf("%+v", h)
		}
		w.clock.Set(parse(t, "2026-11-29T12:00:00Z")) // a day back
		synctest.Wait()
		later := func(minutes int) { // an alarm wakes every 30 seconds at the latest
			for range minutes {
				w.pass(time.Minute)
				if err := w.s.Reload(); err != nil {
					t.Fatal(err)
				}
			}
		}
		later(25)
		if len(w.s.Holds()) != 1 {
			t.Error("the hold ended early")
		}
		later(1)
		if len(w.s.Holds()) != 0 {
			t.Error("the clock made the hold longer")
		}
	})
}

func TestAHoldThatWouldBeOverIsRefused(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.boot()
		if err := w.s.HoldUntil("j", record.Requester{UID: 7}, scheduler.Remark{}, w.clock.Now()); err == nil {
			t.Error("a hold until now is taken")
		}
		w.want()
	})
}
