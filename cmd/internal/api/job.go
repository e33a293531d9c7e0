package api

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Job is a line of list.
type Job struct {
	Job       jobspec.Name      `json:"job"`
	Revision  int64             `json:"revision"`
	Op        jobspec.Digest    `json:"op"`
	Principal jobspec.Principal `json:"principal"`
	Tier      jobspec.Tier      `json:"tier"`
	Net       jobspec.Net       `json:"net"`
	Schedule  string            `json:"schedule"`
	Timezone  string            `json:"timezone"`
	Next      *time.Time        `json:"next,omitempty"`
	// State is the first that applies: running, expired, disabled, held, refused, active.
	State string   `json:"state"`
	Flags []string `json:"flags"` // all that apply
	Last  *Last    `json:"last,omitempty"`
	// WouldRefuse is the code for which it would be refused at its next slot, as
	// the service judged it last; with the flag would_refuse.
	WouldRefuse jobspec.Code `json:"would_refuse,omitempty"`
}

// Last is how the newest run of a job ended.
type Last struct {
	Run       string     `json:"run,omitempty"`
	Outcome   string     `json:"outcome"`
	StartedAt *time.Time `json:"started_at,omitempty"`
}

// JobDetail is what show prints. Bytes and Sig are the op that holds the spec.
type JobDetail struct {
	Job
	Seq       int64                 `json:"seq"`
	Prev      jobspec.Digest        `json:"prev"`
	Host      jobspec.HostID        `json:"host"`
	KeyID     string                `json:"key_id"`
	SignedAt  jobspec.Instant       `json:"signed_at"`
	ExpiresAt jobspec.Instant       `json:"expires_at"`
	Command   []string              `json:"command"`
	Cwd       string                `json:"cwd,omitempty"`
	Policy    jobspec.PolicyDigests `json:"policy"`
	Hash      jobspec.Digest        `json:"hash"` // SHA-256 of the signed bytes
	Files     []jobspec.Bound       `json:"files"`
	Coverage  map[string]string     `json:"coverage"`
	StateDir  string                `json:"state_folder,omitempty"` // on the host; made by the first run
	Verified  bool                  `json:"verified"`               // signature and key held just now
	Problem   *Reason               `json:"problem,omitempty"`
	Hold      *Hold                 `json:"hold,omitempty"`
	Summary   []string              `json:"summary"`
	Bytes     []byte                `json:"op_bytes"`
	Sig       []byte                `json:"op_sig"`
}

// Hold is an operator's "not now".
type Hold struct {
	ByUID  int64      `json:"by_uid"`
	At     *time.Time `json:"at,omitempty"`
	Until  *time.Time `json:"until,omitempty"` // when it ends by itself
	Reason string     `json:"reason,omitempty"`
}

// HoldRequest is what a hold is asked for with.
type HoldRequest struct {
	Reason string     `json:"reason"`
	Until  *time.Time `json:"until,omitempty"`
}

// NextQuery asks for coming slots: of one job, of all, or of an expression.
type NextQuery struct {
	Job      jobspec.Name `json:"job,omitempty"`
	Expr     string       `json:"expr,omitempty"`
	Timezone string       `json:"timezone,omitempty"`
	From     time.Time    `json:"from"`  // zero: now
	Until    time.Time    `json:"until"` // excluded; zero: no end
	Count    int          `json:"count"`
}

// DaysQuery asks how often jobs come due on each day: one job, or all.
type DaysQuery struct {
	Job         jobspec.Name
	Timezone    string // that days are counted in
	From, Until time.Time
}

// Day is one day on which something is due.
type Day struct {
	Date  string   `json:"date"` // 2026-12-24, in the zone that was asked for
	Count int64    `json:"count"`
	Jobs  int      `json:"jobs"`
	Times []string `json:"times"` // the different ones, "02:30"; none where there are too many to be read
	Notes []string `json:"notes"` // of what is unusual, the first few
}

// Next is one coming slot.
type Next struct {
	Job   jobspec.Name `json:"job,omitempty"`
	At    string       `json:"at"` // RFC 3339 with the zone's offset
	UTC   time.Time    `json:"utc"`
	Slot  string       `json:"slot"`
	Notes []string     `json:"notes"`
}
