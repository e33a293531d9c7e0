package scheduler_test

import (
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

func (w *world) scheduled(name string, s jobspec.Schedule) scheduler.Entry {
	w.t.Helper()
	s.Timezone, s.Missed, s.Overlap = "UTC", "skip", "skip"
	return w.sign(name, &jobspec.Spec{Argv: []string{"/bin/true"}, Schedule: s})
}

func (w *world) oneShot() scheduler.Entry {
	return w.scheduled("once", jobspec.Schedule{At: jobspec.InstantOf(parse(w.t, "2026-11-30T12:01:30Z"))})
}

func TestAOneShotRunsOnceThroughRestartsAndReloads(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.jobs.Set(w.oneShot())
		w.boot()
		w.pass(59 * time.Second)
		w.want()
		w.pass(time.Second)
		for range 3 {
			if err := w.s.Reload(); err != nil {
				t.Fatal(err)
			}
			w.pass(time.Minute)
			w.end()
			w.boot()
		}
		if at, ok := w.s.NextOf("once"); ok {
			t.Errorf("due again at %s", at)
		}
		if p := w.s.Problems(); len(p) != 0 {
			t.Errorf("a job that is done is a problem: %+v", p)
		}
		w.want("started once 30T12:01", "finished once 30T12:01 succeeded")
	})
}

// Between due and its first durable row a reload must not put it in again.
func TestAReloadDoesNotRepeatAOneShotThatIsAboutToStart(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.maxParallel = 1
		w.box.Payload = w.lasting(constant(5 * time.Minute))
		w.jobs.Set(w.job("long", "1 12 * * *", "UTC"), w.oneShot())
		w.boot()
		w.pass(30 * time.Second) // the long one has the only seat
		w.pass(30 * time.Second) // the one-shot waits
		for range 3 {
			if err := w.s.Reload(); err != nil {
				t.Fatal(err)
			}
		}
		for range 12 {
			w.pass(time.Minute)
		}
		if n := w.starts("once"); n != 1 {
			t.Errorf("%d starts: %q", n, w.rows())
		}
	})
}

func TestAOneShotThatTheServiceSleptThroughIsMissedOnce(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.jobs.Set(w.oneShot())
		w.boot()
		w.end()
		w.clock.Advance(time.Hour)
		for range 2 {
			w.boot()
			w.pass(time.Minute)
			w.end()
		}
		w.want("missed once 30T12:01 missed missed_skipped")
	})
}

func TestJitterStartsASlotLaterAndCoversItOnce(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.scheduled("j", jobspec.Schedule{Cron: "*/5 * * * *", JitterSeconds: 240})
		by := calendar.Jitter(e.Schedule, e.Op)
		if by == 0 {
			t.Fatal("this op has no shift; the test needs another")
		}
		w.jobs.Set(e)
		w.boot()
		w.clock.Set(parse(t, "2026-11-30T12:05:00Z").Add(by - time.Second))
		w.pass(0)
		w.want()
		w.pass(time.Second)
		w.want("started j 30T12:05", "finished j 30T12:05 succeeded")
		w.end()
		w.clock.Advance(time.Hour)
		w.boot()
		w.pass(5 * time.Minute)
		w.covered(e, w.clock.Now())
	})
}
