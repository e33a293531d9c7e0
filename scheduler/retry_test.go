package scheduler_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/scheduler/schedulertest"
)

// trying is a job with further attempts.
func (w *world) trying(name, cron string, retries int64) scheduler.Entry {
	w.t.Helper()
	return w.sign(name, &jobspec.Spec{Argv: []string{"/bin/true"}, Schedule: jobspec.Schedule{Cron: cron, Timezone: "UTC", Missed: "skip", Overlap: "skip", Retries: retries}})
}

// failing fails so many times and then succeeds.
func failing(times int, with record.Outcome) func(*schedulertest.Process) record.End {
	n := 0
	return func(p *schedulertest.Process) record.End {
		end := p.End(record.OutcomeSucceeded)
		if n++; n <= times {
			end = p.End(with)
			end.ExitCode = n
		}
		end.Outputs = []record.Captured{{Stream: "out", Bytes: int64(n)}}
		return end
	}
}

func (w *world) passBy(step time.Duration, times int) {
	for range times {
		w.pass(step)
	}
}

func TestARunThatFailsIsTriedAgainUnderOneClaimAndOneFinalRow(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.trying("j", "1 12 * * *", 3)
		w.box.Payload = failing(2, record.OutcomeFailed)
		w.jobs.Set(e)
		w.boot()
		w.passBy(5*time.Second, 20)
		w.want("started j 30T12:01", "attempt j 30T12:01", "attempt j 30T12:01", "finished j 30T12:01 succeeded")
		rows := w.ledger.Rows()
		last := rows[3]
		if len(last.Attempts) != 3 || last.Attempts[1].ExitCode != 2 || last.Attempts[2].Outcome != record.OutcomeSucceeded || last.ExitCode != 0 {
			t.Errorf("%+v", last.Attempts)
		}
		first, second, third := record.ParseStamp(rows[0].Time), record.ParseStamp(rows[1].Time), record.ParseStamp(rows[2].Time)
		if second.Sub(first) != scheduler.RetryFirst || third.Sub(second) != 2*scheduler.RetryFirst {
			t.Errorf("the pauses were %s and %s", second.Sub(first), third.Sub(second))
		}
		for _, l := range rows {
			if l.Run != rows[0].Run || l.Kind == record.Attempted && (l.Probe != "passed" || l.Verdicts == nil && l.Principal != "alice") {
				t.Errorf("%+v", l)
			}
		}
		w.covered(e, w.clock.Now())
	})
}

func TestOnlyWhatRanAndFailedByItselfIsTriedAgain(t *testing.T) {
	for outcome, more := range map[record.Outcome]bool{record.OutcomeFailed: true, record.OutcomeTimedOut: true, record.OutcomeDenied: false, record.OutcomeKilled: false} {
		inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
			w.box.Payload = failing(1, outcome)
			w.jobs.Set(w.trying("j", "1 12 * * *", 1))
			w.boot()
			w.passBy(30*time.Second, 4)
			if got := len(w.box.Released()) == 2; got != more {
				t.Errorf("%s was tried again: %v", outcome, got)
			}
		})
	}
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.box.Refuse = func(jobspec.Name) []jobspec.Check { return []jobspec.Check{{Code: jobspec.CodeKeyRevoked}} }
		w.jobs.Set(w.trying("j", "1 12 * * *", 3))
		w.boot()
		w.passBy(30*time.Second, 10)
		w.want("refused j 30T12:01 refused key_revoked")
	})
}

func TestTheGateJudgesEachAttempt(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.trying("j", "1 12 * * *", 3)
		w.box.Payload = failing(9, record.OutcomeFailed)
		w.jobs.Set(e)
		w.boot()
		w.pass(30 * time.Second)
		w.mu.Lock()
		v := w.signed["j"]
		v.Identity, v.Detail = jobspec.CodeKeyRevoked, "the key was revoked"
		w.signed["j"] = v
		w.mu.Unlock()
		w.passBy(10*time.Second, 6)
		w.want("started j 30T12:01", "finished j 30T12:01 failed key_revoked")
		if got := w.ledger.Rows()[1].Reasons[0].Detail; got != "attempt 2 did not start: the key was revoked" {
			t.Errorf("%q", got)
		}
		w.covered(e, w.clock.Now())
	})
}

func TestNoAttemptGoesPastTheNextSlotAHoldACancelOrTheServicesEnd(t *testing.T) {
	start := func(w *world, cron string) {
		w.box.Payload = failing(9, record.OutcomeFailed)
		w.jobs.Set(w.trying("j", cron, 9))
		w.boot()
		w.pass(30 * time.Second)
	}
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		start(w, "* * * * *")
		w.passBy(10*time.Second, 5) // attempts at 10 and 30 s; the next would be at 70 s
		w.want("started j 30T12:01", "attempt j 30T12:01", "attempt j 30T12:01", "finished j 30T12:01 failed")
	})
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		start(w, "1 12 * * *")
		if err := w.s.Hold("j", record.Requester{UID: 7}, scheduler.Remark{}); err != nil {
			t.Fatal(err)
		}
		w.passBy(10*time.Second, 3)
		w.want("started j 30T12:01", "held j", "finished j 30T12:01 failed job_held")
	})
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		start(w, "1 12 * * *")
		runs := w.s.Running()
		if len(runs) != 1 || runs[0].State != "waiting" {
			t.Fatalf("%+v", runs)
		}
		if err := w.s.Cancel(runs[0].Run, record.Requester{UID: 7}); err != nil {
			t.Fatal(err)
		}
		w.pass(0)
		w.want("started j 30T12:01", "finished j 30T12:01 failed canceled")
	})
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		start(w, "1 12 * * *")
		w.end()
		w.want("started j 30T12:01", "finished j 30T12:01 failed shutdown")
	})
}

func TestACrashBetweenTwoAttemptsLosesTheRun(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.trying("j", "1 12 * * *", 3)
		w.box.Payload = failing(9, record.OutcomeFailed)
		w.jobs.Set(e)
		w.boot()
		w.pass(30 * time.Second)
		w.ledger.CrashAfter(0)
		w.end()
		w.ledger.Repair()
		w.boot()
		w.passBy(time.Minute, 5)
		w.want("started j 30T12:01", "lost j 30T12:01 lost lost_run")
		w.covered(e, w.clock.Now())
	})
}

// A pause holds no seat: others run meanwhile.
func TestARunThatWaitsForItsNextAttemptHasNoSeat(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.maxParallel = 1
		fails := failing(1, record.OutcomeFailed)
		w.box.Payload = func(p *schedulertest.Process) record.End {
			if p.Job == "a" {
				return fails(p)
			}
			return p.End(record.OutcomeSucceeded)
		}
		w.jobs.Set(w.trying("a", "1 12 * * *", 1), w.job("b", "1 12 * * *", "UTC"))
		w.boot()
		w.pass(30 * time.Second)
		w.passBy(10*time.Second, 2)
		if got := w.box.Released(); !slices.Equal(got, []string{"a", "b", "a"}) {
			t.Errorf("%q", got)
		}
	})
}

func TestPausesBetweenAttemptsDoubleAndAreBounded(t *testing.T) {
	for n, want := range map[int]time.Duration{1: 10 * time.Second, 2: 20 * time.Second, 6: 320 * time.Second, 7: 10 * time.Minute, 1000: 10 * time.Minute} {
		if got := scheduler.RetryPause(n); got != want {
			t.Errorf("after %d attempts %s, want %s", n, got, want)
		}
	}
}
