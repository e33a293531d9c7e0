package scheduler_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler"
)

// What is taken back while a sandbox is built is seen before anything starts, and
// its sandbox is put away.
func TestWhatIsTakenBackWhileItIsPreparedIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, want string
		later      func(w *world) (scheduler.Verified, error) // what the verifier says after the preparation
		again      []jobspec.Check
		unfit      bool // what the policy opens is not what was prepared
	}{
		{"revoked", "refused m 30T12:01 refused key_revoked",
			func(*world) (scheduler.Verified, error) {
				return scheduler.Verified{Identity: jobspec.CodeKeyRevoked}, nil
			}, nil, false},
		{"not verified any more", "refused m 30T12:01 refused identity_unproven",
			func(*world) (scheduler.Verified, error) { return scheduler.Verified{}, nil }, nil, false},
		{"cannot be told", "refused m 30T12:01 refused identity_unproven",
			func(*world) (scheduler.Verified, error) { return scheduler.Verified{}, errTest }, nil, false},
		{"another op", "skipped m 30T12:01 skipped head_moved",
			func(w *world) (scheduler.Verified, error) { return w.signed["other"], nil }, nil, false},
		{"denied by the policy of now", "refused m 30T12:01 refused cmd_denied_rule",
			nil, []jobspec.Check{{Step: "command", Verdict: "no", Code: jobspec.CodeCmdDeniedRule}}, false},
		{"given less by the policy of now", "refused m 30T12:01 refused net_over_ceiling", nil, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
				var prepared atomic.Bool
				w.box.Prepare = func(context.Context, jobspec.Name) error { prepared.Store(true); return nil }
				w.box.Again = func(jobspec.Name) []jobspec.Check { return c.again }
				w.box.Fits = func(jobspec.Name) bool { return !c.unfit }
				e := w.job("m", "1 12 * * *", "UTC")
				w.job("other", "1 12 * * *", "UTC")
				w.verify = func(job jobspec.Name) (scheduler.Verified, error) {
					if c.later != nil && prepared.Load() {
						return c.later(w)
					}
					return w.signed[job], nil
				}
				w.jobs.Set(e)
				w.boot()
				w.pass(time.Minute)
				w.want(c.want)
				if !prepared.Load() || len(w.box.Released()) != 0 {
					t.Errorf("prepared %v, released %q", prepared.Load(), w.box.Released())
				}
				w.covered(e, w.clock.Now())
			})
		})
	}
}
