package evidence

import (
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
)

// readLog holds the lines of the ledger against every checkpoint there is: those
// of the service, those that owners signed in ops, and those that were brought.
func readLog(j *judgement, ev *Evidence, c *chain, anchor Anchor) (*store.LogAudit, error) {
	if c.genesis == nil || c.genesis.Root == nil || c.genesis.Root.AuditKey == "" {
		return &store.LogAudit{}, nil // no key was certified: there is nothing to hold them against
	}
	witnesses := append(c.witnesses(), anchor.Checkpoints...)
	log, err := store.AuditLog(ev.Dirs, ev.History, c.genesis.Root.AuditKey, witnesses)
	if err != nil {
		return nil, err
	}
	for _, f := range log.Faults {
		j.failed[runs] = true
		j.against(questionOf(f.Reason), f.Reason, f.Where, "%s", f.Detail)
	}
	j.checked[runs] = log.Proven > 0
	j.checked[complete] = j.checked[complete] || log.Proven > 0
	if j.Proven = log.Proven; log.Newest.Note != "" {
		j.AsOf = log.Newest.Time
	}
	c.against(j, log.Newest.Checkpoint.Seq, log.Newest.Checkpoint.Head)
	return log, nil
}

// questionOf tells what was changed from what is missing.
func questionOf(code jobspec.Code) question {
	switch code {
	case jobspec.CodeLedgerTruncated, jobspec.CodeCheckpointRollback:
		return complete
	}
	return intact
}

// witnesses are the checkpoints that owners signed with their ops.
func (c *chain) witnesses() (all []store.Witness) {
	for _, o := range c.ops {
		if o.op.Checkpoint != "" {
			all = append(all, store.Witness{Where: opName(o.op.Seq), Note: o.op.Checkpoint})
		}
	}
	return all
}

// against holds the chain against the head that a checkpoint names.
func (c *chain) against(j *judgement, seq int64, head jobspec.Digest) {
	if head.IsZero() {
		return
	}
	switch at, ok := c.places[head]; {
	case !ok && seq >= int64(len(c.ops)):
		j.against(complete, jobspec.CodeChainRollback, opName(seq), "the newest checkpoint names it as the head of the chain, and it is missing")
	case !ok || at != seq:
		j.against(intact, jobspec.CodeOpTampered, opName(seq), "the newest checkpoint names another op in its place, %s", head)
	}
}
