package evidence

import (
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
)

// Evidence is what is to be judged. Nothing in it is believed.
type Evidence struct {
	Ops     []store.Entry         // in order
	Dirs    store.Dirs            // where ledger, checkpoints, outputs and kept trust files lie
	History *store.History        // the ledger
	Lines   int64                 // how many of its lines are judged; they were there before Ops were read
	Outputs *store.Outputs        // nil: outputs are no part of it
	Living  func(run string) bool // runs that have no end yet because they go on; nil: none
	Pinned  bool                  // the chain was held against the pin, with this result:
	Chain   error

	prefix string // that paths are named without
}

// Anchor is what the auditor brings, from somewhere else than the evidence. The
// zero value vouches for nothing.
type Anchor struct {
	Genesis     jobspec.Digest  // of op 0, as init printed it
	Signers     []byte          // an allowed_signers file; what it does not name has not signed
	Checkpoints []store.Witness // that were seen before
	// Lists are those of the machine itself, newest first, where CONF is the anchor.
	Lists []*signing.Trust
}

// none reports whether there is nothing to judge signatures by.
func (a Anchor) none() bool { return a.Genesis.IsZero() && len(a.Signers) == 0 && len(a.Lists) == 0 }

// question is what a verdict answers.
type question uint8

const (
	authentic question = iota
	intact
	complete
	runs
)

// OfFolders is the evidence of an installation whose service does not run. Its files
// are read and not changed.
func OfFolders(d store.Dirs) (*Evidence, error) {
	ops, err := store.ReadEntries(d)
	if err != nil {
		return nil, err
	}
	h, err := store.OpenHistory(d)
	if err != nil {
		return nil, err
	}
	return &Evidence{Ops: ops, Dirs: d, History: h, Lines: h.Len(), Outputs: store.NewOutputs(d, nil)}, nil
}
