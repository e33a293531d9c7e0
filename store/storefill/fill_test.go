package storefill_test

import (
	"bytes"
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storefill"
	"github.com/sbxcron/sbxcron/store/storetest"
)

var jobs = flag.Int64("jobs", 20_000, "how many jobs the measured chain has")

// adds are ops of the size that add writes: some 1.5 KB, one job each.
func adds() storefill.Source {
	bound := jobspec.Bound{Role: jobspec.RoleExecutable, Typed: "./backup.sh", Real: "/srv/ops/backup.sh", Size: 812, SHA256: jobspec.DigestOf([]byte("x")), UID: 1000, Mode: "0755"}
	return storefill.Source{
		Op: func(seq int64, prev jobspec.Digest) ([]byte, error) {
			created := jobspec.InstantOf(storetest.Epoch().Add(time.Duration(seq) * time.Second))
			op := &jobspec.Op{
				Type: jobspec.OpType, Host: storetest.Host, Seq: seq, Prev: prev, Action: jobspec.Add, Job: jobspec.Name(fmt.Sprintf("job-%d", seq)), Revision: 1,
				Created: created, ApplyBefore: created.Add(24 * time.Hour), Principal: storetest.Principal, Tier: jobspec.Scratch, Net: jobspec.NetNone,
				Spec: &jobspec.Spec{
					Argv: []string{"./backup.sh", "--full"}, Bound: []jobspec.Bound{bound, bound},
					Schedule:  jobspec.Schedule{Cron: fmt.Sprintf("%d %d * * *", seq%60, seq/60%24), Timezone: "Europe/Berlin", Missed: "skip", Overlap: "skip", Words: "every day"},
					ExpiresAt: created.Add(90 * 24 * time.Hour), Limits: jobspec.Limits{TimeoutSeconds: 900, MemoryBytes: 1 << 30, PIDs: 512},
					Note: fmt.Sprintf("%0400d", seq),
				},
			}
			return op.Encode()
		},
		Sign: func([]byte) ([]byte, error) { return bytes.Repeat([]byte("s"), 300), nil },
	}
}

func filled(t testing.TB, n int64) store.Dirs {
	t.Helper()
	d := storetest.Root(t, "", "")
	lock := storetest.Lock(t, d)
	w := storetest.Begin(t, d, lock, nil)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := storefill.Chain(d, n+1, adds()); err != nil {
		t.Fatal(err)
	}
	return d
}

// A filled chain is proven, and is what a walk over its entries adds up to. So the
// proof that reads outlines on every processor is held against the plain one.
func TestAFilledChainIsProvenAndAddsUpToItsOps(t *testing.T) {
	const n = 3000
	d := filled(t, n)
	state, err := store.Load(d)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := store.ReadEntries(d)
	if err != nil || len(entries) != n+1 || state.Len() != n+1 {
		t.Fatalf("%d entries, %d ops are proven, error %v", len(entries), state.Len(), err)
	}
	var plain jobspec.View
	for _, e := range entries {
		op, err := jobspec.DecodeOp(e.Op)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plain.Check(op); err != nil {
			t.Fatal(err)
		}
		plain.Extend(op, jobspec.DigestOf(e.Op))
	}
	if plain.Head != state.View.Head || plain.Next != state.View.Next || plain.HeadCreated != state.View.HeadCreated {
		t.Errorf("head %s at %d, want %s at %d", state.View.Head, state.View.Next, plain.Head, plain.Next)
	}
	for j := range plain.All() {
		want, _ := plain.Timing(j.Name)
		got, _ := state.View.Timing(j.Name)
		if have, ok := state.View.Job(j.Name); !ok || have != j || got != want {
			t.Fatalf("%s is %+v due %+v, want %+v due %+v", j.Name, have, got, j, want)
		}
	}
}

// go test ./store/storefill -run none -bench ColdStart -jobs 1000000
func BenchmarkColdStart(b *testing.B) {
	d := filled(b, *jobs)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var state *store.State
	for b.Loop() {
		var err error
		if state, err = store.Load(d); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(state.Len()), "B/job")
}
