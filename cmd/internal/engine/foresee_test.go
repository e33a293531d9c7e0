package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// stuck answers for the first of two jobs only when nobody waits any more.
type stuck struct{ asked int }

func (s *stuck) Probe(ctx context.Context) jobspec.Sandbox {
	if s.asked++; s.asked == 1 {
		<-ctx.Done()
	}
	return jobspec.Sandbox{}
}

func TestAJobThatCannotBeLookedAtHoldsNoOtherUp(t *testing.T) {
	before := foreseeTime
	foreseeTime = 2 * time.Second
	t.Cleanup(func() { foreseeTime = before })
	b := newBench(t)
	for _, name := range []jobspec.Name{"first", "second"} {
		b.write(func(w *store.Writer) {
			op := storetest.Next(w.State(), jobspec.Add, name)
			op.Spec.Schedule = jobspec.Schedule{EverySeconds: 3600, Timezone: "UTC"}
			op.Spec.ExpiresAt = op.Created.Add(90 * 24 * time.Hour)
			op.Spec.Backend.AnyOf = []string{jobspec.BackendBwrap}
			storetest.Commit(t, w, op, b.sign)
		})
	}
	e := b.open(true)
	sandbox := &stuck{}
	e.Examiner.Sandbox = sandbox
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	err := e.Foresee(ctx)
	if ctx.Err() != nil || sandbox.asked != 2 {
		t.Fatalf("%d jobs were looked at: %v", sandbox.asked, err)
	}
	if err == nil || !strings.Contains(err.Error(), "first") {
		t.Errorf("%v", err)
	}
	if e.future["first"].reason.Code != "" || e.future["second"].reason.Code == "" {
		t.Errorf("%+v", e.future)
	}
}
