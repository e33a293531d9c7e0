package record

import (
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/canon"
)

// Bounds and name of the form.
const (
	LeafType     = "sbxcron.leaf/v1"
	MaxLeafBytes = 64 << 10
)

// Kind says what a leaf states.
type Kind string

// The kinds. claimed is for armed runs, checkpoint kinds come later.
const (
	Claimed     Kind = "claimed"
	Started     Kind = "started" // claim of the slot and start, at once
	Finished    Kind = "finished"
	Refused     Kind = "refused"
	Skipped     Kind = "skipped"
	Missed      Kind = "missed"
	Lost        Kind = "lost"
	Held        Kind = "held"     // an operator's hold; with a slot: the slot did not run because of it
	Released    Kind = "released" //
	Attempted   Kind = "attempt"  // a further attempt of a run begins
	Boot        Kind = "boot"
	TrustLoaded Kind = "trust_loaded"
	OpAccepted  Kind = "op_accepted"
	OpRefused   Kind = "op_refused"
	Pruned      Kind = "pruned"
	Alert       Kind = "alert"
	Notified    Kind = "notified" // what became of a notice: with a reason it was not delivered
)

// Outcome is how a slot ended.
type Outcome string

// The outcomes.
const (
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeFailed    Outcome = "failed"
	OutcomeTimedOut  Outcome = "timed_out"
	OutcomeKilled    Outcome = "killed"
	OutcomeDenied    Outcome = "denied"  // ran, and something it tried was denied
	OutcomeRefused   Outcome = "refused" // did not start
	OutcomeSkipped   Outcome = "skipped"
	OutcomeMissed    Outcome = "missed"
	OutcomeLost      Outcome = "lost" // started, and nobody saw how it ended
	OutcomeHeld      Outcome = "held"
)

// Trigger says what made a run due.
type Trigger string

// The triggers.
const (
	BySchedule Trigger = "schedule"
	ByCatchUp  Trigger = "catch_up"
	ByHand     Trigger = "manual"
)

// Leaf is one line of the ledger. Fields that do not belong to its kind are
// absent. Times are RFC 3339 UTC with nanoseconds.
type Leaf struct {
	Type        string            `json:"type"`
	Host        jobspec.HostID    `json:"host"`
	Kind        Kind              `json:"kind"`
	Time        string            `json:"time"`       // when the service stated it
	Boot        string            `json:"boot"`       // kernel boot id
	Job         jobspec.Name      `json:"job"`        //
	Op          jobspec.Digest    `json:"op"`         // the op in force, or the one accepted or refused
	Seq         int64             `json:"seq"`        // of that op
	Run         string            `json:"run"`        //
	Slot        *jobspec.Slot     `json:"slot"`       // first slot covered
	SlotLast    *jobspec.Slot     `json:"slot_last"`  // last slot covered, where a row covers several
	SlotCount   int64             `json:"slot_count"` // how many, where more than one
	Scheduled   string            `json:"scheduled_for"`
	Trigger     Trigger           `json:"trigger"`
	RequestedBy *Requester        `json:"requested_by"` // each manual act
	Outcome     Outcome           `json:"outcome"`      // final kinds
	Reasons     []Reason          `json:"reasons"`
	Principal   jobspec.Principal `json:"principal"`
	KeyID       string            `json:"key_id"`
	Tier        jobspec.Tier      `json:"tier"`
	Net         jobspec.Net       `json:"net"`
	Verdicts    *jobspec.Verdicts `json:"verdicts"`
	Trust       jobspec.Digest    `json:"trust"`   // allowed_signers in force
	Revoked     jobspec.Digest    `json:"revoked"` // revoked_keys in force
	Policy      jobspec.Digest    `json:"policy"`  // managed policy in force
	Backend     string            `json:"backend"`
	BackendFile jobspec.Digest    `json:"backend_file"` // of the sandbox program
	Plan        jobspec.Digest    `json:"plan"`
	Stub        jobspec.Digest    `json:"stub"`
	Layers      []string          `json:"layers"` // measured inside, before the payload
	Probe       string            `json:"probe"`  // "passed", or the code of what did not hold
	Weaker      []string          `json:"weaker"`
	Soft        []string          `json:"soft_limits"` // held for single processes only
	Notes       []string          `json:"notes"`       // what else of the decision the record repeats
	SameUID     bool              `json:"same_uid"`
	UID         int64             `json:"uid"`         // kernel uid of the job
	Credentials []string          `json:"credentials"` // that the job saw, by name
	StartedAt   string            `json:"started_at"`
	EndedAt     string            `json:"ended_at"`
	ExitCode    int64             `json:"exit_code"` // absent when 0; read it with Exited
	Exited      bool              `json:"exited"`    // an exit status was seen
	Signal      string            `json:"signal"`
	Denials     []Denial          `json:"denials"`
	Connections []Connection      `json:"connections"` // of jobs with a network
	Resources   *Resources        `json:"resources"`
	Outputs     []Output          `json:"outputs"`
	Text        jobspec.Digest    `json:"text"`      // commitment to free text kept beside the output
	Zone        string            `json:"zone_data"` // version of the embedded zone data
	Version     string            `json:"version"`   // of sbxcron
	PID         int64             `json:"pid"`       // of the service, in boot
	Until       string            `json:"until"`     // instant of the last slot, where a row covers several; of a hold: when it ends by itself
	Count       int64             `json:"count"`     // pruned: files removed
	Bytes       int64             `json:"bytes"`     // pruned: bytes removed
	Attempt     int64             `json:"attempt"`   // which one begins, from 2 on
	Attempts    []Attempt         `json:"attempts"`  // of a run that had several
	Channel     string            `json:"channel"`   // notified: where to
	Event       jobspec.Event     `json:"event"`     // notified: what about
}

