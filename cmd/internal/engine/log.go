package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/checkpoint"
)

// openLog holds the ledger against its checkpoints, where the chain says which key
// they are signed with. What speaks against it is why nothing may run; nothing is
// appended then either.
func (e *Engine) openLog() error {
	if e.unsealed = false; e.ledger == nil || e.chain == nil {
		return nil
	}
	c, err := e.certified()
	if err == nil {
		e.log, err = store.OpenLog(e.ledger, c, e.AuditKeys, e.Disk)
	}
	if err == nil {
		err = e.heldBefore(e.chain.State().View.Checkpoint)
	}
	if err == nil {
		return nil
	}
	e.unsealed, e.chainErr = true, err
	err = e.ledger.Close()
	e.ledger, e.log = nil, nil
	if err != nil {
		return err
	}
	e.history, err = store.OpenHistory(e.Site.Dirs)
	return err
}

// certified reads the key of the first epoch from genesis, which the pin proves.
func (e *Engine) certified() (store.Certified, error) {
	genesis, err := e.genesis()
	if err != nil {
		return store.Certified{}, err
	}
	return store.Certified{Key: genesis.Root.AuditKey, Created: genesis.Created.Time()}, nil
}

func (e *Engine) genesis() (*jobspec.Op, error) {
	entry, err := e.chain.Entry(0)
	if err != nil {
		return nil, err
	}
	op, err := jobspec.DecodeOp(entry.Op)
	if err == nil && (op.Root == nil || !strings.HasPrefix(op.Root.AuditKey, checkpoint.Origin(op.Host)+"+")) {
		err = &jobspec.OpError{Reason: jobspec.CodeSpecMalformed, Detail: "genesis names no audit key of this host"}
	}
	return op, err
}

// heldBefore refuses a ledger that is not the one an owner has seen.
func (e *Engine) heldBefore(note string) error {
	if note == "" || e.log == nil {
		return nil
	}
	if err := e.log.Witness(note); err != nil {
		return fmt.Errorf("the checkpoint of an op: %w", err)
	}
	return nil
}

// Checkpoint signs what was appended since the last one.
func (e *Engine) Checkpoint() ([]store.Signed, error) {
	e.mu.RLock()
	log, chain := e.log, e.chain
	e.mu.RUnlock()
	if log == nil || chain == nil {
		return nil, errors.New("make a checkpoint: the ledger is not open for appending")
	}
	pin := chain.State().Pin
	return log.Checkpoint(e.Now(), store.Head{Seq: pin.Seq, Digest: pin.Digest})
}

// RecheckLedger reads the whole signed ledger again. What does not fit its newest
// checkpoint keeps everything from running from then on, and is a line of the
// ledger. Another error says that nobody could tell.
func (e *Engine) RecheckLedger(ctx context.Context) error {
	e.mu.RLock()
	log := e.log
	e.mu.RUnlock()
	if log == nil {
		return nil
	}
	err := log.Recheck(ctx)
	if !errors.As(err, new(*store.Error)) {
		return err
	}
	e.mu.Lock()
	e.unsealed, e.chainErr = true, err
	e.mu.Unlock()
	alert := &record.Leaf{Kind: record.Alert, Reasons: []record.Reason{{Code: jobspec.CodeOf(err), Detail: err.Error()}}}
	return errors.Join(err, e.note(alert))
}

// Seal gives the newest checkpoint with what leads to it from what the caller
// remembers: the checkpoints that certify the keys since, and a proof that the
// tree begins with the one that was seen. Without any checkpoint it is empty.
func (e *Engine) Seal(_ context.Context, q api.SealQuery) (api.Seal, error) {
	chain, err := e.opened()
	if err != nil {
		return api.Seal{}, err
	}
	genesis, err := chain.Entry(0)
	if err != nil {
		return api.Seal{}, err
	}
	out := api.Seal{Genesis: genesis.Op}
	note, err := store.ReadCheckpoint(e.Site.Dirs)
	if err != nil || note == "" {
		return out, err
	}
	c, err := checkpoint.Unverified(note)
	if err != nil {
		return api.Seal{}, err
	}
	out.Checkpoint = note
	ends, _, err := store.ReadEpochs(e.Site.Dirs)
	if err != nil {
		return api.Seal{}, err
	}
	if first := max(q.Epoch, 1) - 1; first < int64(len(ends)) {
		out.Epochs = ends[first:]
	}
	if q.Size <= 0 || q.Size > c.Size {
		return out, nil // who has seen more will say so
	}
	proofs, err := store.OpenProofs(e.Site.Dirs, e.history, store.Signed{Checkpoint: c, Note: note})
	if err != nil {
		return api.Seal{}, err
	}
	defer proofs.Close()
	proof, err := proofs.From(q.Size)
	if err != nil {
		return api.Seal{}, &checkpoint.Error{Reason: jobspec.CodeLedgerTampered, Detail: err.Error()}
	}
	for _, h := range proof {
		out.Proof = append(out.Proof, h.Base64())
	}
	return out, nil
}
