package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
)

// audit gathers findings; each verdict falls with the first one against it.
type audit struct {
	api.Audit
	opened  map[string]bool       // runs that started and have no end yet
	began   map[slotKey]time.Time // the last slot of each spec that started
	pruned  map[string]bool       // runs whose outputs a pruned line names
	outputs []store.OutputProblem
}

func (a *audit) against(verdict *string, code jobspec.Code, where, detail string) {
	*verdict = api.Fail
	a.Problems = append(a.Problems, api.Problem{Code: string(code), Where: where, Detail: detail})
}

// againstChain tells what was changed from what is missing.
func (a *audit) againstChain(err error) {
	switch code := jobspec.CodeOf(err); code {
	case jobspec.CodeChainRollback, jobspec.CodeChainMissing:
		a.Intact = api.Fail
		a.against(&a.Complete, code, "chain", err.Error())
	default:
		a.against(&a.Intact, code, "chain", err.Error())
	}
}

func opName(seq int64) string { return fmt.Sprintf("op %d", seq) }

// Verify looks at everything that is stored: every signature, every link, every
// line of the ledger and every kept output. On this machine CONF is the anchor.
// runs stays not_checked until the ledger has checkpoints.
func (e *Engine) Verify(context.Context) (api.Audit, error) {
	a := &audit{opened: map[string]bool{}, began: map[slotKey]time.Time{}, pruned: map[string]bool{}}
	a.Authentic, a.Intact, a.Complete, a.Runs = api.NotChecked, api.NotChecked, api.NotChecked, api.NotChecked
	a.Problems = []api.Problem{}
	e.auditChain(a)
	if err := e.auditLedger(a); err != nil {
		return api.Audit{}, err
	}
	return a.Audit, nil
}

// auditChain reads the raw entries, so that it can name what is wrong in a chain
// that cannot be opened.
func (e *Engine) auditChain(a *audit) {
	entries, err := e.rawEntries()
	if err != nil {
		a.againstChain(err)
		return
	}
	if len(entries) == 0 {
		return // nothing to check is never a pass
	}
	a.Ops = int64(len(entries))
	a.Intact = api.Pass
	if e.chainErr != nil {
		a.againstChain(e.chainErr)
	}
	trusts, err := e.trusts()
	if err != nil {
		a.against(&a.Authentic, jobspec.CodeOf(err), "trust files", err.Error())
		return
	}
	a.Authentic = api.Pass
	view := &jobspec.View{}
	for _, entry := range entries {
		auditOp(a, trusts, view, entry)
	}
}

// auditOp judges one op as it was judged when it was applied, but for the trust
// files: any signer that was ever accepted counts.
func auditOp(a *audit, trusts []*signing.Trust, view *jobspec.View, entry store.Entry) {
	op, err := jobspec.DecodeOp(entry.Op)
	if err != nil {
		a.against(&a.Intact, jobspec.CodeOpTampered, opName(entry.Seq), err.Error())
		return
	}
	namespace, err := view.Check(op)
	if err != nil {
		a.against(&a.Intact, jobspec.CodeOf(err), opName(entry.Seq), err.Error())
	} else {
		view.Extend(op, jobspec.DigestOf(entry.Op))
	}
	r, err := checkEver(trusts, entry, op)
	switch {
	case err != nil:
		a.against(&a.Authentic, jobspec.CodeOf(err), opName(entry.Seq), err.Error())
	case r.Signer.Principal != string(op.Principal):
		a.against(&a.Authentic, jobspec.CodeKeyNotForPrincipal, opName(entry.Seq), "the key belongs to another principal than the op names")
	case namespace != "" && r.Signature.Namespace != namespace:
		a.against(&a.Authentic, jobspec.CodeNamespaceMismatch, opName(entry.Seq), namespaceError(op, r.Signature.Namespace, namespace).Error())
	}
}

// auditLedger reads every line, pairs starts with ends and holds the kept
// outputs against their commitments.
func (e *Engine) auditLedger(a *audit) error {
	if e.history.Len() == 0 && e.history.Damage() == nil {
		return nil
	}
	if a.Complete == api.NotChecked {
		a.Complete = api.Pass
	}
	err := e.history.Scan(0, func(l store.Leaf) error {
		a.Leaves++
		e.auditLeaf(a, l)
		return nil
	})
	if err != nil {
		a.against(&a.Intact, jobspec.CodeOf(err), "ledger", err.Error())
	}
	if a.Intact == api.NotChecked && err == nil {
		a.Intact = api.Pass
	}
	a.judgeOutputs()
	for run := range a.opened {
		if !e.isRunning(run) {
			a.against(&a.Complete, jobspec.CodeLostRun, "run "+run, "started, and no line says how it ended")
		}
	}
	return nil
}

// judgeOutputs tells what was pruned, and says so in the ledger, from what is
// missing or was changed.
func (a *audit) judgeOutputs() {
	for _, p := range a.outputs {
		if p.Fault == store.FaultMissing && a.pruned[p.Run] {
			continue
		}
		a.against(&a.Intact, jobspec.CodeStoreCorrupt, fmt.Sprintf("output %s of run %s", p.Stream, p.Run), p.Detail)
	}
}

func (e *Engine) auditLeaf(a *audit, l store.Leaf) {
	where := fmt.Sprintf("leaf %d", l.Index)
	if l.Host != e.host() {
		a.against(&a.Intact, jobspec.CodeHostMismatch, where, fmt.Sprintf("made by host %q", l.Host))
	}
	opens := l.Kind == record.Started || l.Kind == record.Claimed
	a.auditSlot(where, l, opens, record.ParseStamp(l.Time))
	switch {
	case l.Kind == record.Pruned:
		a.pruned[l.Run] = true
	case opens:
		if a.opened[l.Run] {
			a.against(&a.Complete, jobspec.CodeStoreCorrupt, where, fmt.Sprintf("run %s started twice", l.Run))
		}
		a.opened[l.Run] = true
	case l.Kind == record.Attempted && !a.opened[l.Run]:
		a.against(&a.Complete, jobspec.CodeStoreCorrupt, where, fmt.Sprintf("run %s is tried again without a start, or behind its end", l.Run))
	case l.Run != "" && l.Final():
		if l.Kind == record.Finished && !a.opened[l.Run] {
			a.against(&a.Complete, jobspec.CodeStoreCorrupt, where, fmt.Sprintf("run %s ended without a start", l.Run))
		}
		delete(a.opened, l.Run)
	}
	if l.Kind != record.Finished {
		return
	}
	a.outputs = append(a.outputs, e.Outputs.Verify(l.Leaf)...)
}

// entries are all ops of the open chain.
func (e *Engine) entries() ([]store.Entry, error) {
	state := e.chain.State()
	all := make([]store.Entry, 0, state.Len())
	var bad []error
	for seq := range state.Len() {
		entry, err := e.chain.Entry(seq)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		all = append(all, entry)
	}
	return append(all, state.Pending...), errors.Join(bad...)
}
