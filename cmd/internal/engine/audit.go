package engine

import (
	"context"
	"errors"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/evidence"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
)

// Verify looks at everything that is stored: every signature, every link, every
// line of the ledger and every kept output. On this machine CONF is the anchor.
func (e *Engine) Verify(context.Context) (api.Audit, error) {
	ev := &evidence.Evidence{Dirs: e.Site.Dirs, History: e.history, Lines: e.history.Len(), Outputs: e.Outputs, Living: e.isRunning, Pinned: true, Chain: e.chainErr}
	ops, err := e.rawEntries()
	if ev.Ops = ops; err != nil {
		ev.Chain = err
	}
	var anchor evidence.Anchor
	if anchor.Lists, err = e.trusts(); err == nil {
		return evidence.Judge(ev, anchor)
	}
	v, failed := evidence.Judge(ev, evidence.Anchor{})
	if v.Ops > 0 {
		v.Authentic = api.Fail
		v.Problems = append(v.Problems, api.Problem{Code: string(jobspec.CodeOr(err, jobspec.CodeTrustRefused)), Where: "trust files", Detail: err.Error()})
	}
	return v, failed
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
