package doctor

import (
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// HistoryFact is what is known of the ledger's checkpoints. The zero value is that
// nobody looked.
type HistoryFact struct {
	Asked    bool // the caller may read them
	Err      error
	Lines    int64 // that the newest one vouches for
	Epoch    int64 // 0: there is none
	Time     time.Time
	Syslog   bool   // the system's log listens
	Receipts Answer // nobody can take a receipt back
}

// unsignedFor is how old the newest checkpoint of a running service may be: it
// makes one each day, also where nothing happens.
const unsignedFor = 25 * time.Hour

// history says whether the ledger is signed, and whether that leaves the machine.
func history(f Facts) []Check {
	const name, elsewhere = "history", "run sbxcron audit follow from another machine, now and then"
	h := f.History
	switch {
	case !h.Asked:
		return nil
	case h.Err != nil:
		return []Check{fail(name, h.Err.Error(), jobspec.CodeCheckpointInvalid.Remedy())}
	case h.Epoch == 0:
		return []Check{warn(name, "the ledger is not signed yet", "start the service; it signs the ledger at once")}
	case f.Service && f.Now.Sub(h.Time) > unsignedFor:
		return []Check{fail(name, fmt.Sprintf("the service runs, and the newest checkpoint is of %s", h.Time.UTC().Format(time.RFC3339)), "sbxcron status says why none is made")}
	}
	signed := fmt.Sprintf("%d lines signed, epoch %d", h.Lines, h.Epoch)
	if h.Receipts == Yes {
		signed += ", receipts are append-only"
	}
	if !h.Syslog {
		return []Check{warn(name, signed+"; no log of the system listens, so checkpoints stay on this machine but for what owners sign", elsewhere)}
	}
	return []Check{ok(name, signed+", told to the system's log")}
}
