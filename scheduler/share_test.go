package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler"
)

// of gives an entry to a principal and a tier.
func of(e scheduler.Entry, p jobspec.Principal, tier jobspec.Tier) scheduler.Entry {
	e.Principal, e.Tier = p, tier
	return e
}

// going counts the runs that are prepared or going on, by the first letter of the job.
func (w *world) going() map[string]int {
	n := map[string]int{}
	for _, r := range w.s.Running() {
		if r.State == "running" {
			n[string(r.Job[:1])]++
		}
	}
	return n
}

func TestAPrincipalAndATierHaveNoMoreSeatsThanThePolicySays(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.shares = func() (scheduler.Shares, bool) {
			return scheduler.Shares{Principals: map[jobspec.Principal]int{"ann": 2}, Tiers: map[jobspec.Tier]int{jobspec.Workspace: 3}}, true
		}
		w.box.Payload = w.lasting(constant(50 * time.Second))
		var all []scheduler.Entry
		for i := range 6 {
			all = append(all, of(w.job(fmt.Sprintf("a%d", i), "1 12 * * *", "UTC"), "ann", jobspec.Scratch), of(w.job(fmt.Sprintf("w%d", i), "1 12 * * *", "UTC"), "bob", jobspec.Workspace))
		}
		w.jobs.Set(all...)
		w.boot()
		w.pass(30 * time.Second)
		if got := w.going(); got["a"] != 2 || got["w"] != 3 {
			t.Errorf("going on: %v", got)
		}
		w.passBy(30*time.Second, 12)
		for _, e := range all {
			w.covered(e, w.clock.Now())
		}
		if n := len(w.box.Released()); n != 12 {
			t.Errorf("%d runs", n)
		}
	})
}

func TestAPrincipalWithSlowJobsStarvesNoOther(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.maxParallel = 4
		w.box.Payload = w.lasting(constant(time.Hour))
		var all []scheduler.Entry
		for i := range 20 {
			all = append(all, of(w.job(fmt.Sprintf("a%02d", i), "1 12 * * *", "UTC"), "ann", jobspec.Scratch))
		}
		all = append(all, of(w.job("b", "2 12 * * *", "UTC"), "bob", jobspec.Scratch), of(w.job("c", "3 12 * * *", "UTC"), "cid", jobspec.Scratch))
		w.jobs.Set(all...)
		w.boot()
		w.passBy(30*time.Second, 6)
		if got := w.going(); got["a"] != 2 || got["b"] != 1 || got["c"] != 1 {
			t.Errorf("going on: %v", got)
		}
	})
}
