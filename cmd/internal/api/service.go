package api

import (
	"context"
	"io"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Service is everything that the command line asks for. Errors are *Error.
type Service interface {
	Head(ctx context.Context) (Head, error)
	Submit(ctx context.Context, s Submission) (Accepted, error)
	// SubmitAll puts ops in force that extend the chain one after the other. All
	// of them are judged before the first is committed: where one is refused,
	// none is in force.
	SubmitAll(ctx context.Context, all []Submission) ([]Accepted, error)

	Jobs(ctx context.Context) ([]Job, error)
	// Listed is one line of Jobs, an error with job_unknown for a name that is not
	// among them.
	Listed(ctx context.Context, name jobspec.Name) (Job, error)
	Job(ctx context.Context, name jobspec.Name) (JobDetail, error)
	Next(ctx context.Context, q NextQuery) ([]Next, error)
	Days(ctx context.Context, q DaysQuery) ([]Day, error)
	History(ctx context.Context, q HistoryQuery) ([]Run, error)
	// Run gives one run. With wait it returns when the run has ended.
	Run(ctx context.Context, id string, wait bool) (Run, error)
	// Explain says what would happen now to a job.
	Explain(ctx context.Context, name jobspec.Name) (Explanation, error)
	// Output gives the kept bytes of a stream from offset on. The caller closes it.
	Output(ctx context.Context, run, stream string, offset int64) (io.ReadCloser, error)
	Status(ctx context.Context) (Status, error)

	// Start asks for a run by hand; it returns once the run has started or was refused.
	Start(ctx context.Context, name jobspec.Name) (Run, error)
	Cancel(ctx context.Context, run string) error
	// Hold stops a job until it is released, or until the given time where that is
	// not zero.
	Hold(ctx context.Context, name jobspec.Name, reason string, until time.Time) error
	Release(ctx context.Context, name jobspec.Name) error

	// Prove gives the proof of a run.
	Prove(ctx context.Context, q ProofQuery) (Proof, error)
	// Seal gives the newest checkpoint of the ledger to whoever remembers an older one.
	Seal(ctx context.Context, q SealQuery) (Seal, error)

	Verify(ctx context.Context) (Audit, error)
	Ops(ctx context.Context) ([]OpFile, error)
	Close() error
}

// Head is what a new op must extend. The owner's own tool builds the bytes.
type Head struct {
	Host    jobspec.HostID  `json:"host"`
	Seq     int64           `json:"seq"` // of the next op
	Prev    jobspec.Digest  `json:"prev"`
	Created jobspec.Instant `json:"created"` // of the last op: the next must not lie before it
	Now     time.Time       `json:"now"`     // the service's effective time
	// Jobs counts what is not removed, by principal.
	Jobs map[jobspec.Principal]int64 `json:"jobs,omitempty"`
	// Credentials are those of the policy that there is a value for, by name.
	Credentials []string `json:"credentials,omitempty"`
}

// SealQuery says what the caller remembers; zero is nothing.
type SealQuery struct {
	Epoch int64 // whose key it knows
	Size  int64 // lines of the ledger that it has seen a checkpoint of
}

// Seal is a checkpoint with what leads to it. Nothing in it is to be believed
// before package checkpoint has verified it.
type Seal struct {
	Genesis    []byte   `json:"genesis"`              // op 0, which certifies the first key
	Epochs     []string `json:"epochs,omitempty"`     // last checkpoints, from the asked epoch on
	Checkpoint string   `json:"checkpoint,omitempty"` // the newest
	Proof      []string `json:"proof,omitempty"`      // that it begins with what was seen
}

// Submission is a signed op: exact bytes and the SSHSIG blob in binary form.
type Submission struct {
	Op  []byte `json:"op"`
	Sig []byte `json:"sig"`
}

// MaxPlan is how many ops are put in force together.
const MaxPlan = 1000

// MaxPlanBytes bounds their bytes and signatures together.
const MaxPlanBytes = 8 << 20

// Accepted says that an op is in force and pinned.
type Accepted struct {
	Job      jobspec.Name   `json:"job"`
	Op       jobspec.Digest `json:"op"`
	Seq      int64          `json:"seq"`
	Revision int64          `json:"revision"`
	Next     *time.Time     `json:"next,omitempty"`
}
