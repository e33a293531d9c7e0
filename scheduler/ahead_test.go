package scheduler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
)

// The instants of a slot at 12:01 in a world that begins at 12:00:30.
const (
	toArming = 28*time.Second + 500*time.Millisecond // 1.5 s before the slot
	toClaim  = 1400 * time.Millisecond               // 0.1 s before it
	toSlot   = 100 * time.Millisecond
)

func TestASandboxThatStandsBeforeItsSlotIsReleasedAtIt(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		prepared := w.countPrepared()
		e := w.job("m", "1 12 * * *", "UTC")
		w.jobs.Set(e)
		w.boot()
		w.pass(toArming)
		w.want()
		if prepared.Load() != 1 || len(w.s.Running()) != 0 {
			t.Errorf("%d prepared, running %v", prepared.Load(), w.s.Running())
		}
		w.pass(toClaim)
		w.want("claimed m 30T12:01")
		if got := w.s.Running(); len(got) != 1 || got[0].State != "armed" || !got[0].ReleasedAt.IsZero() || len(w.box.Released()) != 0 {
			t.Errorf("running %+v, released %q", got, w.box.Released())
		}
		w.pass(toSlot)
		w.want("claimed m 30T12:01", "finished m 30T12:01 succeeded")
		rows := w.ledger.Rows()
		if c := rows[0]; c.StartedAt != "" || c.Backend != "memory" || c.Run != rows[1].Run || c.Time >= c.Scheduled {
			t.Errorf("claimed row: %+v", c)
		}
		if f := rows[1]; f.StartedAt != f.Scheduled {
			t.Errorf("started at %s for %s", f.StartedAt, f.Scheduled)
		}
		if prepared.Load() != 1 {
			t.Errorf("prepared %d times", prepared.Load())
		}
		w.covered(e, w.clock.Now())
	})
}

func (w *world) countPrepared() *atomic.Int32 {
	var n atomic.Int32
	w.box.Prepare = func(context.Context, jobspec.Name) error { n.Add(1); return nil }
	return &n
}

