package evidence

import (
	"fmt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
)

// chain is what the ops add up to, as far as they are linked.
type chain struct {
	ops     []chainOp
	genesis *jobspec.Op // nil: none that can be read
	places  map[jobspec.Digest]int64
}

// chainOp is one op that can be read.
type chainOp struct {
	store.Entry
	op        *jobspec.Op
	digest    jobspec.Digest
	namespace string // that it must be signed in; "" where the chain is broken
}

func opName(seq int64) string { return fmt.Sprintf("op %d", seq) }

// readChain follows the ops from genesis on. One that does not extend the chain is
// named, and the next is held against the same head.
func readChain(j *judgement, ev *Evidence) *chain {
	c := &chain{places: map[jobspec.Digest]int64{}}
	j.checked[complete] = ev.Pinned && len(ev.Ops) > 0
	if ev.Chain != nil {
		j.chain(ev.Chain)
	}
	view := &jobspec.View{}
	for _, e := range ev.Ops {
		j.Ops++
		j.checked[intact] = true
		op, err := jobspec.DecodeOp(e.Op)
		if err != nil {
			j.against(intact, jobspec.CodeOpTampered, opName(e.Seq), "%v", err)
			continue
		}
		o := chainOp{Entry: e, op: op, digest: jobspec.DigestOf(e.Op)}
		if o.namespace, err = view.Check(op); err != nil {
			j.against(intact, jobspec.CodeOf(err), opName(e.Seq), "%v", err)
		} else {
			view.Extend(op, o.digest)
		}
		if op.Action == jobspec.Genesis && c.genesis == nil {
			c.genesis = op
		}
		c.places[o.digest] = op.Seq
		c.ops = append(c.ops, o)
	}
	return c
}

// chain tells what was changed from what is missing, by what the pin says.
func (j *judgement) chain(err error) {
	q := intact
	switch jobspec.CodeOf(err) {
	case jobspec.CodeChainRollback, jobspec.CodeChainMissing:
		q, j.failed[intact] = complete, true
	}
	j.against(q, jobspec.CodeOr(err, jobspec.CodeChainBroken), "chain", "%v", err)
}

// host is whose chain it is, "" for none.
func (c *chain) host() jobspec.HostID {
	if c.genesis == nil {
		return ""
	}
	return c.genesis.Host
}
