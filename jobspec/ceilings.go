package jobspec

import (
	"path"
	"slices"
	"time"
)

// ceilings: the op asks for no more than the principal may have. What lies over
// a ceiling is refused and never narrowed: what is signed is what runs.
func (j *judge) ceilings() {
	c, known := j.ceiling()
	if !known {
		code := CodePrincipalUnknown
		if j.in.Policy == nil {
			code = orElse(j.in.PolicyErr, CodePolicyMissing)
		}
		j.no(code, string(j.op.Principal), "no ceiling is known, so nothing is allowed")
		j.all.Resources = No
		return
	}
	if j.op.Tier == NoTier || j.op.Tier > Workspace || j.op.Tier > c.MaxTier {
		j.no(CodeTierOverCeiling, j.op.Tier.String(), "max_tier of %s is %s", j.op.Principal, Quote(c.MaxTier.String()))
	}
	if j.op.Net == NoNet || j.op.Net > NetProxy || j.op.Net > c.MaxNet {
		j.no(CodeNetOverCeiling, j.op.Net.String(), "max_net of %s is %s", j.op.Principal, Quote(c.MaxNet.String()))
	}
	if j.spec == nil {
		return
	}
	j.span(c)
	j.weaker()
	j.of(&j.all.Resources)
	j.paths(c)
	j.limits(c)
	j.runAs(c)
}

// span: how long the approval lasts, how often the job runs, how many there are.
func (j *judge) span(c Ceiling) {
	ttl := orElse(c.MaxTTL, DefaultMaxTTL)
	if got := j.spec.ExpiresAt.Time().Sub(j.op.Created.Time()); !j.spec.ExpiresAt.IsZero() && got > ttl {
		j.no(CodeTTLOverCeiling, "expires_at", "%s after signing, max_ttl is %s", days(got), days(ttl))
	}
	gap := time.Duration(j.in.Gap) * time.Second
	if every := j.spec.Schedule.EverySeconds; every > 0 {
		gap = time.Duration(every) * time.Second
	}
	if least := orElse(c.MinInterval, DefaultMinInterval); gap > 0 && gap < least {
		j.no(CodeIntervalTooShort, "schedule", "runs %s apart, min_interval is %s", gap, least)
	}
	if most := orElse(c.MaxJobs, DefaultMaxJobs); (j.phase == PhaseAdd || j.phase == PhaseApply) && j.in.Jobs >= most {
		j.no(CodeQuotaJobs, string(j.op.Principal), "has %d jobs in force, max_jobs is %d", j.in.Jobs, most)
	}
}

// WeakerChoices are the only ways to run with less, each by name. None runs a
// job without a sandbox or without its probe.
func WeakerChoices() []string {
	return []string{"weaker_backend_landlock", "weaker_nested_sandbox", "weaker_soft_limits", "weaker_exec_identity_package", "weaker_landlock_missing"}
}

// weaker: a weaker choice needs both the managed file and the signed spec.
func (j *judge) weaker() {
	for _, w := range j.spec.Weaker {
		switch {
		case !slices.Contains(WeakerChoices(), w):
			j.no(CodeWeakerForbidden, w, "there is no such choice")
		case !slices.Contains(j.in.Policy.Weaker, w):
			j.no(CodeWeakerForbidden, w, "policy.toml does not permit it")
		}
	}
}

// paths: beyond the cwd only what the ceiling lists.
func (j *judge) paths(c Ceiling) {
	readable := append(append([]string{}, c.Read...), c.Write...)
	for _, p := range j.spec.Read {
		if !j.inCwd(p) && !withinAny(p, readable) {
			j.no(CodePathOverCeiling, p, "not below the cwd and not listed in read or write of %s", j.op.Principal)
		}
	}
	for _, p := range j.spec.Write {
		switch {
		case j.op.Tier != Workspace:
			j.no(CodePathOverCeiling, p, "only tier workspace writes")
		case !j.inCwd(p) && !withinAny(p, c.Write):
			j.no(CodePathOverCeiling, p, "not below the cwd and not listed in write of %s", j.op.Principal)
		}
	}
}

func (j *judge) inCwd(p string) bool { return pathWithin(p, j.spec.Cwd.Path) }

func withinAny(p string, prefixes []string) bool {
	return isCleanPath(p) && slices.ContainsFunc(prefixes, func(prefix string) bool { return pathWithin(p, prefix) })
}

func isCleanPath(p string) bool { return path.IsAbs(p) && path.Clean(p) == p }

// limits: each within the ceiling and the floor, none that the job would lack.
func (j *judge) limits(c Ceiling) {
	floor := FloorLimits()
	for _, f := range limitFields() {
		got, top := *f.value(&j.spec.Limits), *f.value(&floor)
		if ceiling := *f.value(&c.Limits); ceiling != 0 {
			top = min(top, ceiling)
		}
		switch {
		case got == 0 && f.required:
			j.no(CodeLimitOverCeiling, f.name, "must be given")
		case got < 0:
			j.no(CodeLimitOverCeiling, f.name, "%d is negative", got)
		case got > top:
			j.no(CodeLimitOverCeiling, f.name, "%d, at most %d", got, top)
		}
	}
}

// runAs: in system mode the account is one that the ceiling lists, and is still
// the one that was bound. A name may change its uid between add and run, so uid
// and gid are compared, and never looked up to be used.
func (j *judge) runAs(c Ceiling) {
	r := j.spec.RunAs
	switch {
	case !j.in.Host.System && !r.IsZero():
		j.no(CodeRunAsForbidden, r.User, "run_as is for system mode; here jobs run as the owner")
	case !j.in.Host.System:
	case r.IsZero() && j.op.Tier == Workspace:
		j.finding(Check{Code: CodeRunAsForbidden, Target: "run_as", Detail: "a workspace job in system mode runs as an account of its own",
			Remedy: "name the account with --run-as"})
	case r.IsZero(): // a throw-away uid
	default:
		j.account(c, r)
	}
}

func (j *judge) account(c Ceiling, r RunAs) {
	switch {
	case r.UID <= 0 || r.GID <= 0 || r.User == "root":
		j.no(CodeRunAsForbidden, r.User, "uid %d, gid %d: no job runs as root", r.UID, r.GID)
		return
	case r.UID == j.in.Host.UID:
		j.no(CodeRunAsForbidden, r.User, "uid %d is the service's own", r.UID)
		return
	case !slices.Contains(c.RunAs, r.User):
		j.no(CodeRunAsForbidden, r.User, "run_as of %s does not list it", j.op.Principal)
	}
	if j.in.Host.LookupUser == nil {
		j.no(CodeInternal, r.User, "accounts cannot be looked up")
		return
	}
	now, ok := j.in.Host.LookupUser(r.User)
	switch {
	case !ok:
		j.no(CodeDriftUser, r.User, "there is no such account")
	case now != r:
		j.no(CodeDriftUser, r.User, "uid %d, gid %d was bound, it is %d, %d now", r.UID, r.GID, now.UID, now.GID)
	}
}
