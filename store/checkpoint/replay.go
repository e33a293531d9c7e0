package checkpoint

import (
	"fmt"
	"sort"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store/merkle"
)

// Named is a checkpoint with the place that it was found at, for messages.
type Named struct {
	Checkpoint
	Where string
}

// Fault is a checkpoint that the lines do not give.
type Fault struct {
	Named
	After  int64 // the lines up to this many are as an earlier checkpoint says
	Reason jobspec.Code
}

// Replay holds lines against checkpoints, all of them in one walk.
type Replay struct {
	all    []Named
	tree   merkle.Frontier
	good   int64 // size of the last checkpoint that held
	faults []Fault
}

// NewReplay takes the checkpoints, in any order.
func NewReplay(all []Named) *Replay {
	r := &Replay{all: append([]Named(nil), all...)}
	sort.SliceStable(r.all, func(i, j int) bool { return r.all[i].Size < r.all[j].Size })
	r.judge()
	return r
}

// Line takes the next line, without its line end.
func (r *Replay) Line(line []byte) { r.Leaf(merkle.LeafHash(line)) }

// Leaf takes the hash of the next line.
func (r *Replay) Leaf(h merkle.Hash) {
	r.tree.Add(h, nil)
	if len(r.all) > 0 && r.all[0].Size <= r.tree.Size() {
		r.judge()
	}
}

func (r *Replay) judge() {
	for len(r.all) > 0 && r.all[0].Size == r.tree.Size() {
		c := r.all[0]
		r.all = r.all[1:]
		if c.Root == r.tree.Root() {
			r.good = c.Size
			continue
		}
		r.faults = append(r.faults, Fault{Named: c, After: r.good, Reason: jobspec.CodeLedgerTampered})
	}
}

// End gives what does not fit, after the last line: checkpoints of another root,
// and those of more lines than there are. Proven is how many lines the largest
// checkpoint that holds vouches for.
func (r *Replay) End() (faults []Fault, proven int64) {
	for _, c := range r.all {
		r.faults = append(r.faults, Fault{Named: c, After: r.good, Reason: jobspec.CodeLedgerTruncated})
	}
	r.all = nil
	return r.faults, r.good
}

// Detail says what is wrong in words; lines is how many there are.
func (f Fault) Detail(lines int64) string {
	if f.Reason == jobspec.CodeLedgerTruncated {
		return fmt.Sprintf("%s vouches for %d lines, and %d are there", f.Where, f.Size, lines)
	}
	return fmt.Sprintf("%s vouches for %d lines with another root: a line from leaf %d to leaf %d was changed, removed, added or moved",
		f.Where, f.Size, f.After, f.Size-1)
}