// between are what can happen to a job whose sandbox waits for its slot.
var between = map[string]struct {
	do              func(w *world)
	armed, claimed  string // the slot's final row, when it happens before and after the claim
	released, again int    // payloads, and preparations beyond the first
}{
	"nothing": {do: func(*world) {}, armed: "finished m 30T12:01 succeeded", claimed: "finished m 30T12:01 succeeded", released: 1},
	"held": {do: func(w *world) { w.must(w.s.Hold("m", record.Requester{UID: 7}, scheduler.Remark{})) },
		armed: "held m 30T12:01 held job_held", claimed: "refused m 30T12:01 refused job_held"},
	"removed": {do: func(w *world) { w.jobs.Set(); w.must(w.s.Reload()) },
		armed: "", claimed: "refused m 30T12:01 refused head_moved"},
	"replaced": {do: func(w *world) { w.jobs.Set(w.job("m", "3 12 * * *", "UTC")); w.must(w.s.Reload()) },
		armed: "", claimed: "refused m 30T12:01 refused head_moved"},
	"replaced, and nobody says so": {do: func(w *world) { w.job("m", "3 12 * * *", "UTC") },
		armed: "skipped m 30T12:01 skipped head_moved", claimed: "refused m 30T12:01 refused head_moved"},
	"revoked": {do: func(w *world) {
		w.verify = func(jobspec.Name) (scheduler.Verified, error) {
			return scheduler.Verified{Identity: jobspec.CodeKeyRevoked}, nil
		}
	}, armed: "refused m 30T12:01 refused key_revoked", claimed: "refused m 30T12:01 refused key_revoked"},
	"cannot be read": {do: func(w *world) {
		w.verify = func(jobspec.Name) (scheduler.Verified, error) { return scheduler.Verified{}, errTest }
	}, armed: "refused m 30T12:01 refused identity_unproven", claimed: "refused m 30T12:01 refused identity_unproven"},
	"denied by another policy": {do: func(w *world) {
		w.box.Again = func(jobspec.Name) []jobspec.Check {
			return []jobspec.Check{{Step: "command", Verdict: "no", Code: jobspec.CodeCmdDeniedRule}}
		}
	}, armed: "refused m 30T12:01 refused cmd_denied_rule", claimed: "refused m 30T12:01 refused cmd_denied_rule"},
	"given less by another policy": {do: func(w *world) {
		var anew atomic.Bool
		prepare := w.box.Prepare
		w.box.Prepare = func(ctx context.Context, job jobspec.Name) error {
			anew.Store(true)
			if prepare == nil {
				return nil
			}
			return prepare(ctx, job)
		}
		w.box.Fits = func(jobspec.Name) bool { return anew.Load() }
	}, armed: "finished m 30T12:01 succeeded", claimed: "finished m 30T12:01 succeeded", released: 1, again: 1},
	"files swapped": {do: func(w *world) {
		w.box.Fresh = func(jobspec.Name) bool { return false }
		w.box.Refuse = func(jobspec.Name) []jobspec.Check {
			return []jobspec.Check{{Step: "binding", Verdict: "no", Code: jobspec.CodeDriftExecHash}}
		}
	}, armed: "refused m 30T12:01 refused drift_exec_hash", claimed: "refused m 30T12:01 refused drift_exec_hash"},
	"files touched": {do: func(w *world) { w.box.Fresh = func(jobspec.Name) bool { return false } },
		armed: "finished m 30T12:01 succeeded", claimed: "finished m 30T12:01 succeeded", released: 1, again: 1},
	"shutdown": {do: func(w *world) { w.s.Shutdown() },
		armed: "", claimed: "refused m 30T12:01 refused shutdown"},
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestWhatChangesBetweenArmingAndSlotIsObeyed(t *testing.T) {
	for name, c := range between {
		for _, afterClaim := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/claimed=%v", name, afterClaim), func(t *testing.T) {
				inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
					prepared := w.countPrepared()
					w.jobs.Set(w.job("m", "1 12 * * *", "UTC"))
					w.boot()
					w.pass(toArming)
					first := "started m 30T12:01"
					if afterClaim {
						w.pass(toClaim)
						first = "claimed m 30T12:01"
					}
					c.do(w)
					w.pass(toClaim + toSlot)
					want := []string{}
					last := c.armed
					if afterClaim {
						last = c.claimed
					}
					if afterClaim || c.released > 0 && name != "nothing" {
						want = append(want, first)
					}
					if name == "nothing" && !afterClaim {
						want = append(want, first)
					}
					if name == "held" {
						row := "held m"
						if afterClaim {
							want = append(want, row)
						} else {
							want = []string{row}
						}
					}
					if last != "" {
						want = append(want, last)
					}
					w.want(want...)
					if got := len(w.box.Released()); got != c.released {
						t.Errorf("%d payloads", got)
					}
					if name != "files swapped" && int(prepared.Load()) != 1+c.again {
						t.Errorf("prepared %d times", prepared.Load())
					}
				})
			})
		}
	}
}

func TestWhatCannotBeArmedIsRefusedAtItsSlot(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		var tries atomic.Int32
		w.box.Prepare = func(context.Context, jobspec.Name) error { tries.Add(1); return errTest }
		e := w.job("m", "1 12 * * *", "UTC")
		w.jobs.Set(e)
		w.boot()
		w.pass(toArming)
		w.pass(toClaim)
		w.want()
		w.pass(toSlot)
		w.want("refused m 30T12:01 refused sbx_setup_failed")
		if tries.Load() != 2 {
			t.Errorf("tried %d times: once ahead and once at the slot", tries.Load())
		}
		w.covered(e, w.clock.Now())
	})
}

func TestASandboxThatIsNotReadyAtItsSlotStartsWhenItIs(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.box.Prepare = slowly(time.Minute)
		e := w.job("m", "1 12 * * *", "UTC")
		w.jobs.Set(e)
		w.boot()
		w.pass(toArming)
		w.pass(toClaim + toSlot)
		w.want()
		time.Sleep(time.Minute)
		synctest.Wait()
		w.want("started m 30T12:01", "finished m 30T12:01 succeeded")
		w.covered(e, w.clock.Now())
	})
}

func TestACrashAfterTheClaimIsLostAndNotTriedAgain(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.job("m", "1 12 * * *", "UTC")
		w.jobs.Set(e)
		w.boot()
		w.pass(toArming)
		w.pass(toClaim)
		w.ledger.CrashAfter(0)
		w.end()
		w.ledger.Repair()
		w.boot()
		w.pass(toSlot + 2*time.Second)
		w.want("claimed m 30T12:01", "lost m 30T12:01 lost lost_run")
		if got := w.box.Released(); len(got) != 0 {
			t.Errorf("released %q", got)
		}
		w.covered(e, w.clock.Now())
	})
}

