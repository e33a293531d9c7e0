package evidence

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
)

// lines is what one walk over the ledger leaves to judge.
type lines struct {
	j       *judgement
	c       *chain
	opened  map[string]bool         // runs that started and have no end yet
	began   map[slotKey]time.Time   // the last slot of each spec that started
	pruned  map[string]bool         // runs whose outputs a pruned line names
	trusted map[jobspec.Digest]bool // lists of signers that a line under a checkpoint names
	outputs []store.OutputProblem
	proven  int64 // lines that a checkpoint vouches for
}

// slotKey names the slots of one spec.
type slotKey struct {
	job jobspec.Name
	op  jobspec.Digest
}

var errEnough = errors.New("lines that nobody asked about")

// readLines decodes every line, pairs starts with ends and holds kept outputs
// against what was committed to.
func readLines(j *judgement, ev *Evidence, c *chain, log *store.LogAudit) *lines {
	l := &lines{j: j, c: c, opened: map[string]bool{}, began: map[slotKey]time.Time{}, pruned: map[string]bool{},
		trusted: map[jobspec.Digest]bool{}, proven: log.Proven}
	if ev.Lines == 0 && ev.History.Damage() == nil {
		return l
	}
	j.checked[intact] = true
	err := ev.History.Scan(0, func(leaf store.Leaf) error {
		if leaf.Index >= ev.Lines {
			return errEnough
		}
		j.Leaves++
		l.leaf(leaf)
		if leaf.Kind == record.Finished && ev.Outputs != nil {
			l.outputs = append(l.outputs, ev.Outputs.Verify(leaf.Leaf)...)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		j.against(intact, jobspec.CodeOr(err, jobspec.CodeStoreCorrupt), "ledger", "%v", err)
	}
	l.end(ev.Living)
	return l
}

// end judges what only the last line can tell: runs without an end, and outputs
// that were not pruned and are gone.
func (l *lines) end(living func(string) bool) {
	for _, p := range l.outputs {
		if p.Fault != store.FaultMissing || !l.pruned[p.Run] {
			l.j.against(intact, jobspec.CodeStoreCorrupt, fmt.Sprintf("output %s of run %s", p.Stream, p.Run), "%s", p.Detail)
		}
	}
	for _, run := range slices.Sorted(maps.Keys(l.opened)) {
		if living == nil || !living(run) {
			l.j.against(complete, jobspec.CodeLostRun, "run "+run, "started, and no line says how it ended")
		}
	}
}

func (l *lines) leaf(leaf store.Leaf) {
	where := fmt.Sprintf("leaf %d", leaf.Index)
	if host := l.c.host(); host != "" && leaf.Host != host {
		l.j.against(intact, jobspec.CodeHostMismatch, where, "made by host %q", leaf.Host)
	}
	if leaf.Kind == record.TrustLoaded && leaf.Index < l.proven {
		l.trusted[leaf.Trust] = true
	}
	l.op(where, leaf)
	l.run(where, leaf)
}

// op holds a line that accepts an op, or says that a run had one, against the chain.
func (l *lines) op(where string, leaf store.Leaf) {
	switch leaf.Kind {
	case record.OpAccepted, record.Started, record.Claimed, record.Finished:
	default:
		return
	}
	if _, ok := l.c.places[leaf.Op]; !ok && !leaf.Op.IsZero() && len(l.c.ops) > 0 {
		l.j.against(complete, jobspec.CodeChainRollback, where, "it names op %d, %s, which the chain does not have", leaf.Seq, leaf.Op)
	}
}

func (l *lines) run(where string, leaf store.Leaf) {
	opens := leaf.Kind == record.Started || leaf.Kind == record.Claimed
	l.slot(where, leaf, opens)
	switch {
	case leaf.Kind == record.Pruned:
		l.pruned[leaf.Run] = true
	case opens:
		if l.opened[leaf.Run] {
			l.j.against(complete, jobspec.CodeStoreCorrupt, where, "run %s started twice", leaf.Run)
		}
		l.opened[leaf.Run] = true
	case leaf.Kind == record.Attempted && !l.opened[leaf.Run]:
		l.j.against(complete, jobspec.CodeStoreCorrupt, where, "run %s is tried again without a start, or behind its end", leaf.Run)
	case leaf.Run != "" && leaf.Final():
		if leaf.Kind == record.Finished && !l.opened[leaf.Run] {
			l.j.against(complete, jobspec.CodeStoreCorrupt, where, "run %s ended without a start", leaf.Run)
		}
		delete(l.opened, leaf.Run)
	}
}

// maxAhead is how far before its slot a line may cover it: a claim is made a moment
// before, and a clock may be set back in that moment.
const maxAhead = 10 * time.Minute

// slot holds what a line says of slots against its own time and against the lines
// before it: none is over before it comes, and none starts twice.
func (l *lines) slot(where string, leaf store.Leaf, opens bool) {
	c, covers := store.CoveredBy(leaf.Leaf)
	if !covers {
		return
	}
	if c.At.After(record.ParseStamp(leaf.Time).Add(maxAhead)) {
		l.j.against(intact, jobspec.CodeStoreCorrupt, where, "slot %s of job %s had not come when the line says that it was written", c.Slot, leaf.Job)
	}
	if !opens {
		return
	}
	key := slotKey{leaf.Job, leaf.Op}
	if last, ok := l.began[key]; ok && !c.At.After(last) {
		l.j.against(complete, jobspec.CodeStoreCorrupt, where, "slot %s of job %s was started before", c.Slot, leaf.Job)
	}
	l.began[key] = c.At
}
