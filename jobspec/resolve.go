package jobspec

import (
	"fmt"
	"maps"
	"slices"
)

// Resolve turns a draft and what was found into the op that the owner is asked
// to sign. Every default is written out, so that the signed bytes mean the same
// to every later version. The result holds no answers yet; Decide at PhaseAdd
// says which asks it needs. Errors are *FieldError.
func Resolve(d *Draft, f Facts) (*Op, error) {
	if err := checkFacts(f); err != nil {
		return nil, err
	}
	tier, err := resolveTier(d, f)
	if err != nil {
		return nil, err
	}
	schedule, err := resolveSchedule(d, f)
	if err != nil {
		return nil, err
	}
	argv, err := resolveCommand(d)
	if err != nil {
		return nil, err
	}
	if err := checkOpenings(d, f); err != nil {
		return nil, err
	}
	created := InstantOf(f.Now)
	op := &Op{
		Type: OpType, Host: f.Host, Seq: f.Seq, Prev: f.Prev, Action: f.Action,
		Job: d.Name, Revision: f.Revision,
		Created: created, ApplyBefore: created.Add(orElse(f.ApplyFor, DefaultApplyFor)),
		Principal: f.Principal, Tier: tier, Net: orElse(d.Net, NetNone),
		Spec: &Spec{
			Argv: argv, Script: d.Script, Bound: slices.Clone(f.Bound),
			Cwd: f.Cwd, Read: slices.Clone(f.Read), Write: slices.Clone(f.Write), Deny: slices.Clone(f.Deny),
			Git: resolveGit(d, f, tier), MayCreate: d.MayCreate, Bind: slices.Clone(f.Bind),
			Env: maps.Clone(d.Env), Stdin: d.Stdin,
			Schedule: schedule, ExpiresAt: created.Add(orElse(d.Expires, DefaultTTL)),
			Limits: resolveLimits(d), RunAs: f.RunAs, StateDir: d.StateDir,
			Result:   orElse(d.Result, ExitWord),
			NetAllow: WithPorts(d.NetAllow), NetDeny: WithPorts(d.NetDeny), Forward: d.Forward, Sockets: d.Sockets,
			Credentials: d.Credentials, Denials: resolveDenials(d), Backend: resolveBackend(d),
			Weaker: d.Weaker, Notify: d.Notify, Policy: f.Policy,
			Note: d.Note,
		},
	}
	op.Spec.Coverage = CoverageOf(op.Spec)
	return op, nil
}

