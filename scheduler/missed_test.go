package scheduler_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
)

// once is a job whose newest missed slot runs.
func (w *world) once(name, cron, zone string, deadline time.Duration) scheduler.Entry {
	w.t.Helper()
	return w.sign(name, &jobspec.Spec{Argv: []string{"/bin/true"}, Schedule: jobspec.Schedule{
		Cron: cron, Timezone: zone, Missed: "once", StartDeadlineSeconds: int64(deadline.Seconds()), Overlap: "skip"}})
}

func TestTheNewestMissedSlotRunsOnceAndTheOlderOnesAreOneRow(t *testing.T) {
	inWorld(t, "2026-11-27T12:00:30Z", func(w *world) {
		e := w.once("daily", "0 9 * * *", "UTC", 4*time.Hour)
		w.jobs.Set(e)
		w.pass(72 * time.Hour) // 30T12:00:30
		w.boot()
		w.want("missed daily 28T09:00..29T09:00(2) missed missed_skipped", "started daily 30T09:00", "finished daily 30T09:00 succeeded")
		for _, l := range w.ledger.Rows()[1:] {
			if l.Trigger != record.ByCatchUp || l.Scheduled != "2026-11-30T09:00:00Z" {
				t.Errorf("%s: trigger %q, scheduled for %s", l.Kind, l.Trigger, l.Scheduled)
			}
		}
		w.covered(e, w.clock.Now())
		w.end()
		w.boot() // a restart catches nothing up again
		w.pass(time.Hour)
		if n := len(w.box.Released()); n != 1 {
			t.Errorf("%d runs", n)
		}
	})
}

func TestPastItsStartDeadlineEvenTheNewestSlotIsMissed(t *testing.T) {
	inWorld(t, "2026-11-27T12:00:30Z", func(w *world) {
		e := w.once("daily", "0 9 * * *", "UTC", 2*time.Hour)
		w.jobs.Set(e)
		w.pass(72 * time.Hour)
		w.boot()
		w.want("missed daily 28T09:00..30T09:00(3) missed missed_skipped")
		w.pass(21 * time.Hour)
		w.covered(e, w.clock.Now())
		if got := w.rows()[1:]; !slices.Equal(got, []string{"started daily 01T09:00", "finished daily 01T09:00 succeeded"}) {
			t.Errorf("%q", got)
		}
	})
}

func TestThreeDaysOfAMinuteJobAreOneRowAndOneRun(t *testing.T) {
	inWorld(t, "2026-11-27T12:00:30Z", func(w *world) {
		e := w.once("m", "* * * * *", "UTC", 2*time.Minute)
		w.jobs.Set(e)
		w.pass(72 * time.Hour)
		w.boot()
		w.want("missed m 27T12:01..30T11:59(4319) missed missed_skipped", "started m 30T12:00", "finished m 30T12:00 succeeded")
		if got := w.ledger.Rows()[1].Trigger; got != record.BySchedule {
			t.Errorf("a slot of %s ago is a %s", 30*time.Second, got)
		}
		w.covered(e, w.clock.Now())
	})
}

func TestAStepOfTheClockRunsAFixedAndAWildcardJobOnce(t *testing.T) {
	inWorld(t, "2026-11-30T01:45:30Z", func(w *world) {
		fixed, wild := w.once("fixed", "30 2 * * *", "UTC", 2*time.Hour), w.once("wild", "*/10 * * * *", "UTC", 5*time.Minute)
		w.jobs.Set(fixed, wild)
		w.boot()
		w.clock.Set(parse(t, "2026-11-30T03:42:30Z"))
		synctest.Wait()
		w.pass(scheduler.CatchUpStep) // the second of two catch-ups
		w.want("missed wild 30T01:50..30T03:30(11) missed missed_skipped", "started fixed 30T02:30", "finished fixed 30T02:30 succeeded",
			"started wild 30T03:40", "finished wild 30T03:40 succeeded")
		w.pass(5 * time.Minute)
		w.covered(fixed, w.clock.Now())
		w.covered(wild, w.clock.Now())
	})
}

func TestCatchUpsStartApartInTheOrderOfSlotAndName(t *testing.T) {
	inWorld(t, "2026-11-29T12:00:30Z", func(w *world) {
		var all []scheduler.Entry
		for _, name := range []string{"d", "b", "a", "c"} {
			all = append(all, w.once(name, "0 9 * * *", "UTC", 4*time.Hour))
		}
		all = append(all, w.once("z", "0 8 * * *", "UTC", 6*time.Hour))
		w.jobs.Set(all...)
		w.pass(24 * time.Hour)
		w.boot()
		for i, want := range []string{"z", "a", "b", "c", "d"} {
			if i > 0 {
				w.pass(scheduler.CatchUpStep)
			}
			if got := w.box.Released(); len(got) != i+1 || got[i] != want {
				t.Errorf("after %d steps %q were let go", i, got)
			}
		}
		for _, e := range all {
			w.covered(e, w.clock.Now())
		}
	})
}

func TestARunThatWaitsForASeatPastItsStartDeadlineIsMissed(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.maxParallel = 1
		w.box.Payload = w.lasting(constant(10 * time.Minute))
		long, late := w.job("a-long", "1 12 * * *", "UTC"), w.once("late", "1 12 * * *", "UTC", 5*time.Minute)
		w.jobs.Set(long, late)
		w.boot()
		for range 30 {
			w.pass(30 * time.Second)
		}
		w.want("started a-long 30T12:01", "finished a-long 30T12:01 succeeded", "missed late 30T12:01 missed capacity")
		w.covered(late, w.clock.Now())
	})
}