// Requester is who asked for a manual act, by the uid of the connection.
type Requester struct {
	UID  int64 `json:"uid"`
	Root bool  `json:"root"` // uid 0, which the form would leave out
}

// Reason is one cause of a refusal. Detail and Target are facts about files and
// rules of the host, never output of the job.
type Reason struct {
	Code   jobspec.Code `json:"code"`
	Layer  string       `json:"layer"`
	Rule   string       `json:"rule"`
	Target string       `json:"target"`
	Detail string       `json:"detail"`
}

// Denial is something a run tried and was stopped at.
type Denial struct {
	Code      jobspec.Code `json:"code"`
	Target    string       `json:"target"`
	Certainty string       `json:"certainty"` // "observed" or "inferred"
	Count     int64        `json:"count"`
	FirstAt   string       `json:"first_at"`
	Expected  bool         `json:"expected"`
	Rule      string       `json:"rule"`
}

// Resources are what a run used.
type Resources struct {
	CPUMillis   int64 `json:"cpu_ms"`
	MaxRSSBytes int64 `json:"max_rss_bytes"`
}

// Output binds one stream of a run. The hashes are commitments: SHA-256 over a
// 32-byte salt and the raw SHA-256 of the bytes; salt and hash lie beside the
// file and go with it.
type Output struct {
	Stream    string         `json:"stream"` // "out" or "err"
	Bytes     int64          `json:"bytes"`  // written by the job
	SHA256    jobspec.Digest `json:"sha256"`
	Kept      int64          `json:"kept_bytes"`
	KeptSHA   jobspec.Digest `json:"kept_sha256"`
	Truncated bool           `json:"truncated"`
}

// Final reports whether a leaf of this kind ends a slot's story. started and
// claimed do not: finished or lost follows them.
func (l *Leaf) Final() bool {
	switch l.Kind {
	case Finished, Refused, Skipped, Missed, Lost:
		return true
	case Held:
		return l.Slot != nil
	default:
		return false
	}
}

// Encode returns the canonical line without a line end.
func (l *Leaf) Encode() ([]byte, error) {
	l.Type = LeafType
	b, err := canon.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("encode leaf: %w", err)
	}
	if len(b) > MaxLeafBytes {
		return nil, fmt.Errorf("encode leaf: %d bytes, at most %d", len(b), MaxLeafBytes)
	}
	return b, nil
}

// Decode reads one line without its line end and refuses any other form.
func Decode(line []byte) (*Leaf, error) {
	var l Leaf
	if err := canon.Unmarshal(line, &l, MaxLeafBytes); err != nil {
		return nil, fmt.Errorf("decode leaf: %w", err)
	}
	if l.Type != LeafType {
		return nil, fmt.Errorf("decode leaf: type %q is unknown", l.Type)
	}
	return &l, nil
}

// Stamp writes a time as leaves carry it.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// ParseStamp reads what Stamp wrote; the zero time stands for an absent one.
func ParseStamp(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}