func TestAClaimThatCannotBeWrittenStartsNothing(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.jobs.Set(w.job("m", "1 12 * * *", "UTC"))
		w.boot()
		w.ledger.CrashAfter(0)
		w.pass(toArming)
		w.pass(toClaim)
		w.pass(toSlot)
		w.want()
		if got := w.box.Released(); len(got) != 0 || w.s.Broken() == nil {
			t.Errorf("released %q, broken %v", got, w.s.Broken())
		}
	})
}

func TestClocksThatAreSetWhileASandboxWaits(t *testing.T) {
	for name, c := range map[string]struct {
		claim bool
		to    string // the clock is set there
		wait  time.Duration
		want  []string
	}{
		"back, before the claim":      {false, "2026-11-30T12:00:00Z", time.Minute, []string{"started m 30T12:01", "finished m 30T12:01 succeeded"}},
		"back, after the claim":       {true, "2026-11-30T12:00:00Z", time.Minute, []string{"claimed m 30T12:01", "refused m 30T12:01 refused clock_hold"}},
		"back a little":               {true, "2026-11-30T12:00:58Z", 2 * time.Second, []string{"claimed m 30T12:01", "finished m 30T12:01 succeeded"}},
		"ahead a little":              {true, "2026-11-30T12:01:30Z", 0, []string{"claimed m 30T12:01", "finished m 30T12:01 succeeded"}},
		"ahead, before the claim":     {false, "2026-11-30T12:01:30Z", 0, []string{"started m 30T12:01", "finished m 30T12:01 succeeded"}},
		"far ahead":                   {true, "2026-11-30T13:00:00Z", 0, []string{"claimed m 30T12:01", "refused m 30T12:01 refused missed_skipped"}},
		"far ahead, before the claim": {false, "2026-11-30T13:00:00Z", 0, []string{"missed m 30T12:01 missed missed_skipped"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
				e := w.job("m", "1 12 * * *", "UTC")
				w.jobs.Set(e)
				w.boot()
				w.pass(toArming)
				if c.claim {
					w.pass(toClaim)
				}
				w.clock.Set(parse(t, c.to))
				w.must(w.s.Reload()) // an alarm of the machine rings when the clock is set
				synctest.Wait()
				for passed := time.Duration(0); passed < c.wait; passed += time.Second {
					w.pass(time.Second)
				}
				w.want(c.want...)
				w.covered(e, w.clock.Now())
			})
		})
	}
}

func TestAJobThatStillRunsIsNotArmed(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		prepared := w.countPrepared()
		w.box.Payload = w.lasting(constant(90 * time.Second))
		e := w.job("m", "* * * * *", "UTC")
		w.jobs.Set(e)
		w.boot()
		for range 200 {
			w.pass(time.Second)
		}
		w.want("started m 30T12:01", "skipped m 30T12:02 skipped overlap_skipped", "finished m 30T12:01 succeeded", "started m 30T12:03")
		if prepared.Load() != 2 {
			t.Errorf("prepared %d", prepared.Load())
		}
	})
}

func TestAManualRunTakesThePlaceOfAnArmedOne(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.box.Payload = w.lasting(constant(10 * time.Second))
		w.jobs.Set(w.job("m", "1 12 * * *", "UTC"))
		w.boot()
		w.pass(toArming)
		if _, err := w.s.RunNow("m", record.Requester{UID: 7}); err != nil {
			t.Fatal(err)
		}
		w.pass(toClaim + toSlot)
		w.pass(time.Minute)
		w.want("started m", "skipped m 30T12:01 skipped overlap_skipped", "finished m succeeded")
	})
}

func TestAtMostMaxParallelAreArmed(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.maxParallel = 3
		prepared := w.countPrepared()
		w.box.Payload = w.lasting(constant(time.Second))
		var all []scheduler.Entry
		for i := range 10 {
			all = append(all, w.job(fmt.Sprintf("m%d", i), "1 12 * * *", "UTC"))
		}
		w.jobs.Set(all...)
		w.boot()
		w.pass(toArming)
		if prepared.Load() != 3 {
			t.Errorf("%d armed", prepared.Load())
		}
		w.pass(toClaim)
		claims := slices.Sorted(slices.Values(w.rows())) // each is written for itself
		if want := []string{"claimed m0 30T12:01", "claimed m1 30T12:01", "claimed m2 30T12:01"}; !slices.Equal(claims, want) {
			t.Errorf("claims %q", claims)
		}
		for range 10 {
			w.pass(time.Second)
		}
		for _, e := range all {
			w.covered(e, w.clock.Now())
		}
		if got := w.box.Released(); len(got) != 10 {
			t.Errorf("released %q", got)
		}
	})
}

