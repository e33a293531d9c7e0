package retell

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// ReportNamespace is what a report is signed for: nothing that a key may do to jobs.
const ReportNamespace = "report.v1@sbxcron"

// Report is what an auditor asks of a span of time. Each row names the leaf or the op
// that shows it.
type Report struct {
	Host    jobspec.HostID `json:"host"`
	Genesis jobspec.Digest `json:"genesis"`
	Since   *time.Time     `json:"since,omitempty"` // absent: from the first line on
	Until   time.Time      `json:"until"`
	Lines   int64          `json:"lines"` // of the ledger, in that span
	Ledger  int64          `json:"ledger"`
	// Checkpoint is the newest signed note, so that whoever signs the report says
	// that it was there; empty where there is none.
	Checkpoint string `json:"checkpoint,omitempty"`

	Approved  []Approval  `json:"approved"`   // ops
	Ran       []Tally     `json:"ran"`        // by job and op
	Stopped   []Event     `json:"stopped"`    // refused before the start
	Denied    []Event     `json:"denied"`     // tried during a run, and stopped
	NotRun    []Event     `json:"not_run"`    // skipped, missed, held, lost
	ByHand    []Event     `json:"by_hand"`    // each manual act, with the uid of who asked
	InForce   []InForce   `json:"in_force"`   // trust files, as they were loaded
	Policies  []InForce   `json:"policies"`   // managed policies under which something was decided
	Keys      []Key       `json:"keys"`       // of those trust files
	Retention []Retention `json:"retention"`  // what was pruned
	Services  []Event     `json:"services"`   // starts of the service, and alerts
	Unread    []string    `json:"unreadable"` // what could not be read, so that this is not all
}

// Approval is one signed op.
type Approval struct {
	Seq       int64             `json:"seq"`
	Op        jobspec.Digest    `json:"op"`
	Created   time.Time         `json:"created"`
	Action    string            `json:"action"`
	Job       jobspec.Name      `json:"job,omitempty"`
	Revision  int64             `json:"revision,omitempty"`
	Principal jobspec.Principal `json:"principal"`
	KeyID     string            `json:"key_id,omitempty"` // of the first signature
	Sigs      int               `json:"signatures"`
	Tier      string            `json:"tier,omitempty"`
	Net       string            `json:"net,omitempty"`
	Command   []string          `json:"command,omitempty"`
	Schedule  string            `json:"schedule,omitempty"`
	Expires   string            `json:"expires,omitempty"`
}

// Tally counts how runs of one op ended.
type Tally struct {
	Job      jobspec.Name     `json:"job"`
	Op       jobspec.Digest   `json:"op"`
	Seq      int64            `json:"seq"`
	Started  int64            `json:"started"`
	Outcomes map[string]int64 `json:"outcomes"`
	First    string           `json:"first"` // when the first line of it was written
	Last     string           `json:"last"`
	LastLeaf int64            `json:"last_leaf"`
}

// Event is one line that somebody asks about.
type Event struct {
	Leaf int64        `json:"leaf"`
	Time string       `json:"time"`
	Kind string       `json:"kind"`
	Job  jobspec.Name `json:"job,omitempty"`
	Run  string       `json:"run,omitempty"`
	Slot string       `json:"scheduled_for,omitempty"`
	Many int64        `json:"slot_count,omitempty"` // where it covers several
	UID  *int64       `json:"uid,omitempty"`        // who asked for a manual act
	Why  string       `json:"why,omitempty"`
}

// InForce is one state of what jobs are judged by, and the first line that names it.
type InForce struct {
	Leaf    int64           `json:"leaf"`
	Time    string          `json:"time"`
	Trust   *jobspec.Digest `json:"trust,omitempty"`
	Revoked *jobspec.Digest `json:"revoked,omitempty"`
	Policy  *jobspec.Digest `json:"policy,omitempty"`
}

// Key is a line of a list of signers that was in force.
type Key struct {
	Trust      jobspec.Digest `json:"trust"`
	Principal  string         `json:"principal"`
	KeyID      string         `json:"key_id"`
	Namespaces []string       `json:"namespaces"`
	From       string         `json:"valid_from,omitempty"`
	Until      string         `json:"valid_until,omitempty"`
}

// Retention is what a pruned line says.
type Retention struct {
	Leaf  int64  `json:"leaf"`
	Time  string `json:"time"`
	Run   string `json:"run,omitempty"`
	Files int64  `json:"files"`
	Bytes int64  `json:"bytes"`
}
