package scheduler

import (
	"context"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Entry is one stretch of time in which a signed spec was in force.
type Entry struct {
	Job      jobspec.Name
	Op       jobspec.Digest // the add or replace that holds the spec: part of a slot's identity
	Seq      int64          // of that op
	Schedule jobspec.Schedule
	Anchor   time.Time // created of that op, from which intervals are counted
	Since    time.Time // when this host accepted the op that put it in force; slots up to then are not due
	Until    time.Time // when it ceased to be in force; zero while it is
	// Principal and Tier say whose share of the seats its runs take.
	Principal jobspec.Principal
	Tier      jobspec.Tier
	Signed    time.Time // when the owner last signed for it, at the latest; zero where that is Since
}

// Jobs lists what the chain puts in force.
type Jobs interface {
	// Entries returns every entry in force, and those that ceased while the
	// service was off, so that the slots up to their end are accounted for. ops is
	// how long the chain is that they come from.
	Entries() (all []Entry, ops int64, err error)
	// Since returns what the ops from that place on have changed.
	Since(ops int64) (Changes, error)
}

// Changes are what a longer chain says of the jobs that its newer ops are about.
type Changes struct {
	Entries []Entry        // in force, or put in force again
	Gone    []jobspec.Name // not in force any more
	Ops     int64          // how long the chain is
	All     bool           // the chain is another one: Entries are all that is in force
}

// Verified is a job's op as it was found at a trigger.
type Verified struct {
	Signed   jobspec.Signed // the op that holds the spec; the zero value starts nothing
	Identity jobspec.Code   // why the signature does not hold now, "" when it does
	Detail   string
}

// Verifier checks stored bytes.
type Verifier interface {
	// Current reads the job's op and checks its signature, and that of the op
	// that put it in force, with the trust of this moment. An error means that
	// it could not tell; a *Refusal among them says why.
	Current(job jobspec.Name) (Verified, error)
	// Mark is a cheap sign of everything that the answers of Current, and those of
	// Examination.Again, are made from: the chain, the trust files, the policy. Equal
	// marks, each with true, mean that nothing of it changed between the two; false
	// means that it cannot be told.
	Mark() (mark string, ok bool)
}

// Ruling is the answer of jobspec.Decide, which alone can say yes:
// jobspec.Decision is one.
type Ruling interface {
	Allowed() bool
	Refusals() []jobspec.Check
}

// Basis is what a decision was made from, for the record.
type Basis struct {
	Verdicts jobspec.Verdicts
	Weaker   []string
	Notes    []string       // what the record repeats beside the weaker choices
	Policy   jobspec.Digest // managed policy in force
	SameUID  bool           // the job has the service's own uid
}

// Examiner gathers the facts of this moment and decides.
type Examiner interface {
	Examine(ctx context.Context, phase jobspec.Phase, v Verified) (Examination, error)
}

// Examination is one decision with the files that it was made over, held open.
type Examination interface {
	Decision() Ruling
	Basis() Basis
	// Prepare builds the sandbox up to its barrier. It is called after a yes
	// only. An error that is a *Refusal gives the reason for the record.
	// attempt is 1 but for a run that is tried again.
	Prepare(ctx context.Context, run string, attempt int) (Armed, error)
	// Again decides once more over the same files, by the policy of this moment, for
	// a start at this moment or at the given one where that is later. It is called
	// when the sandbox stands; Basis then says what it went by.
	Again(at time.Time) (Ruling, error)
	// Fits reports whether the sandbox that Prepare built opens what the ruling of
	// Again does: a policy can take something back from a job that it still allows.
	Fits() bool
	// Fresh reports whether all that the decision stood on, beside the policy and
	// the time, is still as it was: the files and folders that are held open, where
	// they lie, and what the machine says of accounts and places. It is asked of a
	// sandbox that was built before its slot, and may be asked while Again is.
	Fresh() bool
	// Close lets the files go. It is called once, after Release or Discard; a
	// run that was released goes on.
	Close()
}

// Armed is a sandbox that waits at its barrier. Exactly one of Release and
// Discard is called.
type Armed interface {
	Facts() record.Facts
	Release() (Process, error)
	Discard()
}

// Process is a released run.
type Process interface {
	Cancel(why jobspec.Code) // TERM, grace, KILL
	Kill(why jobspec.Code)   // KILL at once
	Wait() record.End        // called once
}

// Ledger takes rows. When Append returns nil they are durable, in this order
// and without another row among them; its error leaves open which of them are.
type Ledger interface {
	Append(rows ...*record.Leaf) (first int64, err error)
}

// Sealed is a run's output, bound for the record.
type Sealed struct {
	Outputs []record.Output
	Text    jobspec.Digest // commitment to free text, if there is any
}

// Finisher turns what was captured into commitments.
type Finisher interface {
	Seal(run string, end record.End) (Sealed, error)
}

// Hold is an operator's "not now" for one job, or the service's own.
type Hold struct {
	By  record.Requester
	At  time.Time
	Why jobspec.Code // breaker_open where the breaker took it, "" for an operator's
	// Until is when it ends by itself, zero for an operator's release only.
	Until time.Time
	own   bool          // taken by the service of this process
	ends  time.Duration // with Until: the latest end by the clock that nobody sets
}

// CoveredBy is the last slot of a job and op, as History.LastCovered gives it.
type CoveredBy func(job jobspec.Name, op jobspec.Digest) (slot jobspec.Slot, scheduled time.Time, ok bool, err error)

// History answers from the ledger.
type History interface {
	// LastCovered is the last slot of this job and op that any row covers, started
	// rows included. scheduled is the instant that the row gives, zero for the
	// later slots of a range.
	LastCovered(job jobspec.Name, op jobspec.Digest) (slot jobspec.Slot, scheduled time.Time, ok bool, err error)
	// Covered gives what answers as LastCovered does, from the rows that are there
	// when it is called. Who asks about all jobs asks so.
	Covered() (CoveredBy, error)
	// OpenRuns are the started rows that no final row follows.
	OpenRuns() ([]*record.Leaf, error)
	// Holds are the held rows without a slot that no released row follows.
	Holds() (map[jobspec.Name]Hold, error)
	// Breakers are made from all rows, in their order, by Breaker.Note.
	Breakers() (map[jobspec.Name]*Breaker, error)
}

// Refusal says why something did not start. It is data for the record, and also
// an error.
type Refusal struct{ record.Reason }

func (r *Refusal) Error() string {
	if r.Detail == "" {
		return string(r.Reason.Code)
	}
	return string(r.Reason.Code) + ": " + r.Detail
}

// Code is the stable reason.
func (r *Refusal) Code() string { return string(r.Reason.Code) }

func refusal(code jobspec.Code, detail string) *Refusal {
	return &Refusal{record.Reason{Code: code, Detail: detail}}
}
