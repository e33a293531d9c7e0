package jobspec

import (
	"fmt"
	"time"
)

// Phase is who asks for a decision. It is the only difference between the
// callers of Decide.
type Phase uint8

// The phases. The zero value is no phase and is refused.
const (
	NoPhase      Phase = iota
	PhaseAdd           // the owner is there and may answer asks
	PhaseApply         // a signed op is offered; files are not looked at
	PhaseExplain       // nothing runs; like PhaseTrigger in every other respect
	PhaseTrigger       // nobody is there
)

// Input is everything that a decision depends on. Decide reads no file, no
// clock and no environment.
type Input struct {
	// Op is the op in force: at add and for a draft the unsigned candidate, else
	// what Signed holds. Signed is the zero value at PhaseAdd only.
	Op     *Op
	Signed Signed

	// Identity is "" when the signature, key, principal and namespace hold now,
	// else the reason, found by the verifier.
	Identity       Code
	IdentityDetail string

	Policy    *Policy // nil where PolicyErr says why
	PolicyErr Code
	PolicyMsg string

	Host      Host
	Paths     []Observation // nil at PhaseApply
	Sensitive []Sensitive
	// Credentials are those that the spec names, as they were found; nil at
	// PhaseApply.
	Credentials []CredentialFact
	Sandbox     Sandbox
	Schedule    error     // what the calendar says against the schedule, nil for none
	Gap         int64     // smallest interval of the schedule in seconds, 0 when unknown
	Audit       error     // why no durable record can be written, nil for none
	Held        bool      // explain and trigger only
	HeldFor     Code      // of the hold, "" for job_held
	At          time.Time // when the run would start; zero: Host.Now
	Jobs        int64     // jobs of the principal in force, this one not counted; add and apply only
}

// Check is one finding, good or bad. Check by check a decision is readable.
type Check struct {
	Step    string `json:"step"`    // policy, identity, structure, ceilings, command, asks, binding, sandbox, audit, schedule
	Verdict string `json:"verdict"` // "yes" or "no"
	Code    Code   `json:"code,omitempty"`
	Layer   string `json:"layer,omitempty"` // floor, managed, owner, spec
	Rule    string `json:"rule,omitempty"`
	Target  string `json:"target,omitempty"`
	Detail  string `json:"detail,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
	// Allow is the field, flag or line of policy.toml that would allow what was
	// refused, exactly as it would be written. It is empty where nothing can.
	Allow string `json:"allow,omitempty"`
}

// Ask is a question that the owner must answer at add.
type Ask struct {
	ID       string `json:"ask_id"`
	Rule     string `json:"rule"`
	Layer    string `json:"layer"`
	Question string `json:"question"` // the lines that are shown; their digest is signed
	Answered bool   `json:"answered"`
}

// Decision is the result of Decide. Its zero value refuses.
type Decision struct {
	Checks   []Check
	Asks     []Ask
	Verdicts Verdicts
	Weaker   []string
	Notes    []string // what the record repeats beside them, such as an agent's inner sandbox that is off
	Net      NetGrant // what the policy adds to the hosts of the spec
	allowed  bool
}

// Verdicts are the four answers that must all be yes; none stands in for another.
type Verdicts struct {
	Identity   Verdict `json:"identity"`
	Capability Verdict `json:"capability"`
	Resources  Verdict `json:"resources"`
	Consent    Verdict `json:"consent"`
}

// Verdict is yes only when something was checked and held.
type Verdict uint8

// The verdicts. The zero value is not a yes.
const (
	NotChecked Verdict = iota
	No
	Yes
)

// String is "yes", "no" or "not_checked".
func (v Verdict) String() string {
	return [...]string{NotChecked: "not_checked", No: "no", Yes: "yes"}[v]
}

// MarshalText implements encoding.TextMarshaler.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Allowed reports whether every step said yes.
func (d Decision) Allowed() bool { return d.allowed }

// Refusals are the checks that said no, in the order of the steps.
func (d Decision) Refusals() []Check {
	var no []Check
	for _, c := range d.Checks {
		if c.Verdict != "yes" {
			no = append(no, c)
		}
	}
	return no
}

// UnmarshalText reads what MarshalText writes.
func (v *Verdict) UnmarshalText(text []byte) error {
	for w := NotChecked; w <= Yes; w++ {
		if w.String() == string(text) {
			*v = w
			return nil
		}
	}
	return fmt.Errorf("verdict %q is unknown", text)
}
