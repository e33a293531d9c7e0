package checkpoint

import (
	"fmt"
	"strconv"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store/merkle"
)

const forkCode = jobspec.CodeCheckpointFork

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// follows says whether next may come after c in one log: it is not smaller, with
// the same size it has the same root, and neither its epoch nor its chain of ops
// is older. That the larger tree begins with the smaller one is for a proof to
// show, or for the lines.
func follows(c, next Checkpoint) error {
	switch {
	case next.Size < c.Size:
		return &Error{jobspec.CodeCheckpointRollback, fmt.Sprintf("a checkpoint of %d lines where one of %d lines came before", next.Size, c.Size)}
	case next.Size == c.Size && next.Root != c.Root:
		return &Error{forkCode, fmt.Sprintf("two checkpoints of %d lines with different roots", c.Size)}
	case next.Epoch < c.Epoch:
		return &Error{jobspec.CodeCheckpointRollback, fmt.Sprintf("a checkpoint of epoch %d where epoch %d came before", next.Epoch, c.Epoch)}
	case next.Seq < c.Seq:
		return &Error{jobspec.CodeCheckpointRollback, fmt.Sprintf("a checkpoint with op %d at the head of the chain where op %d came before", next.Seq, c.Seq)}
	case next.Seq == c.Seq && next.Head != c.Head && !c.Head.IsZero(): // zero before the first checkpoint alone
		return &Error{forkCode, fmt.Sprintf("two checkpoints with different ops %d at the head of the chain", c.Seq)}
	}
	return nil
}

// Follows says whether next continues the log of c, by a proof that its tree
// begins with that of c. Both were opened by Keys.
func Follows(c, next Checkpoint, proof []merkle.Hash) error {
	if c.Origin != next.Origin {
		return invalid("a checkpoint of the log %q, not of %q", next.Origin, c.Origin)
	}
	if err := follows(c, next); err != nil {
		return err
	}
	if err := merkle.CheckConsistency(proof, next.Size, next.Root, c.Size, c.Root); err != nil {
		return &Error{forkCode, "the ledger is not the one that was seen before: " + err.Error()}
	}
	return nil
}
