package runner

import (
	"context"
	"fmt"
	"os"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Backend builds sandboxes.
type Backend interface {
	// Name is the word in specs and records.
	Name() string
	// Probe says whether the backend works on this machine, by trying.
	Probe(ctx context.Context) jobspec.Sandbox
	// Prepare builds the sandbox up to the barrier: everything is mounted, every
	// layer is in force and measured, and nothing of the job has run. Its error
	// is a *Refusal. Prepare does not take over plan; the caller closes it after
	// Release or Discard.
	Prepare(ctx context.Context, plan *Plan) (Armed, error)
}

// Armed is a sandbox that waits at the barrier. Exactly one of Release and
// Discard must be called.
type Armed interface {
	// Facts are what Prepare measured.
	Facts() record.Facts
	// Release lets the payload go. From here on the run is the process's.
	Release() (Process, error)
	// Discard takes the sandbox down; nothing of the job has run.
	Discard()
}

// Process is a released run.
type Process interface {
	// Cancel begins TERM, grace, KILL, with the reason that the record will give.
	// Only the first reason counts.
	Cancel(why jobspec.Code)
	// Kill ends the whole tree at once.
	Kill(why jobspec.Code)
	// Wait returns when the whole tree is gone and the output is drained. It may
	// be called once.
	Wait() record.End
}

// Outputs makes the files that a run's streams are kept in. The runner writes
// and closes them; it never reads what it wrote.
type Outputs interface {
	Create(stream string) (*os.File, error)
}

// Refusal says why a run did not start. It is data for the record, and also an
// error.
type Refusal struct {
	Reason jobspec.Code
	Target string
	Detail string
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Reason, r.Detail) }

// Code is the stable reason.
func (r *Refusal) Code() string { return string(r.Reason) }
