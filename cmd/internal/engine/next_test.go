package engine

import (
	"context"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// holding is a service in which one job is held.
type holding struct {
	Live
	job jobspec.Name
}

func (h holding) IsHeld(job jobspec.Name) bool { return job == h.job }
func (h holding) IsRunning(string) bool        { return false }

func TestSlotsOfAHeldJobSayThatTheyWillNotStart(t *testing.T) {
	b := newBench(t)
	for _, name := range []jobspec.Name{"first", "second"} {
		b.write(func(w *store.Writer) {
			op := storetest.Next(w.State(), jobspec.Add, name)
			op.Spec.Schedule = jobspec.Schedule{EverySeconds: 3600, Timezone: "UTC"}
			op.Spec.ExpiresAt = op.Created.Add(90 * 24 * time.Hour)
			storetest.Commit(t, w, op, b.sign)
		})
	}
	e := b.open(true)
	e.Attach(holding{job: "second"})
	status, err := e.Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	one, err := e.Next(context.Background(), api.NextQuery{Job: "second", Count: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(status.Next) < 2 || len(one) != 2 {
		t.Fatalf("%+v, %+v", status.Next, one)
	}
	for _, n := range append(status.Next, one...) {
		if held := len(n.Notes) == 1 && n.Notes[0] == heldNote; held != (n.Job == "second") {
			t.Errorf("%s at %s: notes %q", n.Job, n.At, n.Notes)
		}
	}
}
