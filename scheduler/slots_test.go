package scheduler_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

func TestASlotRunsOnceWithTheWholeRecord(t *testing.T) {
	inWorld(t, "2026-11-30T01:00:00Z", func(w *world) {
		e := w.job("nightly", "30 2 * * *", "Europe/Berlin")
		w.jobs.Set(e)
		w.boot()
		w.pass(29 * time.Minute)
		w.want()
		w.pass(time.Minute)
		w.want("started nightly 30T02:30", "finished nightly 30T02:30 succeeded")
		w.pass(23 * time.Hour)
		started := w.ledger.Rows()[0]
		if started.Op != e.Op || started.Seq != e.Seq || started.Principal != "alice" || started.KeyID != w.key.KeyID() || started.Tier != jobspec.Scratch ||
			started.Trigger != record.BySchedule || started.Scheduled != "2026-11-30T01:30:00Z" || started.Probe != "passed" || started.Run == "" ||
			started.Slot.String() != "2026-11-30T02:30/Europe/Berlin#0" || started.Zone != calendar.ZoneDataVersion() || !started.SameUID {
			t.Errorf("%+v", started)
		}
		if finished := w.ledger.Rows()[1]; finished.Run != started.Run || finished.Scheduled != started.Scheduled || !finished.Exited || finished.StartedAt == "" {
			t.Errorf("%+v", finished)
		}
	})
}

func TestASlotThatIsNoticedTooLateIsMissedAndAYoungOneRuns(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.job("m", "* * * * *", "UTC")
		w.jobs.Set(e)
		w.boot()
		w.pass(4 * time.Minute) // to 12:04:30 at once, as after a step of the clock
		w.want("missed m 30T12:01..30T12:02(2) missed missed_skipped", "started m 30T12:03", "skipped m 30T12:04 skipped overlap_skipped", "finished m 30T12:03 succeeded")
		w.covered(e, w.clock.Now())
	})
}

func TestDowntimeIsOneRowAJobHoweverLong(t *testing.T) {
	inWorld(t, "2026-11-27T12:00:30Z", func(w *world) {
		e, daily := w.job("m", "* * * * *", "UTC"), w.job("daily", "0 9 * * *", "UTC")
		w.jobs.Set(e, daily)
		w.pass(72 * time.Hour)
		w.boot()
		w.want("missed daily 28T09:00..30T09:00(3) missed missed_skipped", "missed m 27T12:01..30T11:58(4318) missed missed_skipped",
			"started m 30T11:59", "skipped m 30T12:00 skipped overlap_skipped", "finished m 30T11:59 succeeded")
		w.covered(e, w.clock.Now())
		w.covered(daily, w.clock.Now())
	})
}

func TestAClockThatIsSetBackRunsNoSlotAgain(t *testing.T) {
	inWorld(t, "2026-11-30T02:29:30Z", func(w *world) {
		e := w.job("nightly", "30 2 * * *", "UTC")
		w.jobs.Set(e)
		w.boot()
		w.pass(time.Minute)
		w.clock.Set(parse(t, "2026-11-30T01:50:00Z"))
		w.pass(45 * time.Minute)
		w.end()
		w.clock.Set(parse(t, "2026-11-30T01:50:00Z"))
		w.boot()
		w.pass(45 * time.Minute)
		w.want("started nightly 30T02:30", "finished nightly 30T02:30 succeeded")
	})
}

func TestSlotsOfOneInstantAreOneRun(t *testing.T) {
	inWorld(t, "2026-03-08T06:30:00Z", func(w *world) {
		e := w.job("ny", "0,15,30 2 * * *", "America/New_York")
		w.jobs.Set(e)
		w.boot()
		w.pass(30 * time.Minute)
		w.want("started ny 08T02:00", "skipped ny 08T02:15..08T02:30(2) skipped coalesced", "finished ny 08T02:00 succeeded")
		w.covered(e, w.clock.Now())
	})
}

func TestACrashBetweenTheRowsOfOneInstantLosesNone(t *testing.T) {
	inWorld(t, "2026-03-08T06:30:00Z", func(w *world) {
		e := w.job("ny", "0,15,30 2 * * *", "America/New_York")
		w.jobs.Set(e)
		w.boot()
		w.ledger.CrashAfter(1)
		w.pass(30 * time.Minute)
		w.end()
		w.ledger.Repair()
		w.boot()
		w.want("started ny 08T02:00", "lost ny 08T02:00 lost lost_run", "skipped ny 08T02:15..08T02:30(2) skipped coalesced")
		if len(w.box.Released()) != 0 {
			t.Error("a run without a durable row was let go")
		}
		w.covered(e, w.clock.Now())
	})
}

func TestNightsOfDaylightSaving(t *testing.T) {
	inWorld(t, "2026-11-01T05:20:00Z", func(w *world) {
		fixed, wild := w.job("fixed", "30 1 * * *", "America/New_York"), w.job("wild", "30 * * * *", "America/New_York")
		w.jobs.Set(fixed, wild)
		w.maxParallel = 1
		w.boot()
		for range 90 {
			w.pass(time.Minute)
		}
		w.want("started fixed 01T01:30", "finished fixed 01T01:30 succeeded", "started wild 01T01:30", "finished wild 01T01:30 succeeded",
			"started wild 01T01:30#1", "finished wild 01T01:30#1 succeeded")
	})
}

