package api

import (
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// HistoryQuery selects runs, newest first.
type HistoryQuery struct {
	Job     jobspec.Name     `json:"job,omitempty"`
	Since   time.Time        `json:"since"`
	Until   time.Time        `json:"until"`
	Outcome []record.Outcome `json:"outcome,omitempty"`
	Limit   int              `json:"limit"` // 0: 50
}

// Running is the outcome of a run that has not ended.
const Running = "running"

// Run is one row of history: a run, or slots that did not run and why.
type Run struct {
	Run          string            `json:"run,omitempty"`
	Slot         string            `json:"slot,omitempty"`
	SlotLast     string            `json:"slot_last,omitempty"`
	SlotCount    int64             `json:"slot_count,omitempty"`
	Job          jobspec.Name      `json:"job"`
	Op           jobspec.Digest    `json:"op"`
	Outcome      string            `json:"outcome"` // Running until it ends
	Reasons      []Reason          `json:"reasons"`
	ScheduledFor *time.Time        `json:"scheduled_for,omitempty"`
	StartedAt    *time.Time        `json:"started_at,omitempty"`
	EndedAt      *time.Time        `json:"ended_at,omitempty"`
	Trigger      string            `json:"trigger,omitempty"` // schedule, catch_up, manual
	RequestedBy  *int64            `json:"requested_by_uid,omitempty"`
	ExitCode     *int64            `json:"exit_code,omitempty"`
	Signal       string            `json:"signal,omitempty"`
	Backend      string            `json:"backend,omitempty"`
	Layers       []string          `json:"layers"`
	Probe        string            `json:"probe,omitempty"`
	SoftLimits   []string          `json:"soft_limits,omitempty"` // held for single processes only
	SameUID      bool              `json:"same_uid"`
	UID          int64             `json:"uid,omitempty"`
	Credentials  []string          `json:"credentials,omitempty"` // that the job saw, by name
	Denials      []Denial          `json:"denials"`
	Connections  []Connection      `json:"connections,omitempty"`
	Verdicts     *jobspec.Verdicts `json:"verdicts,omitempty"`
	Weaker       []string          `json:"weaker"`
	Notes        []string          `json:"notes,omitempty"` // what else of the decision the record repeats
	Resources    *Resources        `json:"resources,omitempty"`
	Outputs      []Output          `json:"outputs"`
	Attempts     []Attempt         `json:"attempts,omitempty"` // of a run that had several, in their order
	Leaf         int64             `json:"leaf"`               // index of the final line, or of started
	// Principal signed the op of the row; rights follow it. A job's name may
	// belong to somebody else by now.
	Principal jobspec.Principal `json:"-"`
}

// LedgerTarget is the target of a problem that keeps history from being whole.
const LedgerTarget = "ledger"

// Reason is one cause, with what to do about it.
type Reason struct {
	Code   jobspec.Code `json:"code"`
	Layer  string       `json:"layer,omitempty"`
	Rule   string       `json:"rule,omitempty"`
	Target string       `json:"target,omitempty"`
	Detail string       `json:"detail,omitempty"`
	Remedy string       `json:"remedy,omitempty"`
	Allow  string       `json:"allow,omitempty"` // what somebody would sign or write to allow it
}

// Denial is something a run tried and was stopped at.
type Denial struct {
	Code      jobspec.Code `json:"code"`
	Target    string       `json:"target"`
	Certainty string       `json:"certainty"`
	Count     int64        `json:"count"`
	FirstAt   string       `json:"first_at"`
	Expected  bool         `json:"expected"`
	Rule      string       `json:"rule,omitempty"`
}

// Connection is what a run reached outside through the proxy or a forward.
type Connection struct {
	Host     string `json:"host"`
	Port     int64  `json:"port"`
	Address  string `json:"address,omitempty"`
	Upstream string `json:"upstream,omitempty"` // who connected for the job and judged the address
	Count    int64  `json:"count"`
	BytesIn  int64  `json:"bytes_in"`
	BytesOut int64  `json:"bytes_out"`
	Rule     string `json:"rule"`
}

// Resources are what a run used.
type Resources struct {
	CPUSeconds  float64 `json:"cpu_seconds"`
	MaxRSSBytes int64   `json:"max_rss_bytes"`
}

// Output tells of one kept stream. The hashes are the plain ones, from beside
// the file; they are absent once the output was pruned.
// Attempt is how one attempt of a run ended. Its output is the streams "out" and
// "err" for the first one, "out.2" and "err.2" for the second.
type Attempt struct {
	Outcome   string       `json:"outcome"`
	StartedAt *time.Time   `json:"started_at,omitempty"`
	EndedAt   *time.Time   `json:"ended_at,omitempty"`
	ExitCode  *int64       `json:"exit_code,omitempty"`
	Signal    string       `json:"signal,omitempty"`
	Code      jobspec.Code `json:"code,omitempty"` // the first reason
}

type Output struct {
	Stream     string         `json:"stream"`
	Bytes      int64          `json:"bytes"`
	SHA256     jobspec.Digest `json:"sha256"`
	KeptBytes  int64          `json:"kept_bytes"`
	KeptSHA256 jobspec.Digest `json:"kept_sha256"`
	Truncated  bool           `json:"truncated"`
	Pruned     bool           `json:"pruned,omitempty"`
}

// Explanation says what a decision is made of.
type Explanation struct {
	Job      jobspec.Name      `json:"job,omitempty"`
	Run      string            `json:"run,omitempty"`
	Decision string            `json:"decision"` // allow or refuse
	Verdicts jobspec.Verdicts  `json:"verdicts"`
	Weaker   []string          `json:"weaker"`
	Notes    []string          `json:"notes,omitempty"`
	Checks   []jobspec.Check   `json:"checks"`
	Opens    jobspec.Opens     `json:"opens"`
	Coverage map[string]string `json:"coverage"`
	Summary  []string          `json:"summary"`
	May      []string          `json:"may"`             // in words, once it runs
	MayNot   []string          `json:"may_not"`         // whatever the command is
	Ended    *Run              `json:"ended,omitempty"` // for a run: how it went
	Now      *Difference       `json:"now,omitempty"`   // for a run: what would be decided today
}

// Difference is what has changed between a recorded decision and the next one.
type Difference struct {
	Decision string   `json:"decision"`          // allow or refuse
	OpNow    bool     `json:"op_in_force"`       // the run's op still is the job's
	Gone     []Reason `json:"no_longer"`         // reasons of then that do not hold now
	New      []Reason `json:"new"`               // reasons of now that were not among those
	Same     bool     `json:"same"`              // nothing differs
	Problem  string   `json:"problem,omitempty"` // why it cannot be told
}

// Status is the state of the service, or of the files when there is none.
type Status struct {
	Health   string         `json:"health"` // ok, or the first problem's code
	Problems []Reason       `json:"problems"`
	Running  []Run          `json:"running"`
	Next     []Next         `json:"next"`
	Folder   string         `json:"folder"`
	SameUID  bool           `json:"same_uid"`
	Service  bool           `json:"service"` // a service is running
	PID      int            `json:"pid,omitempty"`
	Since    *time.Time     `json:"since,omitempty"`
	Version  string         `json:"version"`
	Host     jobspec.HostID `json:"host"`
	Jobs     int            `json:"jobs"`
	// WouldRefuse names in target each job that would be refused at its next slot,
	// with the code, as the service judged it last.
	WouldRefuse []Reason `json:"would_refuse"`
	// Expiring are the jobs whose approval ends within two weeks, the soonest first.
	Expiring []Expiring `json:"expiring"`
}

// Expiring is a job whose approval ends soon.
type Expiring struct {
	Job       jobspec.Name      `json:"job"`
	Principal jobspec.Principal `json:"principal"`
	ExpiresAt time.Time         `json:"expires_at"`
	Within    int               `json:"within_days"` // 14, 7 or 1: the nearest mark that it has passed
}

// The verdicts of an audit.
const (
	Pass       = "pass"
	Fail       = "fail"
	NotChecked = "not_checked"
)

// Audit is the result of audit verify: three verdicts and one for the runs,
// each pass, fail or not_checked.
type Audit struct {
	Authentic string    `json:"authentic"`
	Intact    string    `json:"intact"`
	Complete  string    `json:"complete"`
	Runs      string    `json:"runs"`
	Problems  []Problem `json:"problems"`
	Ops       int64     `json:"ops"`
	Leaves    int64     `json:"leaves"`
	Proven    int64     `json:"proven"` // leaves that a checkpoint vouches for
	// AsOf is when the newest checkpoint was made; of what came later nothing is known.
	AsOf jobspec.Instant `json:"as_of,omitzero"`
}

// Problem is one finding of audit verify.
type Problem struct {
	Code   string `json:"code"`
	Where  string `json:"where"`
	Detail string `json:"detail"`
}

// OpFile is one op as audit export writes it, with what stock ssh-keygen needs.
type OpFile struct {
	Seq       int64             `json:"seq"`
	Op        []byte            `json:"op"`
	Sig       []byte            `json:"sig"` // binary blob
	Namespace string            `json:"namespace"`
	Principal jobspec.Principal `json:"principal"`
	KeyID     string            `json:"key_id"`
	Key       string            `json:"key"`    // authorized_keys form
	Signer    string            `json:"signer"` // the allowed_signers line that vouched
	Created   jobspec.Instant   `json:"created"`
	Revoked   bool              `json:"revoked"` // revoked by now
}

// ReasonsOf lists why a decision said no.
func ReasonsOf(d jobspec.Decision) []Reason {
	var all []Reason
	for _, c := range d.Refusals() {
		all = append(all, Reason{Code: c.Code, Layer: c.Layer, Rule: c.Rule, Target: c.Target, Detail: c.Detail, Remedy: c.Remedy, Allow: c.Allow})
	}
	return all
}

// Text is the reason in words on one line, without its remedy: of a question its
// first line.
func (r Reason) Text() string {
	r.Detail, _, _ = strings.Cut(r.Detail, "\n")
	switch {
	case r.Detail != "" && r.Target != "":
		return r.Target + ": " + r.Detail
	case r.Detail != "":
		return r.Detail
	case r.Target != "":
		return string(r.Code) + ": " + r.Target
	}
	return string(r.Code)
}
