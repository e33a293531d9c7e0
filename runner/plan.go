package runner

import (
	"fmt"
	"os"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/internal/permit"
)

// Pins are the opened files of a spec: what was looked at is what is mounted.
// *pin.Set is the one that the service uses.
type Pins interface {
	Len() int
	Observation(i int) jobspec.Observation
	// File is an O_PATH descriptor of a directory or of an inode that only root
	// can change, or a sealed copy in memory. It is nil where nothing could be
	// opened.
	File(i int) *os.File
	// Sealed reports whether File is a sealed copy.
	Sealed(i int) bool
}

// Account is the kernel identity of a job.
type Account struct {
	User string // name inside; "" becomes "job"
	UID  int    // never 0
	GID  int
	Drop bool // the service is root and changes to UID and GID first
}

// PlanInput is what a plan is made from. Only a signed op and a decision that
// allows it make one.
type PlanInput struct {
	Signed   jobspec.Signed
	Decision jobspec.Decision
	Pins     Pins
	Run      string // id of the run
	Account  Account
	Outputs  Outputs
	Host     Host
	// Secrets are the values of the credentials that the spec names. The caller
	// clears them once the run is released or discarded.
	Secrets []*Secret
}

// Order is a plan's input without its proof of consent.
type Order struct {
	Job     jobspec.Name
	Op      jobspec.Digest
	Tier    jobspec.Tier
	Net     jobspec.Net
	Spec    *jobspec.Spec
	Pins    Pins
	Run     string
	Account Account
	Outputs Outputs
	Host    Host
	Secrets []*Secret
	Grant   jobspec.NetGrant // what the policy adds to the hosts of the spec
}

// Plan says how one run is confined, in terms that every backend understands.
// It can only be made by NewPlan or, below runner, by PlanUnsigned; the zero
// value plans nothing and no backend takes it.
type Plan struct {
	b *Blueprint
}

// NewPlan computes the plan of a signed op that was decided to be allowed. Its
// error is a *Refusal.
func NewPlan(in PlanInput) (*Plan, error) {
	if !in.Signed.Valid() {
		return nil, refuse(jobspec.CodeIdentityUnproven, "", "the op was not verified")
	}
	if !in.Decision.Allowed() {
		return nil, refuse(jobspec.CodePolicyEvalError, "", "the decision does not allow the run")
	}
	op := in.Signed.Op()
	return plan(Order{Job: op.Job, Op: in.Signed.Digest(), Tier: op.Tier, Net: op.Net, Spec: op.Spec, Pins: in.Pins,
		Run: in.Run, Account: in.Account, Outputs: in.Outputs, Host: in.Host, Secrets: in.Secrets, Grant: in.Decision.Net})
}

// PlanUnsigned computes a plan that no op stands behind: the canary of a probe
// or a case of the conformance suite. Its error is a *Refusal.
func PlanUnsigned(p permit.Permit, o Order) (*Plan, error) {
	if !p.Genuine() {
		return nil, refuse(jobspec.CodeIdentityUnproven, "", "the permit is not genuine")
	}
	return plan(o)
}

// Valid reports whether p plans anything.
func (p *Plan) Valid() bool { return p != nil && p.b != nil }

// Blueprint is what the plan says. The caller must not change it.
func (p *Plan) Blueprint() *Blueprint { return p.b }

// Digest identifies the plan: SHA-256 of its text.
func (p *Plan) Digest() jobspec.Digest { return jobspec.DigestOf([]byte(p.b.Dump())) }

func refuse(code jobspec.Code, target, format string, args ...any) *Refusal {
	return &Refusal{Reason: code, Target: target, Detail: fmt.Sprintf(format, args...)}
}

// plan checks the order and draws its blueprint.
func plan(o Order) (*Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	b := &Blueprint{Job: o.Job, Op: o.Op, Run: o.Run, Tier: o.Tier, Net: o.Net, Account: o.Account, Limits: o.Spec.Limits,
		Stdin: o.Spec.Stdin, MayCreate: o.Spec.MayCreate, Result: o.Spec.Result, Denials: o.Spec.Denials, Require: o.Spec.Backend.Require, Weaker: o.Spec.Weaker, Pins: o.Pins, Outputs: o.Outputs}
	if b.Account.User == "" {
		b.Account.User = "job"
	}
	b.addRoot(o.Host, o.Spec.Schedule.Timezone)
	for _, draw := range []func(*Blueprint) error{o.drawCwd, o.drawPaths, o.drawBound, o.drawBinds, o.drawState, o.drawCommand, o.drawEnv, o.drawStateEnv, o.drawCredentials, o.drawShims, o.drawNet, o.drawSockets} {
		if err := draw(b); err != nil {
			return nil, err
		}
	}
	b.finish()
	if err := o.drawNames(b); err != nil {
		return nil, err
	}
	return &Plan{b: b}, nil
}

// check refuses an order that cannot be planned at all.
func (o Order) check() error {
	switch {
	case o.Spec == nil:
		return refuse(jobspec.CodeSpecMalformed, "", "the op holds no spec")
	case o.Pins == nil || o.Outputs == nil || o.Run == "":
		return refuse(jobspec.CodeInternal, "", "the plan has no pinned files, outputs or run id")
	case o.Tier != jobspec.Scratch && o.Tier != jobspec.ReadOnly && o.Tier != jobspec.Workspace:
		return refuse(jobspec.CodeTierUnknown, o.Tier.String(), "tier %q cannot be planned", o.Tier)
	case o.Net != jobspec.NetNone && o.Net != jobspec.NetProxy:
		return refuse(jobspec.CodeNetOverCeiling, o.Net.String(), "net mode %q cannot be planned", o.Net)
	case o.Account.UID <= 0 || o.Account.GID <= 0:
		return refuse(jobspec.CodeRunAsForbidden, "", "a job never runs with uid %d, gid %d", o.Account.UID, o.Account.GID)
	case o.Spec.Limits.TimeoutSeconds <= 0 || o.Spec.Limits.GraceSeconds < 0:
		return refuse(jobspec.CodeSpecMalformed, "limits.timeout_seconds", "the spec has no timeout")
	case o.Spec.Limits.TmpBytes <= 0:
		return refuse(jobspec.CodeSpecMalformed, "limits.tmp_bytes", "the spec does not bound its private directories")
	}
	return o.checkBuilt()
}

// checkBuilt refuses by name what no backend of this version can do. Ignoring
// a field would run something else than what was approved.
func (o Order) checkBuilt() error {
	s := o.Spec
	for _, f := range []struct {
		field string
		used  bool
	}{
		{"backend.devices", len(s.Backend.Devices) > 0},
		{"fs.git", s.Git != "" && s.Git != "read-only" && s.Git != jobspec.GitCommit},
	} {
		if f.used {
			return refuse(jobspec.CodeSpecFieldLater, f.field, "%s is not built in this version", f.field)
		}
	}
	return nil
}