func TestAJobThatRunsSkipsItsSlotsAndDelaysNoOther(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		slow, quick := w.job("slow", "* * * * *", "UTC"), w.job("quick", "* * * * *", "UTC")
		w.box.Payload = w.lasting(func() time.Duration { return 0 })
		done := make(chan struct{})
		w.verify = func(job jobspec.Name) (scheduler.Verified, error) {
			if job == "slow" {
				<-done
			}
			return w.signed[job], nil
		}
		w.jobs.Set(slow, quick)
		w.boot()
		for range 3 {
			w.pass(time.Minute)
		}
		want := []string{"started quick 30T12:01", "finished quick 30T12:01 succeeded", "started quick 30T12:02", "finished quick 30T12:02 succeeded",
			"started quick 30T12:03", "finished quick 30T12:03 succeeded"}
		w.want(want...)
		close(done)
		synctest.Wait()
		// The rows of the job itself come in the order of its slots.
		w.want(append(want, "started slow 30T12:01", "skipped slow 30T12:02 skipped overlap_skipped", "skipped slow 30T12:03 skipped overlap_skipped",
			"finished slow 30T12:01 succeeded")...)
	})
}

func TestMoreThanMaxParallelStartLateTheOldestSlotFirst(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.maxParallel = 2
		w.box.Payload = w.lasting(constant(90 * time.Second))
		var all []scheduler.Entry
		for _, name := range []string{"e", "c", "a", "d", "b"} {
			all = append(all, w.job(name, "1 12 * * *", "UTC"))
		}
		all = append(all, w.job("0-later", "2 12 * * *", "UTC"))
		w.jobs.Set(all...)
		w.boot()
		most := 0
		for range 20 {
			w.pass(30 * time.Second)
			going := 0
			for _, r := range w.s.Running() {
				if r.State == "running" {
					going++
				}
			}
			most = max(most, going)
		}
		if got := pairs(w.box.Released()); got != "ab cd 0-latere" || most != 2 {
			t.Errorf("released %q, %d at a time", got, most)
		}
		for _, e := range all {
			w.covered(e, w.clock.Now())
		}
	})
}

// pairs joins names, sorted two by two: which of two that start together is
// first is up to the goroutines.
func pairs(names []string) string {
	var out []string
	for p := range slices.Chunk(names, 2) {
		slices.Sort(p)
		out = append(out, strings.Join(p, ""))
	}
	return strings.Join(out, " ")
}

// Whatever happens, in whatever order: each slot has one final row, and no slot
// is let go twice.
func TestEachSlotHasExactlyOneFinalRowThroughCrashesAndClocks(t *testing.T) {
	for range 8 {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		inWorld(t, "2026-10-24T20:00:10Z", func(w *world) {
			r := rand.New(rand.NewPCG(1, seed))
			w.maxParallel = 1 + r.IntN(3)
			var mu sync.Mutex // payloads end side by side
			spans := rand.New(rand.NewPCG(2, seed))
			payload := w.lasting(func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(spans.IntN(200)) * time.Second
			})
			w.box.Payload = payload
			entries := []scheduler.Entry{
				w.job("minute", "* * * * *", "Europe/Berlin"), w.job("five", "*/5 * * * *", "UTC"),
				w.job("fixed", "0,30 2 * * *", "Europe/Berlin"), w.job("wild", "0,30 * * * *", "Europe/Berlin"),
			}
			w.jobs.Set(entries...)
			w.boot()
			crashes := 0
			for range 250 {
				switch k := r.IntN(20); {
				case k == 0:
					w.ledger.CrashAfter(r.IntN(6))
				case k == 1:
					w.end()
					w.pass(time.Duration(r.IntN(900)) * time.Second)
					w.ledger.Repair()
					w.boot()
				case k == 2:
					w.pass(time.Duration(r.IntN(20)) * time.Minute)
				case k == 3:
					if err := w.s.Reload(); err != nil && w.s.Broken() == nil {
						t.Fatal(err)
					}
				default:
					w.pass(time.Duration(r.IntN(120)) * time.Second)
				}
				if w.s.Broken() != nil {
					crashes++
					w.end()
					w.ledger.Repair()
					w.pass(time.Duration(r.IntN(400)) * time.Second)
					w.boot()
				}
			}
			w.end()
			w.ledger.Repair()
			w.boot()
			for range 20 { // let everything end
				w.pass(20 * time.Second)
			}
			w.end()
			w.ledger.Repair()
			started := map[string]int{}
			for _, l := range w.ledger.Rows() {
				if l.Kind == record.Started {
					started[string(l.Job)+l.Slot.String()]++
				}
			}
			for slot, n := range started {
				if n > 1 {
					t.Errorf("%s was started %d times", slot, n)
				}
			}
			if len(w.box.Released()) > len(started) {
				t.Errorf("%d runs let go, %d started rows", len(w.box.Released()), len(started))
			}
			for _, e := range entries {
				w.covered(e, w.clock.Now())
			}
			if crashes == 0 || len(started) == 0 {
				t.Errorf("seed %d tested nothing: %d crashes, %d starts", seed, crashes, len(started))
			}
		})
	}
}
