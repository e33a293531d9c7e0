package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// What newer ops have changed, put on what was there, is what the whole chain says.
func TestChangesAddUpToTheIntervals(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	b := newBench(t)
	known, ops := map[jobspec.Name]scheduler.Key{}, int64(0)
	for round := range 12 {
		b.write(func(w *store.Writer) {
			for range 1 + r.IntN(6) {
				job := jobspec.Name(fmt.Sprintf("j%d", r.IntN(6)))
				action := []jobspec.Action{jobspec.Add, jobspec.Replace, jobspec.Disable, jobspec.Enable, jobspec.Remove}[r.IntN(5)]
				op := storetest.Next(w.State(), action, job)
				if op.Spec != nil {
					op.Spec.Schedule = jobspec.Schedule{Cron: fmt.Sprintf("%d * * * *", r.IntN(60)), Timezone: "UTC"}
				}
				if _, err := w.State().View.Check(op); err == nil {
					storetest.Commit(t, w, op, b.sign)
				}
			}
		})
		e := b.open(false)
		c, err := e.IntervalsSince(ops)
		must(t, err)
		if c.All {
			t.Fatalf("seed %d: a chain that grew is another one", seed)
		}
		for _, i := range c.Entries {
			known[i.Job] = scheduler.Key{Job: i.Job, Op: i.Op, Seq: i.Seq}
		}
		for _, job := range c.Gone {
			delete(known, job)
		}
		ops = c.Ops
		all, whole, err := e.Intervals()
		must(t, err)
		want := map[jobspec.Name]scheduler.Key{}
		for _, i := range all {
			if !i.Until.IsZero() {
				continue
			}
			want[i.Job] = scheduler.Key{Job: i.Job, Op: i.Op, Seq: i.Seq}
			for _, changed := range c.Entries {
				if changed.Job == i.Job && (changed.Schedule != i.Schedule || !changed.Anchor.Equal(i.Anchor) || changed.Principal != i.Principal || changed.Since.Before(i.Since)) {
					t.Errorf("seed %d, round %d: %+v, want %+v", seed, round, changed, i)
				}
			}
		}
		if fmt.Sprint(known) != fmt.Sprint(want) || ops != whole {
			t.Fatalf("seed %d, round %d: %d ops, %v, want %d, %v", seed, round, ops, known, whole, want)
		}
		must(t, e.Close())
	}
	e := b.open(false)
	if c, err := e.IntervalsSince(ops + 1); err != nil || !c.All || len(c.Entries) < len(known) {
		t.Errorf("a shorter chain: %+v, %v", c, err)
	}
}
