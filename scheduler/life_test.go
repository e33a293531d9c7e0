package scheduler_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/scheduler/schedulertest"
)

var _ scheduler.Ruling = jobspec.Decision{} // what the service hands in

// stubborn is a payload that ends only when it is killed.
func stubborn(p *schedulertest.Process) record.End {
	<-p.Killed()
	return p.End(record.OutcomeKilled, p.Why())
}

func TestShutdownLetsRunsEndInTheDrainTime(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.maxParallel = 1
		w.box.Payload = func(p *schedulertest.Process) record.End {
			time.Sleep(50 * time.Second)
			return p.End(record.OutcomeSucceeded)
		}
		a, b := w.job("a", "* 12 * * *", "UTC"), w.job("b", "* 12 * * *", "UTC")
		w.jobs.Set(a, b)
		w.boot()
		w.pass(time.Minute)
		began := time.Now()
		w.s.Shutdown()
		synctest.Wait()
		if _, err := w.s.RunNow("a", operator); err == nil {
			t.Error("a run is started during the shutdown")
		}
		if err := <-w.ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 50*time.Second {
			t.Errorf("the drain took %v", took)
		}
		w.want("started a 30T12:01", "skipped b 30T12:01 skipped shutdown", "finished a 30T12:01 succeeded")
		w.pass(5 * time.Minute)
		w.box.Payload = nil
		w.boot()
		w.covered(a, w.clock.Now())
		w.covered(b, w.clock.Now())
	})
}

func TestShutdownEndsRunsThatTakeLongerThanTheDrainTime(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.box.Payload = w.lasting(constant(time.Hour))
		w.jobs.Set(w.job("a", "1 12 * * *", "UTC"))
		w.boot()
		w.pass(time.Minute)
		began := time.Now()
		w.s.Shutdown()
		if err := <-w.ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != scheduler.DefaultDrain {
			t.Errorf("the drain took %v", took)
		}
		w.want("started a 30T12:01", "finished a 30T12:01 killed shutdown")
		w.s = nil
	})
}

func TestASecondShutdownEndsAtOnce(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.box.Payload = stubborn
		w.jobs.Set(w.job("a", "1 12 * * *", "UTC"))
		w.boot()
		w.pass(time.Minute)
		began := time.Now()
		if err := w.end(); err != nil || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		w.want("started a 30T12:01", "finished a 30T12:01 killed shutdown")
	})
}

func TestTheEndOfTheContextIsTheFirstShutdown(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.box.Payload = stubborn
		w.jobs.Set(w.job("a", "1 12 * * *", "UTC"))
		s, err := scheduler.New(scheduler.Options{Jobs: w.jobs, Verifier: w, Examiner: w.box, Ledger: w.ledger, Finisher: w.box, History: w.ledger,
			Clock: w.clock, Alarm: w.clock.Alarm(), After: time.After, Random: w.random})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		w.pass(time.Minute)
		cancel()
		synctest.Wait()
		s.Shutdown()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestAPreparationThatHangsEndsWithTheShutdown(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.box.Prepare = func(ctx context.Context, _ jobspec.Name) error {
			<-ctx.Done()
			return ctx.Err()
		}
		w.jobs.Set(w.job("a", "1 12 * * *", "UTC"))
		w.boot()
		w.pass(time.Minute)
		w.s.Shutdown()
		if err := <-w.ended; err != nil {
			t.Error(err)
		}
		w.want("skipped a 30T12:01 skipped shutdown")
		w.s = nil
	})
}

func TestReloadTouchesOnlyWhatChanged(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.box.Payload = w.lasting(constant(3 * time.Minute))
		stays, goes := w.job("stays", "*/2 * * * *", "UTC"), w.job("goes", "* * * * *", "UTC")
		w.jobs.Set(stays, goes)
		w.boot()
		w.pass(90 * time.Second) // 12:02:00
		old := w.job("new", "* * * * *", "UTC")
		w.jobs.Set(stays, old)
		if err := w.s.Reload(); err != nil {
			t.Fatal(err)
		}
		if _, ok := w.s.NextOf("goes"); ok {
			t.Error("a removed job is due")
		}
		w.pass(time.Minute)
		w.jobs.Set(stays, w.job("new", "5 12 * * *", "UTC"))
		if err := w.s.Reload(); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		if at, _ := w.s.NextOf("new"); !at.Equal(parse(t, "2026-11-30T12:05:00Z")) {
			t.Errorf("the new schedule is due at %v", at)
		}
		for range 4 {
			w.pass(time.Minute)
		}
		w.end()
		w.covered(stays, w.clock.Now())
		w.covered(old, parse(t, "2026-11-30T12:03:00Z"))
		w.covered(goes, parse(t, "2026-11-30T12:02:00Z"))
	})
}

// deaf is an alarm that knows no clock: it rings only where somebody rings it.
type deaf struct{ *schedulertest.Alarm }

func (deaf) Arm(time.Time) {}

