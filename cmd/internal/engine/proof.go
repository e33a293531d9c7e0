package engine

import (
	"context"
	"fmt"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/checkpoint"
)

// Prove makes the proof of a run: its last line, or with Full every line that opened
// or ended it. The run index says where they stand, the ledger is not read.
func (e *Engine) Prove(_ context.Context, q api.ProofQuery) (api.Proof, error) {
	row, err := e.row(q.Run)
	if err != nil {
		return api.Proof{}, err
	}
	point, err := e.point(q.Checkpoint)
	if err != nil {
		return api.Proof{}, err
	}
	if row.Index() >= point.Size {
		return api.Proof{}, api.New(jobspec.CodeCheckpointInvalid,
			fmt.Sprintf("run %s stands in line %d of the ledger, and the checkpoint has %d; one is made each minute", q.Run, row.Index()+1, point.Size))
	}
	out := api.Proof{Run: q.Run, Checkpoint: point.Note}
	if err := e.proveLines(&out, row, point, q.Full); err != nil {
		return api.Proof{}, err
	}
	chain, err := e.opened()
	if err != nil {
		return api.Proof{}, err
	}
	if out.Op, err = provenOp(chain, row.First().Seq); err == nil && q.Full {
		err = e.proveRoad(&out, chain, row)
	}
	return out, err
}

// point is the checkpoint that a proof is made in.
func (e *Engine) point(note string) (s store.Signed, err error) {
	if s.Note = note; note == "" {
		if s.Note, err = store.ReadCheckpoint(e.Site.Dirs); err != nil {
			return s, err
		}
	}
	if s.Note == "" {
		return s, api.New(jobspec.CodeCheckpointInvalid, "the ledger has no checkpoint yet; the service makes one each minute")
	}
	s.Checkpoint, err = checkpoint.Unverified(s.Note)
	return s, err
}

func (e *Engine) proveLines(out *api.Proof, row store.RunRow, point store.Signed, full bool) error {
	proofs, err := store.OpenProofs(e.Site.Dirs, e.history, point)
	if err != nil {
		return err
	}
	defer proofs.Close()
	prove := func(l *record.Leaf, index int64) error {
		line, err := l.Encode()
		if err != nil {
			return err
		}
		_, hashes, err := proofs.Leaf(index)
		if err != nil {
			return &checkpoint.Error{Reason: jobspec.CodeLedgerTampered, Detail: err.Error()}
		}
		p := api.ProvenLine{Index: index, Line: string(line)}
		for _, h := range hashes {
			p.Proof = append(p.Proof, h[:]...)
		}
		out.Lines = append(out.Lines, p)
		return nil
	}
	if full && row.Start != nil && row.Final != nil {
		if err := prove(row.Start, row.StartIndex); err != nil {
			return err
		}
	}
	return prove(row.Last(), row.Index())
}

// proveRoad adds what leads from genesis to the checkpoint and to the signer.
func (e *Engine) proveRoad(out *api.Proof, chain Entries, row store.RunRow) error {
	genesis, err := chain.Entry(0)
	if err != nil {
		return err
	}
	out.Genesis = string(genesis.Op)
	point, err := checkpoint.Unverified(out.Checkpoint)
	if err != nil {
		return err
	}
	ends, _, err := store.ReadEpochs(e.Site.Dirs)
	if err != nil {
		return err
	}
	out.Epochs = ends[:min(int64(len(ends)), point.Epoch-1)]
	if trust := row.First().Trust; !trust.IsZero() {
		list, err := store.ReadTrust(e.Site.Dirs, store.AllowedSigners, trust)
		if err != nil {
			return err
		}
		out.Signers = string(list)
	}
	return nil
}

func provenOp(chain Entries, seq int64) (api.ProvenOp, error) {
	entry, err := chain.Entry(seq)
	if err != nil {
		return api.ProvenOp{}, err
	}
	p := api.ProvenOp{Op: string(entry.Op)}
	for _, sig := range entry.Sigs {
		p.Sigs = append(p.Sigs, string(signing.Armor(sig)))
	}
	return p, nil
}