func orElse[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// checkFacts refuses to make an op that View.Check would refuse anyway, before
// a person is asked to read it.
func checkFacts(f Facts) error {
	switch {
	case f.Action != Add && f.Action != Replace:
		return &FieldError{Reason: CodeActionUnknown, Field: "action", Detail: fmt.Sprintf("%q carries no spec", f.Action)}
	case f.Host == "" || f.Principal == "" || f.Revision <= 0 || f.Seq <= 0 || f.Prev.IsZero() || f.Now.Unix() <= 0:
		return &FieldError{Reason: CodeInternal, Field: "facts", Detail: "host, principal, revision, seq, prev and time must be known"}
	}
	return nil
}

// resolveTier picks the least tier that fits: scratch without a cwd, read-only
// with one.
func resolveTier(d *Draft, f Facts) (Tier, error) {
	tier := d.Tier
	if tier == NoTier {
		tier = Scratch
		if d.Cwd != "" {
			tier = ReadOnly
		}
	}
	if tier == Scratch && d.Cwd != "" {
		return NoTier, &FieldError{Reason: CodeSpecMalformed, Field: "cwd", Detail: "tier scratch has a private, empty work directory and no cwd",
			Remedy: "leave cwd out, or use tier read-only or workspace"}
	}
	if tier > Scratch && d.Cwd == "" {
		return NoTier, &FieldError{Reason: CodeSpecMalformed, Field: "cwd", Detail: fmt.Sprintf("tier %s needs one", tier),
			Remedy: "name the folder with --cwd"}
	}
	if (d.Cwd == "") != (f.Cwd == Place{}) {
		return NoTier, &FieldError{Reason: CodeInternal, Field: "facts", Detail: "the cwd was not looked at"}
	}
	return tier, nil
}

func resolveSchedule(d *Draft, f Facts) (Schedule, error) {
	n := 0
	for _, set := range []bool{d.Cron != "", d.Every != 0, !d.At.IsZero()} {
		if set {
			n++
		}
	}
	if n != 1 {
		return Schedule{}, &FieldError{Reason: CodeScheduleInvalid, Field: "schedule", Detail: fmt.Sprintf("%d of schedule, every and at are given", n),
			Remedy: "give exactly one of schedule, every and at"}
	}
	s := Schedule{
		Cron: d.Cron, EverySeconds: int64(d.Every.Seconds()),
		Timezone:      orElse(d.Timezone, orElse(f.Zone, DefaultZone)),
		JitterSeconds: int64(d.Jitter.Seconds()),
		Missed:        orElse(d.Missed, SkipWord), StartDeadlineSeconds: resolveStartDeadline(d, f),
		Overlap: orElse(d.Overlap, SkipWord), Retries: d.Retries, Words: f.Words,
	}
	if !d.At.IsZero() {
		s.At = InstantOf(d.At)
	}
	return s, nil
}

// resolveStartDeadline writes out how late a missed slot may start. Decide refuses one
// where missed slots are skipped.
func resolveStartDeadline(d *Draft, f Facts) int64 {
	deadline := d.StartDeadline
	if d.Missed == OnceWord && deadline == 0 {
		deadline = defaultStartDeadline(f.Gap)
	}
	return int64(deadline.Seconds())
}

// resolveCommand returns argv as typed. With an embedded script argv holds the
// operands only and may be empty.
func resolveCommand(d *Draft) ([]string, error) {
	embedded := d.Script != Script{}
	if embedded && (d.Script.Interpreter == "" || d.Script.Body == "") {
		return nil, &FieldError{Reason: CodeSpecMalformed, Field: "script", Detail: "interpreter and body must both be given"}
	}
	if !embedded && (len(d.Command) == 0 || d.Command[0] == "") {
		return nil, &FieldError{Reason: CodeSpecMalformed, Field: "command", Detail: "no program is named",
			Remedy: "write the command after --"}
	}
	return slices.Clone(d.Command), nil
}

// resolveGit writes out that .git of a writable cwd stays read-only.
func resolveGit(d *Draft, f Facts, tier Tier) string {
	if d.Git == "" && tier == Workspace && f.HasGit {
		return "read-only"
	}
	return d.Git
}

// checkOpenings refuses what could only be found wrong later.
func checkOpenings(d *Draft, f Facts) error {
	switch {
	case len(d.Bind) != len(f.Bind):
		return &FieldError{Reason: CodeInternal, Field: "facts", Detail: "the sources of binds were not looked at"}
	case d.Git == GitCommit && !f.HasGit:
		return &FieldError{Reason: CodeSpecMalformed, Field: "fs.git", Detail: "the cwd holds no .git folder to commit to",
			Remedy: "name the top folder of a repository with --cwd"}
	}
	return nil
}

// resolveLimits writes the limit of the state folder out where there is one.
func resolveLimits(d *Draft) Limits {
	def := DefaultLimits()
	if d.StateDir {
		def.StateBytes = DefaultStateBytes
	}
	return d.Limits.orDefault(def)
}

func resolveBackend(d *Draft) BackendNeed {
	b := d.Backend
	if len(b.AnyOf) == 0 {
		b.AnyOf = []string{DefaultBackend}
	}
	return b
}

// resolveDenials writes out what a denial does. Old specs without max have no
// bound but the one on repeats.
func resolveDenials(d *Draft) DenialRules {
	r := d.Denials
	r.OnDenial, r.Max = orElse(r.OnDenial, FailWord), orElse(r.Max, DefaultMaxDenials)
	return r
}
