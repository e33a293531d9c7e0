package jobspec

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func (j *judge) allowPrincipal(Check) string {
	if _, err := ParsePrincipal(string(j.op.Principal)); err != nil || j.op.Tier == NoTier || j.op.Tier > Workspace {
		return ""
	}
	return j.ceilingLine("max_tier = " + Quote(j.op.Tier.String()))
}

func (j *judge) allowPrincipalAgain(Check) string {
	if j.managed != nil && !j.managed.Principals[j.op.Principal].Disabled {
		j.layer = LayerOwner
		defer func() { j.layer = "" }()
	}
	return j.ceilingLine("disabled = false")
}

func (j *judge) allowPlatform(c Check) string {
	if c.Target != "linux" {
		return ""
	}
	return `policy.toml: enabled_platforms = ["linux"]`
}

// allowNet tells the net mode itself from the hosts that the policy's gate or
// the spec's does not open.
func (j *judge) allowNet(c Check) string {
	switch {
	case c.Layer == LayerSpec:
		return j.built("net.mode proxy", `job.toml, [net]: mode = "proxy"`)
	case c.Target == j.op.Net.String():
		return j.built("net.mode proxy", j.ceilingLine("max_net = "+Quote(c.Target)))
	case slices.Contains(j.spec.Forward, c.Target):
		return j.built("net.forward", j.listed("forward", func(c Ceiling) []string { return c.Forward }, c.Target))
	}
	ceiling, _ := j.ceiling()
	if coveredBy(ceiling.Hosts, c.Target) {
		return j.built("net.allow", j.listed("private_hosts", func(c Ceiling) []string { return c.PrivateHosts }, c.Target))
	}
	return j.built("net.allow", j.listed("hosts", func(c Ceiling) []string { return c.Hosts }, c.Target))
}

// allowBind tells a source that is not listed from a writable one in a tier, or
// below a folder, that nobody writes.
func (j *judge) allowBind(c Check) string {
	ceiling, _ := j.ceiling()
	i := slices.IndexFunc(j.spec.Bind, func(b Bind) bool { return b.Source == c.Target })
	switch {
	case i < 0 || !isCleanPath(c.Target):
		return ""
	case !j.inCwd(c.Target) && !withinAny(c.Target, ceiling.Bind):
		return j.listed("bind", func(c Ceiling) []string { return c.Bind }, c.Target)
	case j.spec.Bind[i].Mode == BindRW && j.op.Tier != Workspace:
		return `--tier workspace (job.toml: tier = "workspace")`
	}
	return j.listed("write", func(c Ceiling) []string { return c.Write }, c.Target)
}

// allowPath tells a path that only a higher tier writes from one that the
// ceiling does not list.
func (j *judge) allowPath(c Check) string {
	writes := slices.Contains(j.spec.Write, c.Target)
	ceiling, _ := j.ceiling()
	switch {
	case !isCleanPath(c.Target):
		return ""
	case writes && j.op.Tier != Workspace && ceiling.MaxTier < Workspace:
		return j.ceilingLine(`max_tier = "workspace"`) + `; and --tier workspace (job.toml: tier = "workspace")`
	case writes && j.op.Tier != Workspace:
		return `--tier workspace (job.toml: tier = "workspace")`
	case writes:
		return j.listed("write", func(c Ceiling) []string { return c.Write }, c.Target)
	default:
		return j.listed("read", func(c Ceiling) []string { return c.Read }, c.Target)
	}
}

// allowLimit gives the ceiling the value that the spec asks for, where the floor
// has room for it.
func (j *judge) allowLimit(name string) string {
	floor := FloorLimits()
	for _, f := range limitFields() {
		if f.name != name {
			continue
		}
		got := *f.value(&j.spec.Limits)
		if got <= 0 || got > *f.value(&floor) {
			return ""
		}
		key, value := LimitText(name, got)
		return strings.Replace(j.ceilingLine(fmt.Sprintf("%s = %s", key, value)), "]:", ".limits]:", 1)
	}
	return ""
}

func (j *judge) allowInterval(Check) string {
	gap := time.Duration(j.in.Gap) * time.Second
	if every := j.spec.Schedule.EverySeconds; every > 0 {
		gap = time.Duration(every) * time.Second
	}
	if gap < time.Minute {
		return ""
	}
	return j.ceilingLine("min_interval = " + Quote(FormatSpan(gap)))
}

// allowAccount never names root or the service's own account.
func (j *judge) allowAccount(c Check) string {
	r := j.spec.RunAs
	switch {
	case !j.in.Host.System, r.User == "root":
		return ""
	case r.IsZero():
		return "--run-as ACCOUNT (job.toml: run_as = \"ACCOUNT\"), an account that run_as of the principal lists"
	case r.UID <= 0 || r.GID <= 0 || r.UID == j.in.Host.UID || c.Target != r.User:
		return ""
	}
	return j.listed("run_as", func(c Ceiling) []string { return c.RunAs }, r.User)
}

// allowCommand writes a rule for each part that none allows.
func (j *judge) allowCommand(Check) string {
	var rules []string
	for _, s := range j.read.segments {
		by := "name = " + Quote(baseName(s.words[0]))
		if s.real != "" {
			by = "path = " + Quote(s.real)
		}
		rule := fmt.Sprintf(`{ id = "ID", effect = "allow", why = "WHY", %s }`, by)
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return "policy.toml: rules = [" + strings.Join(rules, ", ") + "]"
}

func (j *judge) allowStale(c Check) string {
	if slices.ContainsFunc(j.asks, func(a Ask) bool { return a.ID == c.Target }) {
		return j.again("--answer " + c.Target + "=allow")
	}
	return j.again("") // an answer too many is left out by signing anew
}

func (j *judge) allowBackend(c Check) string {
	b := j.in.Sandbox
	if !b.Usable || b.Backend != c.Target || b.Backend != DefaultBackend {
		return "" // another one is not built yet
	}
	return "job.toml, [backend]: any_of = [" + Quote(b.Backend) + "]"
}
