package evidence_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/evidence"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// fill records n runs, many a write, and a checkpoint behind them.
func (h *host) fill(n int) {
	j, _ := h.writer.State().View.Job("nightly")
	var batch []*record.Leaf
	for i := range n {
		h.now = h.now.Add(time.Minute).Truncate(time.Minute)
		run, err := record.NewRunID(h.now, rand.Reader)
		must(h.t, err)
		slot := jobspec.SlotAt(h.now, "UTC", 0)
		for _, kind := range []record.Kind{record.Started, record.Finished} {
			l := storetest.Leaf(kind, h.now)
			l.Job, l.Op, l.Seq, l.Run, l.Slot, l.Scheduled = "nightly", j.SpecOp, j.SpecSeq, run, &slot, record.Stamp(h.now)
			if kind == record.Finished {
				l.Outcome, l.Exited = record.OutcomeSucceeded, true
			}
			batch = append(batch, l)
		}
		if len(batch) >= 1000 || i == n-1 {
			_, err := h.ledger.Append(batch...)
			must(h.t, err)
			batch = nil
		}
	}
	h.checkpoint()
}

// What audit verify and audit prove take with a hundred thousand runs:
// go test ./cmd/internal/evidence -run '^$' -bench Evidence -benchtime 3x
func BenchmarkEvidence(b *testing.B) {
	h := newHost(b, "").history()
	h.fill(100_000)
	history, err := store.OpenHistory(h.dirs)
	must(b, err)
	var ops []store.Entry
	for seq := range h.writer.State().View.Next {
		e, err := h.writer.Entry(seq)
		must(b, err)
		ops = append(ops, e)
	}
	anchor := evidence.Anchor{Genesis: jobspec.DigestOf(ops[0].Op), Checkpoints: []store.Witness{{Where: "kept", Note: h.note}}}
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			v, err := evidence.Judge(&evidence.Evidence{Ops: ops, Dirs: h.dirs, History: history, Lines: history.Len()}, anchor)
			must(b, err)
			if v.Authentic != api.Pass || v.Intact != api.Pass || v.Complete != api.Pass || v.Runs != api.Pass || v.Leaves < 200_000 {
				b.Fatalf("%+v", v)
			}
		}
		b.ReportMetric(float64(history.Len())*float64(b.N)/b.Elapsed().Seconds(), "leaves/s")
	})
	b.Run("check", func(b *testing.B) {
		p := h.proof(100_001)
		for b.Loop() {
			if v := evidence.CheckProof(&p, evidence.Anchor{Checkpoints: anchor.Checkpoints}); len(v.Problems) > 1 { // it names another op here
				b.Fatalf("%+v", v)
			}
		}
	})
}
