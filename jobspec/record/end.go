package record

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Facts are what stands in the record about the sandbox of one run.
type Facts struct {
	Backend     string
	BackendFile jobspec.Digest // of the sandbox program
	Plan        jobspec.Digest
	Stub        jobspec.Digest
	Layers      []string // measured, not planned
	Probe       string   // "passed"
	UID         int      // kernel uid of the payload
	Credentials []string // that the job sees, by name
	Soft        []string // limits that hold for single processes only
}

// End is how a run ended.
type End struct {
	Outcome     Outcome // succeeded, failed, timed_out, killed, denied; refused when the payload never started
	Reasons     []Reason
	StartedAt   time.Time // the payload's exec
	EndedAt     time.Time
	Exited      bool
	ExitCode    int
	Signal      string
	Denials     []Denial
	Connections []Connection
	Resources   Resources
	Outputs     []Captured
}

// Captured is what was kept of one stream; hashes are plain here and become
// commitments in the leaf.
type Captured struct {
	Stream    string // "out" or "err"
	Bytes     int64
	SHA256    jobspec.Digest
	Kept      int64
	KeptSHA   jobspec.Digest
	Truncated bool
}