// A run that is armed for its slot must not wait behind the rows of others.
func TestArmedRunsOfOneInstantAreReleasedAtOnce(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		gate := make(chan struct{})
		var mu sync.Mutex
		waiting := 0
		w.box.Release = func(jobspec.Name) error {
			mu.Lock()
			waiting++
			mu.Unlock()
			<-gate
			return nil
		}
		var all []scheduler.Entry
		for i := range 8 {
			all = append(all, w.job(fmt.Sprintf("m%d", i), "1 12 * * *", "UTC"))
		}
		w.jobs.Set(all...)
		w.boot()
		w.pass(toArming)
		w.pass(toClaim)
		w.pass(toSlot)
		mu.Lock()
		if waiting != 8 {
			t.Errorf("%d at their release", waiting)
		}
		mu.Unlock()
		close(gate)
	})
}

// Whatever happens between arming and slot, each slot has one final row and at
// most one payload.
func TestEachSlotHasOneFinalRowThroughArmingAndChaos(t *testing.T) {
	for seed := range 12 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, "2026-11-30T12:00:30Z", func(w *world) { chaos(t, w, uint64(seed)) })
		})
	}
}

func chaos(t *testing.T, w *world, seed uint64) {
	draw := drawer(seed)
	w.maxParallel = 1 + int(draw(6))
	w.box.Prepare = func(ctx context.Context, _ jobspec.Name) error {
		if draw(8) == 0 {
			return errTest
		}
		return nil
	}
	w.box.Fresh = func(jobspec.Name) bool { return draw(5) > 0 }
	w.box.Payload = w.lasting(func() time.Duration { return time.Duration(draw(40)) * time.Second })
	var all []scheduler.Entry
	for i := range 5 {
		all = append(all, w.job(fmt.Sprintf("m%d", i), "* * * * *", "UTC"))
	}
	w.jobs.Set(all...)
	w.boot()
	claims := 0
	for range 3000 {
		job := jobspec.Name(fmt.Sprintf("m%d", draw(5)))
		switch draw(60) {
		case 0:
			_ = w.s.Hold(job, record.Requester{UID: 7}, scheduler.Remark{})
		case 1, 2, 3:
			_ = w.s.Release(job, record.Requester{UID: 7})
		case 4:
			_, _ = w.s.RunNow(job, record.Requester{UID: 7})
		case 5:
			w.must(w.s.Reload())
		case 6:
			w.ledger.CrashAfter(int(draw(3)))
			w.pass(time.Duration(draw(3000)) * time.Millisecond)
			w.end()
			w.ledger.Repair()
			w.boot()
		}
		w.pass(time.Duration(20+draw(400)) * time.Millisecond)
	}
	w.end()
	w.boot()
	for ok := true; ok; ok = w.clock.Now().Second() > 50 { // a claim may lie before its slot
		w.pass(time.Second)
	}
	w.end()
	open, released := map[string]bool{}, map[string]int{}
	for _, l := range w.ledger.Rows() {
		switch {
		case l.Kind == record.Claimed:
			claims++
			open[l.Run] = true
		case open[l.Run] && l.Final():
			if l.Kind != record.Finished && l.Kind != record.Refused && l.Kind != record.Lost {
				t.Errorf("a claim was followed by %s", l.Kind)
			}
			delete(open, l.Run)
		}
		if l.Kind == record.Finished && l.StartedAt != "" && l.Slot != nil {
			released[string(l.Job)+l.Slot.Civil]++
		}
	}
	for slot, n := range released {
		if n != 1 {
			t.Errorf("%s ran %d times", slot, n)
		}
	}
	if len(open) != 0 || claims == 0 {
		t.Errorf("%d claims, open: %v", claims, open)
	}
	for _, e := range all {
		w.covered(e, w.clock.Now())
	}
}

// drawer draws numbers below n; several goroutines may.
func drawer(seed uint64) func(n uint64) uint64 {
	var mu sync.Mutex
	from := rand.New(rand.NewPCG(seed, seed))
	return func(n uint64) uint64 {
		mu.Lock()
		defer mu.Unlock()
		return from.Uint64N(n)
	}
}
