package scheduler_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/scheduler/schedulertest"
)

// outcomes makes the world's runs end with these outcomes, then denied for ever.
func (w *world) outcomes(list ...record.Outcome) {
	w.box.Payload = func(p *schedulertest.Process) record.End {
		o := record.OutcomeDenied
		if len(list) > 0 {
			o, list = list[0], list[1:]
		}
		return p.End(o)
	}
}

// minutely boots a world with one job that is due each minute and only denied.
func (w *world) minutely() scheduler.Entry {
	w.t.Helper()
	e := w.job("asks", "* * * * *", "UTC")
	w.jobs.Set(e)
	w.boot()
	return e
}

func (w *world) minutes(n int) {
	for range n {
		w.pass(time.Minute)
	}
}

func TestThreeDeniedRunsInSequenceHoldTheJob(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.outcomes(record.OutcomeDenied, record.OutcomeDenied, record.OutcomeFailed)
		e := w.minutely()
		w.minutes(7)
		w.want("started asks 30T12:01", "finished asks 30T12:01 denied", "started asks 30T12:02", "finished asks 30T12:02 denied",
			"started asks 30T12:03", "finished asks 30T12:03 failed", // which ends the sequence
			"started asks 30T12:04", "finished asks 30T12:04 denied", "started asks 30T12:05", "finished asks 30T12:05 denied",
			"started asks 30T12:06", "held asks breaker_open", "finished asks 30T12:06 denied", "held asks 30T12:07 held breaker_open")
		h, held := w.s.Holds()["asks"]
		if !held || h.Why != jobspec.CodeBreakerOpen {
			t.Errorf("hold is %+v", h)
		}
		w.covered(e, w.clock.Now())
		if err := w.s.Release("asks", operator); err != nil {
			t.Fatal(err)
		}
		w.minutes(2)
		if _, held := w.s.Holds()["asks"]; held {
			t.Error("held again after two denied runs: a release begins a new sequence")
		}
	})
}

// trip lets the job be denied until the breaker holds it.
func (w *world) trip() {
	w.t.Helper()
	w.minutes(scheduler.BreakerRuns)
	if _, held := w.s.Holds()["asks"]; !held {
		w.t.Fatalf("not held after %d denied runs: %q", scheduler.BreakerRuns, w.rows())
	}
}

func (w *world) release() error { return w.s.Release("asks", operator) }

func TestAfterTheThirdHoldInADayOnlyASignatureLiftsIt(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.outcomes()
		e := w.minutely()
		for range scheduler.BreakerTrips - 1 {
			w.trip()
			if err := w.release(); err != nil {
				t.Fatal(err)
			}
		}
		w.trip()
		refused := func(when string) {
			t.Helper()
			var no *scheduler.Refusal
			if err := w.release(); !errors.As(err, &no) || no.Reason.Code != jobspec.CodeBreakerLocked || no.Reason.Code.Remedy() == "" {
				t.Errorf("%s: %v", when, err)
			}
		}
		refused("at once")
		if err := w.end(); err != nil {
			t.Fatal(err)
		}
		w.boot() // what is known comes from the ledger alone
		refused("after a restart")
		w.pass(72 * time.Hour)
		refused("days later: the hold is the one that was taken then")

		e.Signed = w.clock.Now()
		w.jobs.Set(e)
		if err := w.s.Reload(); err != nil {
			t.Fatal(err)
		}
		if _, held := w.s.Holds()["asks"]; held {
			t.Error("held after its owner signed again")
		}
		w.minutes(2)
		if _, held := w.s.Holds()["asks"]; held {
			t.Error("a signature begins a new sequence")
		}
	})
}

func TestHoldsOfDifferentDaysCanBeReleased(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.outcomes()
		w.minutely()
		for range 2 * scheduler.BreakerTrips {
			w.trip()
			w.pass(13 * time.Hour)
			if err := w.release(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestASequenceGoesOnOverARestartAndEndsWithAnotherSpec(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.outcomes()
		w.minutely()
		w.minutes(2)
		if err := w.end(); err != nil {
			t.Fatal(err)
		}
		w.boot()
		w.minutes(1)
		if _, held := w.s.Holds()["asks"]; !held {
			t.Errorf("a restart forgot two denied runs: %q", w.rows())
		}
		if err := w.release(); err != nil {
			t.Fatal(err)
		}
		w.minutes(2)
		w.jobs.Set(w.job("asks", "* * * * *", "Europe/Berlin"))
		if err := w.s.Reload(); err != nil {
			t.Fatal(err)
		}
		w.minutes(2)
		if _, held := w.s.Holds()["asks"]; held {
			t.Errorf("denied runs of the old spec count against the new one: %q", w.rows())
		}
	})
}

func TestASignatureDoesNotLiftAnOperatorsHold(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.minutely()
		if err := w.s.Hold("asks", operator, scheduler.Remark{}); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		e.Signed = w.clock.Now()
		w.jobs.Set(e)
		if err := w.s.Reload(); err != nil {
			t.Fatal(err)
		}
		if _, held := w.s.Holds()["asks"]; !held {
			t.Error("an owner lifted an operator's hold")
		}
	})
}
