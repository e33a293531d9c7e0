package scheduler_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/scheduler/schedulertest"
)

// slowly makes preparations take a while that nobody cuts short, as those do
// that have gone too far.
func slowly(d time.Duration) func(context.Context, jobspec.Name) error {
	return func(context.Context, jobspec.Name) error {
		time.Sleep(d)
		return nil
	}
}

func TestWhatIsTakenOutOfForceWhileItIsPreparedDoesNotStart(t *testing.T) {
	for name, replace := range map[string]bool{"removed": false, "replaced": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
				w.box.Prepare = slowly(10 * time.Second)
				stays := w.job("stays", "1 12 * * *", "UTC")
				w.jobs.Set(stays, w.job("goes", "1 12 * * *", "UTC"))
				w.boot()
				w.pass(31 * time.Second)
				after := []scheduler.Entry{stays}
				if replace {
					after = append(after, w.job("goes", "5 12 * * *", "UTC"))
				}
				w.jobs.Set(after...)
				if err := w.s.Reload(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if got := w.box.Released(); len(got) != 1 || got[0] != "stays" {
					t.Errorf("released: %q, ledger %q", got, w.rows())
				}
				w.jobs.Set()
				if err := w.s.Reload(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

func TestAPreparationThatHangsIsRefusedAndGivesItsSeatBack(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.maxParallel = 1
		w.box.Prepare = func(ctx context.Context, job jobspec.Name) error {
			if job != "hangs" {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		w.jobs.Set(w.job("hangs", "1 12 * * *", "UTC"), w.job("waits", "1 12 * * *", "UTC"))
		w.boot()
		w.pass(time.Minute)
		time.Sleep(scheduler.PrepareTime + time.Second)
		synctest.Wait()
		w.want("refused hangs 30T12:01 refused sbx_setup_failed", "started waits 30T12:01", "finished waits 30T12:01 succeeded")
	})
}

func TestAJobThatLeftAProtectedNameIsHeldByTheService(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.box.Payload = func(p *schedulertest.Process) record.End {
			end := p.End(record.OutcomeDenied)
			end.Denials = []record.Denial{{Code: jobspec.CodeFsProtectedCreated, Target: "/srv/.git", Count: 1}}
			return end
		}
		e := w.job("plants", "* * * * *", "UTC")
		w.jobs.Set(e)
		w.boot()
		w.pass(time.Minute)
		w.pass(time.Minute)
		w.want("started plants 30T12:01", "held plants fs_protected_created", "finished plants 30T12:01 denied", "held plants 30T12:02 held job_held")
		w.covered(e, w.clock.Now())
	})
}
