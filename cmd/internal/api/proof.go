package api

import (
	"github.com/sbxcron/sbxcron/jobspec"
)

// ProofQuery asks for the proof of one run.
type ProofQuery struct {
	Run        string
	Checkpoint string // the signed note in whose tree it is proven; "": the newest
	Full       bool   // with all that leads from genesis to it
}

// Proof shows that lines stand in the ledger, and which signed op they are about. It
// is to be checked, not believed: docs/ledger-format.md says how.
type Proof struct {
	Run        string       `json:"run"`
	Lines      []ProvenLine `json:"lines"`
	Checkpoint string       `json:"checkpoint"` // a signed note
	Op         ProvenOp     `json:"op"`

	// With ProofQuery.Full.
	Genesis string   `json:"genesis,omitempty"` // op 0; who brings its digest needs no signature of it
	Epochs  []string `json:"epochs,omitempty"`  // the last checkpoint of each epoch before
	Signers string   `json:"signers,omitempty"` // the allowed_signers that the start names
}

// ProvenLine is a line with the hashes that lead from it to the root.
type ProvenLine struct {
	Index int64  `json:"index"`
	Line  string `json:"line"`
	Proof []byte `json:"proof"` // of 32 bytes each, one behind the other
}

// ProvenOp is an op with its armoured signatures.
type ProvenOp struct {
	Op   string   `json:"op"`
	Sigs []string `json:"sigs"`
}

// Checked is what a proof was found to show.
type Checked struct {
	Run       string          `json:"run"`
	Job       jobspec.Name    `json:"job"`
	Slot      string          `json:"slot,omitempty"`
	Outcome   string          `json:"outcome"`
	Op        jobspec.Digest  `json:"op"`
	Principal string          `json:"principal"`
	Authentic string          `json:"authentic"` // who signed the op
	Intact    string          `json:"intact"`    // whether the lines stand under the checkpoint, and somebody vouches for that
	Problems  []Problem       `json:"problems"`
	AsOf      jobspec.Instant `json:"as_of,omitzero"`
}
