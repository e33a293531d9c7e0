package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
)

// forgeIndex puts in place the run index of another ledger, whose last line is the same:
// it is taken for this one's. The ledger itself stays as it is.
func (b *bench) forgeIndex(change func(l *record.Leaf)) {
	b.t.Helper()
	segments, err := filepath.Glob(filepath.Join(b.dirs.LedgerDir(), "*.jsonl"))
	must(b.t, err)
	if len(segments) != 1 {
		b.t.Fatalf("segments %q", segments)
	}
	truth, err := os.ReadFile(segments[0])
	must(b.t, err)
	lines := bytes.SplitAfter(bytes.TrimSuffix(truth, []byte("\n")), []byte("\n"))
	var forged []byte
	for i, line := range lines {
		if i == len(lines)-1 {
			forged = append(append(forged, line...), '\n')
			break
		}
		leaf, err := record.Decode(bytes.TrimSuffix(line, []byte("\n")))
		must(b.t, err)
		change(leaf)
		changed, err := leaf.Encode()
		must(b.t, err)
		forged = append(append(forged, changed...), '\n')
	}
	must(b.t, os.WriteFile(segments[0], forged, 0o600))
	must(b.t, os.Remove(b.dirs.RunsDB()))
	h, err := store.OpenHistory(b.dirs)
	must(b.t, err)
	runs, err := store.OpenRuns(b.dirs, h, "boot", folds()...)
	must(b.t, err)
	must(b.t, runs.Close())
	must(b.t, os.WriteFile(segments[0], truth, 0o600))
}

func TestAForgedRunIndexLiftsNoHoldAndPutsNothingInForce(t *testing.T) {
	b := newBench(t)
	b.commit(jobspec.Add, "on")
	b.commit(jobspec.Add, "off")
	b.commit(jobspec.Disable, "off")
	e, err := b.openOn(true, store.RealDisk{})
	must(t, err)
	must(t, e.NoteBoot(1))
	must(t, e.note(&record.Leaf{Kind: record.Held, Job: "on", RequestedBy: &record.Requester{UID: 0}}))
	must(t, e.note(&record.Leaf{Kind: record.Alert, Job: "on"}))
	must(t, e.Close())

	lie := b.now.Add(-30 * time.Minute)
	b.forgeIndex(func(l *record.Leaf) {
		switch {
		case l.Kind == record.Held:
			l.Kind = record.Released
		case l.Kind == record.OpAccepted && l.Job == "off": // of the add, and of the disable
			l.Job = "ghost"
		case l.Kind == record.OpAccepted && l.Job == "on":
			l.Time = record.Stamp(lie)
		}
	})

	e = b.open(true)
	known, err := e.runs.Accepted(10)
	must(t, err)
	if on, _ := e.chain.State().View.Job("on"); known.When[on.SpecSeq] != lie.UnixNano() {
		t.Fatalf("the forged index is not the one in use: %v", known)
	}
	holds, err := e.Holds()
	must(t, err)
	if holds["on"] == nil || len(holds) != 1 {
		t.Errorf("holds %v", holds)
	}
	all, _, err := e.Intervals()
	must(t, err)
	for _, i := range all {
		if i.Job != "on" && i.Until.IsZero() || i.Job == "ghost" {
			t.Errorf("in force: %+v", i)
		}
	}
	if v, err := e.Current("on"); err != nil || v.Refused != "" || !v.Signed.Valid() {
		t.Errorf("the signed job: %q, %v", v.Refused, err)
	}
	if v, err := e.Current("off"); err != nil || v.Refused != jobspec.CodeJobDisabled {
		t.Errorf("the disabled job: %q, %v", v.Refused, err)
	}
	if _, err := e.Current("ghost"); jobspec.CodeOf(err) != jobspec.CodeJobUnknown {
		t.Errorf("a job that nobody signed: %v", err)
	}
}
