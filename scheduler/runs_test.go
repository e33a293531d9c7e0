package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/scheduler/schedulertest"
)

var operator = record.Requester{UID: 1000}

func TestARefusalAnywhereIsOneRowAndNothingRuns(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(w *world)
		want  string
	}{
		{"the store cannot tell", func(w *world) {
			w.verify = func(jobspec.Name) (scheduler.Verified, error) { return scheduler.Verified{}, errTest }
		}, "refused m 30T12:01 refused identity_unproven"},
		{"the store gives a reason", func(w *world) {
			w.verify = func(jobspec.Name) (scheduler.Verified, error) {
				return scheduler.Verified{}, fmt.Errorf("read op: %w", &scheduler.Refusal{Reason: record.Reason{Code: jobspec.CodeOpTampered}})
			}
		}, "refused m 30T12:01 refused op_tampered"},
		{"the signature does not hold", func(w *world) {
			w.verify = func(jobspec.Name) (scheduler.Verified, error) {
				return scheduler.Verified{Identity: jobspec.CodeSigInvalid}, nil
			}
		}, "refused m 30T12:01 refused sig_invalid"},
		{"nothing was verified and the examiner does not mind", func(w *world) {
			w.verify = func(jobspec.Name) (scheduler.Verified, error) { return scheduler.Verified{}, nil }
		}, "refused m 30T12:01 refused identity_unproven"},
		{"the job was replaced", func(w *world) {
			w.signed["other"] = w.signed["m"]
			w.job("m", "5 * * * *", "UTC")
		}, "skipped m 30T12:01 skipped head_moved"},
		{"the decision is no", func(w *world) {
			w.box.Refuse = func(jobspec.Name) []jobspec.Check {
				return []jobspec.Check{{Code: jobspec.CodeDriftScript}, {Code: jobspec.CodeExpired}}
			}
		}, "refused m 30T12:01 refused drift_script expired"},
		{"the sandbox cannot be built", func(w *world) {
			w.box.Prepare = func(context.Context, jobspec.Name) error {
				return &scheduler.Refusal{Reason: record.Reason{Code: jobspec.CodeSbxSelftestFailed}}
			}
		}, "refused m 30T12:01 refused sbx_selftest_failed"},
		{"the sandbox fails without a reason", func(w *world) {
			w.box.Prepare = func(context.Context, jobspec.Name) error { return errTest }
		}, "refused m 30T12:01 refused sbx_setup_failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
				e := w.job("m", "1 12 * * *", "UTC")
				w.jobs.Set(e)
				c.spoil(w)
				w.boot()
				w.pass(time.Minute)
				w.want(c.want)
				if n := len(w.box.Released()); n != 0 {
					t.Errorf("%d runs were let go", n)
				}
				w.covered(e, w.clock.Now())
			})
		})
	}
}

func TestAPayloadThatIsNotLetGoIsFinishedAsRefused(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.box.Release = func(jobspec.Name) error { return errTest }
		w.jobs.Set(w.job("m", "1 12 * * *", "UTC"))
		w.boot()
		w.pass(time.Minute)
		w.want("started m 30T12:01", "finished m 30T12:01 refused sbx_setup_failed")
	})
}

func TestNothingRunsThatTheLedgerDoesNotTake(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.jobs.Set(w.job("a", "1 12 * * *", "UTC"), w.job("b", "2 12 * * *", "UTC"))
		w.boot()
		w.ledger.CrashAfter(0)
		w.pass(time.Minute)
		w.pass(time.Minute)
		if len(w.box.Released()) != 0 {
			t.Error("a run was let go")
		}
		var audit *scheduler.AuditError
		if err := <-w.ended; !errors.As(err, &audit) || jobspec.CodeOf(err) != jobspec.CodeAuditUnavailable || !errors.Is(err, schedulertest.ErrCrashed) {
			t.Errorf("Run: %v", err)
		}
		if _, err := w.s.RunNow("a", operator); !errors.As(err, &audit) {
			t.Errorf("RunNow: %v", err)
		}
		w.s = nil
	})
}

func TestAPanicEndsOneRunAndLeavesItsRow(t *testing.T) {
	boom := func(at string) func() {
		return func() { panic("boom in " + at) }
	}
	for _, c := range []struct {
		name  string
		spoil func(w *world, boom func())
		want  string
	}{
		{"verify", func(w *world, boom func()) {
			w.verify = func(j jobspec.Name) (scheduler.Verified, error) {
				if j == "bad" {
					boom()
				}
				return w.signed[j], nil
			}
		}, "refused bad 30T12:01 refused internal"},
		{"decide", func(w *world, boom func()) {
			w.box.Refuse = func(j jobspec.Name) []jobspec.Check {
				if j == "bad" {
					boom()
				}
				return nil
			}
		}, "refused bad 30T12:01 refused internal"},
		{"prepare", func(w *world, boom func()) {
			w.box.Prepare = func(_ context.Context, j jobspec.Name) error {
				if j == "bad" {
					boom()
				}
				return nil
			}
		}, "refused bad 30T12:01 refused internal"},
		{"wait", func(w *world, boom func()) {
			w.box.Payload = func(p *schedulertest.Process) record.End {
				if p.Job == "bad" {
					boom()
				}
				return p.End(record.OutcomeSucceeded)
			}
		}, "lost bad 30T12:01 lost internal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
				bad, good := w.job("bad", "1,2 12 * * *", "UTC"), w.job("good", "1,2 12 * * *", "UTC")
				c.spoil(w, boom(c.name))
				w.jobs.Set(bad, good)
				w.boot()
				w.pass(time.Minute)
				w.pass(time.Minute)
				got := strings.Join(w.rows(), "\n")
				for _, line := range []string{c.want, strings.Replace(c.want, "12:01", "12:02", 1), "finished good 30T12:01 succeeded", "finished good 30T12:02 succeeded"} {
					if !strings.Contains(got, line) {
						t.Errorf("no row %q in\n%s", line, got)
					}
				}
				w.covered(bad, w.clock.Now())
			})
		})
	}
}

