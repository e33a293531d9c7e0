package store

import (
	"context"
	"errors"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store/merkle"
)

// recheckPace is after how many lines Recheck asks whether it is still wanted.
const recheckPace = 1 << 12

// Recheck reads every line that the newest checkpoint vouches for and holds them
// against it: OpenLog takes the kept hashes where they give its root, and so does
// not see what became of older lines. A million lines take about a second. The
// *Error says what is wrong with the ledger; any other error, that nobody can say.
func (l *Log) Recheck(ctx context.Context) error {
	newest := l.Newest()
	var tree merkle.Frontier
	err := l.ledger.ScanLines(0, func(index int64, line []byte) error {
		if index >= newest.Size {
			return errFound
		}
		if index%recheckPace == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		tree.Add(merkle.LeafHash(line), nil)
		return nil
	})
	switch {
	case errors.As(err, new(*LedgerError)):
		return l.fault(jobspec.CodeLedgerTampered, l.dirs.LedgerDir(), "%v", err)
	case err != nil && !errors.Is(err, errFound):
		return err
	case tree.Size() < newest.Size:
		return l.fault(jobspec.CodeLedgerTruncated, l.dirs.LedgerDir(), "the newest checkpoint vouches for %d lines, and %d are there", newest.Size, tree.Size())
	case newest.Note != "" && tree.Root() != newest.Root:
		return l.fault(jobspec.CodeLedgerTampered, l.dirs.LedgerDir(), "the first %d lines do not give the root of the newest checkpoint: one was changed, removed, added or moved", newest.Size)
	}
	return nil
}
