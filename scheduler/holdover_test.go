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

// member is an account that may run and hold the job, and is no operator.
var member = record.Requester{UID: 4321}

// heldWhileItRuns lets each run of the job be held by a member before it ends.
func (w *world) heldWhileItRuns(end func(p *schedulertest.Process) record.End) {
	w.box.Payload = func(p *schedulertest.Process) record.End {
		if err := w.s.Hold("asks", member, scheduler.Remark{}); err != nil {
			w.t.Errorf("hold while it runs: %v", err)
		}
		return end(p)
	}
}

// denyHeld lets the job be denied and released by the member, run after run. It
// returns how many runs there were until the member could release it no more.
func (w *world) denyHeld(most int) (runs int) {
	w.t.Helper()
	for runs < most {
		w.minutes(1)
		runs++
		if err := w.s.ReleaseOwn("asks", member); err != nil {
			var no *scheduler.Refusal
			if !errors.As(err, &no) || no.Reason.Code != jobspec.CodeRoleInsufficient {
				w.t.Errorf("released with %v", err)
			}
			return runs
		}
	}
	return runs
}

// Whoever may hold a job, but is no operator, must not get past the breaker by
// it: neither by holding first, nor by beginning the count anew with a release.
func TestAHoldOfAnotherDoesNotStandInForTheBreakers(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.heldWhileItRuns(func(p *schedulertest.Process) record.End { return p.End(record.OutcomeDenied) })
		w.minutely()
		if runs := w.denyHeld(10); runs != scheduler.BreakerRuns {
			t.Errorf("%d denied runs: %q", runs, w.rows())
		}
		check := func(when string) {
			t.Helper()
			if h := w.s.Holds()["asks"]; h.Why != jobspec.CodeBreakerOpen {
				t.Errorf("%s: hold is %+v", when, h)
			}
		}
		check("at once")
		if err := w.end(); err != nil {
			t.Fatal(err)
		}
		w.boot()
		check("after a restart")
		if err := w.release(); err != nil {
			t.Errorf("an operator: %v", err)
		}
	})
}

func TestAReleaseBetweenRunsBeginsNoNewSequence(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.outcomes()
		w.minutely()
		w.minutes(2)
		if err := errors.Join(w.s.Hold("asks", member, scheduler.Remark{}), w.s.ReleaseOwn("asks", member)); err != nil {
			t.Fatal(err)
		}
		if err := w.end(); err != nil {
			t.Fatal(err)
		}
		w.boot() // the ledger says the same
		if err := errors.Join(w.s.Hold("asks", member, scheduler.Remark{}), w.s.ReleaseOwn("asks", member)); err != nil {
			t.Fatal(err)
		}
		w.minutes(1)
		if h := w.s.Holds()["asks"]; h.Why != jobspec.CodeBreakerOpen {
			t.Errorf("three denied runs, and the hold is %+v", h)
		}
	})
}

// A run that left a protected name is looked at by an operator, whoever held the
// job meanwhile.
func TestAHoldOfAnotherDoesNotStandInForThatAboutAProtectedName(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.heldWhileItRuns(func(p *schedulertest.Process) record.End {
			end := p.End(record.OutcomeDenied)
			end.Denials = []record.Denial{{Code: jobspec.CodeFsProtectedCreated, Target: "/srv/.git", Count: 1}}
			return end
		})
		w.minutely()
		if runs := w.denyHeld(3); runs != 1 {
			t.Errorf("released by a member after %d runs: %q", runs, w.rows())
		}
		w.pass(time.Minute)
		w.want("started asks 30T12:01", "held asks", "held asks fs_protected_created", "finished asks 30T12:01 denied", "held asks 30T12:02 held job_held")
	})
}

func TestOnlyWhoHoldsReleasesTheOwnHold(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.minutely()
		for _, by := range []record.Requester{operator, {UID: member.UID + 1}} {
			if err := w.s.Hold("asks", by, scheduler.Remark{}); err != nil {
				t.Fatal(err)
			}
			if err := w.s.ReleaseOwn("asks", member); err == nil {
				t.Errorf("released a hold of %+v", by)
			}
			if err := w.release(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.s.ReleaseOwn("asks", member); jobspec.CodeOf(err) != jobspec.CodeJobNotHeld {
			t.Errorf("released what nobody holds: %v", err)
		}
	})
}

// Who may cancel a run, and a job that waits for its time to be over, end no
// sequence of denied runs.
func TestARunThatIsCutShortEndsNoSequence(t *testing.T) {
	for name, cut := range map[string]record.End{
		"killed with a denial":    {Outcome: record.OutcomeKilled, Denials: []record.Denial{{Code: jobspec.CodeEscSudo, Target: "sudo id", Count: 1}}},
		"timed out with a denial": {Outcome: record.OutcomeTimedOut, Denials: []record.Denial{{Code: jobspec.CodeEscSudo, Target: "sudo id", Count: 1}}},
		"killed before any":       {Outcome: record.OutcomeKilled},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
				runs := 0
				w.box.Payload = func(p *schedulertest.Process) record.End {
					if runs++; runs == 3 {
						end := p.End(cut.Outcome)
						end.Denials = cut.Denials
						return end
					}
					return p.End(record.OutcomeDenied)
				}
				w.minutely()
				w.minutes(4)
				if h := w.s.Holds()["asks"]; h.Why != jobspec.CodeBreakerOpen {
					t.Errorf("hold is %+v: %q", h, w.rows())
				}
			})
		})
	}
}