func TestAManualRunTakesTheSameRoad(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.job("m", "0 9 * * *", "UTC")
		w.jobs.Set(e)
		w.box.Payload = w.lasting(constant(time.Minute))
		w.boot()
		h, err := w.s.RunNow("m", operator)
		if err != nil {
			t.Fatal(err)
		}
		started, err := h.Decided(context.Background())
		if err != nil || started.Kind != record.Started || started.Trigger != record.ByHand || started.Slot != nil || *started.RequestedBy != operator || started.Op != e.Op {
			t.Fatalf("%+v %v", started, err)
		}
		second, _ := w.s.RunNow("m", operator)
		if row, _ := second.Done(context.Background()); row.Kind != record.Refused || row.Reasons[0].Code != jobspec.CodeOverlapSkipped || row.Reasons[0].Target != h.ID() {
			t.Errorf("%+v", row)
		}
		if r := w.s.Running(); len(r) != 1 || r[0].Run != h.ID() || r[0].State != "running" || r[0].Trigger != record.ByHand || r[0].Job != "m" {
			t.Errorf("%+v", r)
		}
		w.pass(time.Minute)
		if row, err := h.Done(context.Background()); err != nil || row.Outcome != record.OutcomeSucceeded || row.Run != h.ID() {
			t.Errorf("%+v %v", row, err)
		}
		unknown, _ := w.s.RunNow("nobody", operator)
		if row, err := unknown.Done(context.Background()); err != nil || row.Reasons[0].Code != jobspec.CodeJobUnknown {
			t.Errorf("%+v %v", row, err)
		}
	})
}

func TestCancelEndsARunAtEachStage(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.maxParallel = 2
		w.jobs.Set(w.job("going", "1 12 * * *", "UTC"), w.job("prep", "1 12 * * *", "UTC"), w.job("waits", "1 12 * * *", "UTC"))
		w.box.Payload = w.lasting(constant(time.Hour))
		w.box.Prepare = func(ctx context.Context, job jobspec.Name) error {
			if job == "prep" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		w.boot()
		w.pass(time.Minute)
		for _, r := range w.s.Running() {
			if want := map[jobspec.Name]string{"going": "running", "prep": "preparing", "waits": "queued"}[r.Job]; r.State != want {
				t.Errorf("%s is %s", r.Job, r.State)
			}
		}
		for _, job := range []jobspec.Name{"waits", "prep", "going"} {
			for _, r := range w.s.Running() {
				if r.Job == job {
					if err := w.s.Cancel(r.Run, operator); err != nil {
						t.Error(err)
					}
				}
			}
			synctest.Wait()
		}
		w.want("started going 30T12:01", "skipped waits 30T12:01 skipped canceled", "skipped prep 30T12:01 skipped canceled", "finished going 30T12:01 killed canceled")
		for _, l := range w.ledger.Rows()[1:] {
			if l.RequestedBy == nil || *l.RequestedBy != operator {
				t.Errorf("%s %s was canceled by %v", l.Kind, l.Job, l.RequestedBy)
			}
		}
		var refused *scheduler.Refusal
		if err := w.s.Cancel("r-none", operator); !errors.As(err, &refused) {
			t.Errorf("%v", err)
		}
	})
}

func TestAHoldKeepsSlotsFromRunningAndSurvivesARestart(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		e := w.job("m", "* * * * *", "UTC")
		w.jobs.Set(e)
		w.boot()
		if err := w.s.Hold("m", operator, scheduler.Remark{}); err != nil {
			t.Fatal(err)
		}
		var refused *scheduler.Refusal
		if err := w.s.Hold("m", operator, scheduler.Remark{}); !errors.As(err, &refused) || refused.Reason.Code != jobspec.CodeJobHeld {
			t.Errorf("second hold: %v", err)
		}
		w.pass(time.Minute)
		if h, _ := w.s.RunNow("m", operator); h != nil {
			if row, _ := h.Done(context.Background()); row.Reasons[0].Code != jobspec.CodeJobHeld {
				t.Errorf("%+v", row)
			}
		}
		w.end()
		w.boot()
		if h, ok := w.s.Holds()["m"]; !ok || h.By != operator {
			t.Errorf("holds after a restart: %v", w.s.Holds())
		}
		w.pass(time.Minute)
		if err := w.s.Release("m", operator); err != nil {
			t.Fatal(err)
		}
		if err := w.s.Release("m", operator); !errors.As(err, &refused) {
			t.Errorf("second release: %v", err)
		}
		w.pass(time.Minute)
		w.want("held m", "held m 30T12:01 held job_held", "refused m refused job_held", "held m 30T12:02 held job_held", "released m",
			"started m 30T12:03", "finished m 30T12:03 succeeded")
		w.covered(e, w.clock.Now())
	})
}

func TestAHoldStopsARunThatStillWaits(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.maxParallel = 1
		w.box.Payload = w.lasting(constant(30 * time.Second))
		w.jobs.Set(w.job("a", "1 12 * * *", "UTC"), w.job("b", "1 12 * * *", "UTC"))
		w.boot()
		w.pass(time.Minute)
		if err := w.s.Hold("b", operator, scheduler.Remark{}); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		w.want("started a 30T12:01", "held b", "finished a 30T12:01 succeeded", "held b 30T12:01 held job_held")
	})
}
