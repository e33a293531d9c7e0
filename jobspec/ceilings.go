package jobspec

import (
	"fmt"
	"path"
	"slices"
	"time"
)

// ceilings: the op asks for no more than the principal may have. What lies over
// a ceiling is refused and never narrowed: what is signed is what runs. The
// managed files are judged first, and then what they and the principal's own
// file allow together, so that a check says whose ceiling it was.
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
	if managed, ok := j.managed.Principals[j.op.Principal]; ok {
		j.within(LayerManaged, j.managed, managed)
	}
	if j.managed != j.in.Policy {
		j.within(LayerOwner, j.in.Policy, c)
	}
}

// within holds the op against one ceiling and names the layer. What a layer
// before has refused already is not said again.
func (j *judge) within(layer string, p *Policy, c Ceiling) {
	before := len(j.checks)
	j.of(&j.all.Capability)
	j.layer = layer
	j.bounds(p, c)
	j.layer = ""
	said := j.checks[:before:before]
	for _, check := range j.checks[before:] {
		check.Layer = orElse(check.Layer, layer)
		again := func(old Check) bool { return old.Code == check.Code && old.Target == check.Target }
		if !slices.ContainsFunc(j.checks[:before], again) {
			said = append(said, check)
		}
	}
	j.checks = said
}

func (j *judge) bounds(p *Policy, c Ceiling) {
	if j.op.Tier == NoTier || j.op.Tier > Workspace || j.op.Tier > c.MaxTier {
		j.no(CodeTierOverCeiling, j.op.Tier.String(), "max_tier of %s is %s", j.op.Principal, Quote(c.MaxTier.String()))
	}
	if j.op.Net == NoNet || j.op.Net > NetProxy || j.op.Net > c.MaxNet {
		j.no(CodeNetOverCeiling, j.op.Net.String(), "max_net of %s is %s", j.op.Principal, Quote(c.MaxNet.String()))
	}
	j.required(c)
	if j.spec == nil {
		return
	}
	j.span(c)
	j.weaker(p)
	j.of(&j.all.Resources)
	j.paths(p, c)
	j.upstream(p)
	j.reach(c)
	j.limits(c)
	j.runAs(c)
}

// Ways of signing that a ceiling can demand for a tier.
const (
	RequireTerminal = "terminal" // the owner's tool signs only for somebody on a terminal
	RequireTouch    = "touch"    // a key that is touched for each signature
)

// required: no key that is touched can be used yet, so what demands one is
// refused. Whether somebody sat at a terminal cannot be seen in the op: the
// owner's tool refuses to sign, and nobody else can tell.
func (j *judge) required(c Ceiling) {
	for _, way := range c.Require[j.op.Tier] {
		switch way {
		case RequireTerminal:
		case RequireTouch:
			j.finding(Check{Code: CodeKeyUnavailable, Target: RequireTouch,
				Detail: fmt.Sprintf("require of %s demands a key that is touched for tier %s, and such keys cannot be used yet", j.op.Principal, j.op.Tier),
				Remedy: "use another tier, or have require of the principal changed in policy.toml"})
		default:
			j.no(CodePolicyEvalError, "require", "%s is no way of signing", Quote(way))
		}
	}
}

// span: how long the approval lasts, how often the job runs, how many there are,
// and when.
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
	j.windows(c)
}

// windows: a run starts only inside one window of each list. Nothing starts at
// add, so there it does not count; explain speaks of the next slot.
func (j *judge) windows(c Ceiling) {
	if j.phase == PhaseAdd || j.phase == PhaseApply {
		return
	}
	at := orElse(j.in.At, j.in.Host.Now)
	if list, outside := c.Outside(at, j.in.Host.Zone); outside {
		j.no(CodeWindowClosed, list, "windows of %s do not hold %s", j.op.Principal, InstantOf(at))
	}
}

// paths: beyond the cwd only what the ceiling lists. Where managed_only says so,
// the cwd is held against the list too.
func (j *judge) paths(p *Policy, c Ceiling) {
	readable := append(append([]string{}, c.Read...), c.Write...)
	j.listedCwd(p, readable, c.Write)
	for _, path := range j.spec.Read {
		free := j.inCwd(path) && !p.ManagedOnly.ReadPaths
		if !free && !withinAny(path, readable) {
			j.no(CodePathOverCeiling, path, "not below the cwd and not listed in read or write of %s", j.op.Principal)
		}
	}
	for _, path := range j.spec.Write {
		free := j.inCwd(path) && !p.ManagedOnly.WritePaths
		switch {
		case j.op.Tier != Workspace:
			j.no(CodePathOverCeiling, path, "only tier workspace writes")
		case !free && !withinAny(path, c.Write):
			j.no(CodePathOverCeiling, path, "not below the cwd and not listed in write of %s", j.op.Principal)
		}
	}
}

func (j *judge) listedCwd(p *Policy, readable, writable []string) {
	cwd := j.spec.Cwd.Path
	switch {
	case cwd == "":
	case p.ManagedOnly.WritePaths && j.op.Tier == Workspace && !withinAny(cwd, writable):
		j.no(CodePathOverCeiling, cwd, "managed_only.write_paths is set, and write of %s does not list the cwd", j.op.Principal)
	case p.ManagedOnly.ReadPaths && !withinAny(cwd, readable):
		j.no(CodePathOverCeiling, cwd, "managed_only.read_paths is set, and neither read nor write of %s lists the cwd", j.op.Principal)
	}
}

func (j *judge) inCwd(p string) bool { return pathWithin(p, j.spec.Cwd.Path) }

func withinAny(p string, prefixes []string) bool {
	return isCleanPath(p) && slices.ContainsFunc(prefixes, func(prefix string) bool { return pathWithin(p, prefix) })
}

func isCleanPath(p string) bool { return path.IsAbs(p) && path.Clean(p) == p }

// limits: each within the ceiling and the floor, none that the job would lack. A
// limit that is left out bounds nothing, which is more than any ceiling allows.
func (j *judge) limits(c Ceiling) {
	floor := FloorLimits()
	for _, f := range limitFields() {
		got, top, ceiling := *f.value(&j.spec.Limits), *f.value(&floor), *f.value(&c.Limits)
		if ceiling != 0 {
			top = min(top, ceiling)
		}
		switch {
		case got == 0 && f.required:
			j.no(CodeLimitOverCeiling, f.name, "must be given")
		case got == 0 && ceiling != 0 && j.unbounded(f.name):
			j.no(CodeLimitOverCeiling, f.name, "none is given, at most %d", top)
		case got < 0:
			j.no(CodeLimitOverCeiling, f.name, "%d is negative", got)
		case got > top:
			j.no(CodeLimitOverCeiling, f.name, "%d, at most %d", got, top)
		}
	}
}

// unbounded reports whether the op uses what a limit bounds, and leaving the limit
// out would let it use as much as there is.
func (j *judge) unbounded(limit string) bool {
	switch limit {
	case "memory_bytes", "cpu_percent":
		return true
	case "workspace_growth_bytes":
		return j.op.Tier == Workspace
	case "connections", "net_bytes":
		return j.op.Net == NetProxy
	}
	return false // of the others zero is the least, or is refused wherever it counts
}