func TestSlotsUnderTheOldChainAreCoveredBeforeTheNewOneCounts(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.alarm = deaf{w.clock.Alarm()}
		old := w.job("m", "* * * * *", "UTC")
		w.jobs.Set(old)
		w.boot()
		w.clock.Advance(4 * time.Minute)
		w.jobs.Set(w.job("m", "*/5 * * * *", "UTC"))
		if err := w.s.Reload(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.want("missed m 30T12:01..30T12:02(2) missed missed_skipped", "skipped m 30T12:03 skipped head_moved", "skipped m 30T12:04 skipped overlap_skipped")
		w.covered(old, w.clock.Now())
	})
}

func TestTheServiceIsOnTimeByTheMachinesClock(t *testing.T) {
	inWorld(t, "2000-01-01T00:00:00Z", func(w *world) { // the bubble's own time begins here
		w.jobs.Set(w.job("m", "*/7 * * * *", "UTC"))
		w.box.Clock = scheduler.SystemClock{}
		s, err := scheduler.New(scheduler.Options{Jobs: w.jobs, Verifier: w, Examiner: w.box, Ledger: w.ledger, Finisher: w.box, History: w.ledger,
			Clock: scheduler.SystemClock{}, Alarm: scheduler.NewTimer(scheduler.SystemClock{}), After: time.After, Random: w.random})
		if err != nil {
			t.Fatal(err)
		}
		w.s, w.ended = s, make(chan error, 1)
		go func() { w.ended <- s.Run(context.Background()) }()
		time.Sleep(2*time.Hour + 30*time.Second)
		n := 0
		for _, l := range w.ledger.Rows() {
			slot := record.ParseStamp(l.Scheduled)
			switch l.Kind {
			case record.Claimed:
				if ahead := slot.Sub(record.ParseStamp(l.Time)); ahead != scheduler.ClaimAhead {
					t.Errorf("%s claimed %v ahead", l.Slot, ahead)
				}
			case record.Finished:
				n++
				if late := record.ParseStamp(l.StartedAt).Sub(slot); late != 0 {
					t.Errorf("%s started %v late", l.Slot, late)
				}
			case record.Alert: // the bubble's time goes on, and the machine's own does not
			default:
				t.Errorf("a row of kind %s", l.Kind)
			}
		}
		if n != 18 {
			t.Errorf("%d starts", n)
		}
	})
}

func TestAJobThatCeasedWhileTheServiceWasOffIsCoveredUpToItsEnd(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.job("m", "*/10 * * * *", "UTC")
		w.pass(2 * time.Hour)
		e.Until = parse(t, "2026-11-30T12:45:00Z")
		w.jobs.Set(e)
		w.boot()
		w.pass(time.Hour)
		w.want("missed m 30T12:10..30T12:40(4) missed missed_skipped")
		if got := w.ledger.Rows()[0].Reasons[0].Detail; got != "the service did not run" {
			t.Errorf("the row says %q", got)
		}
		w.end()
		w.boot()
		w.pass(time.Hour)
		w.want("missed m 30T12:10..30T12:40(4) missed missed_skipped")
	})
}

func TestAJobInForceAgainHasNoSlotsForTheTimeBetween(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.job("m", "*/10 * * * *", "UTC")
		w.jobs.Set(e)
		w.boot()
		w.pass(10 * time.Minute)
		w.jobs.Set() // disabled
		if err := w.s.Reload(); err != nil {
			t.Fatal(err)
		}
		w.pass(30 * time.Minute)
		e.Since = w.clock.Now() // enabled
		w.jobs.Set(e)
		if err := w.s.Reload(); err != nil {
			t.Fatal(err)
		}
		w.pass(10 * time.Minute)
		w.want("started m 30T12:10", "finished m 30T12:10 succeeded", "started m 30T12:50", "finished m 30T12:50 succeeded")
	})
}

func TestOneBrokenScheduleIsLoudAndTheOthersRun(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.jobs.Set(w.job("bad", "61 * * * *", "UTC"), w.job("good", "1 12 * * *", "UTC"), w.job("lost", "* * * * *", "Mars/Olympus"))
		w.boot()
		w.pass(time.Minute)
		w.want("started good 30T12:01", "finished good 30T12:01 succeeded")
		p := w.s.Problems()
		if len(p) != 2 || p[0].Job != "bad" || p[0].Code != jobspec.CodeScheduleInvalid || p[1].Job != "lost" {
			t.Errorf("%+v", p)
		}
	})
}

func TestAStartThatCannotReadItsHistoryRunsNothing(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.ledger.CrashAfter(0)
		e := w.job("m", "* * * * *", "UTC")
		e.Since = e.Since.Add(-time.Hour)
		w.jobs.Set(e)
		w.boot()
		if err := <-w.ended; !errors.Is(err, schedulertest.ErrCrashed) {
			t.Errorf("%v", err)
		}
		w.s = nil
		if len(w.box.Released()) != 0 {
			t.Error("a run was let go")
		}
	})
}

func TestASchedulerWithoutItsPortsIsRefused(t *testing.T) {
	if _, err := scheduler.New(scheduler.Options{}); err == nil {
		t.Error("no ports")
	}
}
