package jobspec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// allowance is what somebody would have to sign or write so that a refusal goes
// away: the flag, the line of policy.toml or the command, exactly as it is
// written. It is "" where nothing can allow it: the floor, a place that no job
// gets, a sandbox that does not hold. It never takes a layer of the sandbox, a
// check or a record away, because there is no such thing to write.
func (j *judge) allowance(c Check) string {
	if c.Layer == LayerFloor && !slices.Contains(askCodes(), c.Code) {
		return ""
	}
	if tell, ok := allowances()[c.Code]; ok && j.spec != nil {
		return tell(j, c)
	}
	return ""
}

func askCodes() []Code { return []Code{CodeCmdAskUnanswered, CodeAskAtTrigger, CodeAskAnswerStale} }

// allowances is the closed list of refusals that somebody can allow. A code that
// is not here cannot be allowed by anybody, only repaired.
func allowances() map[Code]func(*judge, Check) string {
	rebind := func(j *judge, _ Check) string { return "sbxcron rebind " + string(j.op.Job) }
	enable := func(j *judge, _ Check) string { return "sbxcron enable " + string(j.op.Job) }
	release := func(j *judge, _ Check) string { return "sbxcron release " + string(j.op.Job) }
	return map[Code]func(*judge, Check) string{
		CodePrincipalUnknown:  (*judge).allowPrincipal,
		CodePrincipalDisabled: (*judge).allowPrincipalAgain,
		CodeKeyNotForNamespace: func(j *judge, _ Check) string {
			return fmt.Sprintf("allowed_signers, line of %s: namespaces=%s among the others", j.op.Principal, Quote(JobNamespace(j.op.Tier, j.op.Net)))
		},
		CodeKeyRevoked:  func(j *judge, _ Check) string { return j.again("--key FILE of another key") },
		CodeKeyExpired:  func(j *judge, _ Check) string { return j.again("--key FILE of a key that is valid now") },
		CodeExpired:     func(j *judge, _ Check) string { return j.again("--expires 90d") },
		CodeJobDisabled: enable, CodeBreakerLocked: enable,
		CodeJobHeld: release, CodeBreakerOpen: release,
		CodeSbxPlatformDisabled: (*judge).allowPlatform,
		CodeTierOverCeiling: func(j *judge, _ Check) string {
			if j.op.Tier == NoTier || j.op.Tier > Workspace {
				return ""
			}
			return j.ceilingLine("max_tier = " + Quote(j.op.Tier.String()))
		},
		CodeNetOverCeiling: (*judge).allowNet,
		CodeSocketOverCeiling: func(j *judge, c Check) string {
			return j.built("net.sockets", j.listed("sockets", func(c Ceiling) []string { return c.Sockets }, c.Target))
		},
		CodeCredentialOverCeiling: func(j *judge, c Check) string {
			return j.built("credential", j.listed("credentials", func(c Ceiling) []string { return c.Credentials }, c.Target))
		},
		CodePathOverCeiling: (*judge).allowPath,
		CodeLimitOverCeiling: func(j *judge, c Check) string {
			return j.allowLimit(c.Target)
		},
		CodeTTLOverCeiling: func(j *judge, _ Check) string {
			return j.ceilingLine("max_ttl = " + Quote(FormatSpan(roundUp(j.spec.ExpiresAt.Time().Sub(j.op.Created.Time()), time.Hour))))
		},
		CodeIntervalTooShort: (*judge).allowInterval,
		CodeQuotaJobs: func(j *judge, _ Check) string {
			return j.ceilingLine("max_jobs = " + strconv.FormatInt(j.in.Jobs+1, 10))
		},
		CodeRunAsForbidden: (*judge).allowAccount,
		CodeCmdNotAllowed:  (*judge).allowCommand,
		CodeCmdDeniedRule: func(j *judge, c Check) string {
			return fmt.Sprintf("%s: change or remove rule %s", j.ruleFile(c.Rule), Quote(c.Rule))
		},
		CodeCmdAskUnanswered: func(_ *judge, c Check) string { return "--answer " + c.Target + "=allow" },
		CodeAskAtTrigger:     func(j *judge, c Check) string { return j.again("--answer " + c.Target + "=allow") },
		CodeAskAnswerStale:   (*judge).allowStale,
		CodeBindAmbiguous: func(*judge, Check) string {
			return "--file FILE for each file that it reads (job.toml: files = [...]), or a [script] table with the text"
		},
		CodeDriftExecPath: rebind, CodeDriftExecHash: rebind, CodeDriftExecOwner: rebind, CodeDriftInterpreter: rebind,
		CodeDriftScript: rebind, CodeDriftFile: rebind, CodeDriftCwd: rebind, CodeDriftBindSrc: rebind,
		CodeDriftUser:         rebind,
		CodeSbxBackendMissing: (*judge).allowBackend,
		CodeBindOverCeiling:   (*judge).allowBind,
	}
}

// again is the command that signs the job anew, from its own file or flags.
func (j *judge) again(with string) string {
	return strings.TrimSpace("sbxcron replace " + string(j.op.Job) + " -f FILE " + with)
}

// ceilingLine is a line of the principal's table, with the files that it has to
// be written to: a file that narrows is not lifted by what another one grants.
func (j *judge) ceilingLine(line string) string {
	name := string(j.op.Principal)
	if strings.ContainsAny(name, ".@") {
		name = Quote(name)
	}
	return fmt.Sprintf("%s, [principals.%s]: %s", j.ceilingFile(), name, line)
}

func (j *judge) ceilingFile() string {
	switch {
	case j.layer == LayerOwner:
		return j.ownFile()
	case j.managed == nil || len(j.managed.Further) == 0:
		return policyFile
	}
	return policyFile + " and, where it is narrower, " + strings.Join(j.managed.Further, ", ")
}

// ownFile is the file that the principal keeps for the own jobs.
func (j *judge) ownFile() string { return "owner.d/" + string(j.op.Principal) + ".toml" }

// ruleFile is the file that a rule stands in.
func (j *judge) ruleFile(id string) string {
	if j.in.Policy != nil {
		for _, r := range j.in.Policy.Rules {
			if r.ID == id {
				return orElse(r.File, policyFile)
			}
		}
	}
	return policyFile
}

// listed is a list of the ceiling with one more entry.
func (j *judge) listed(field string, have func(Ceiling) []string, more string) string {
	c, _ := j.ceiling()
	quoted := []string{}
	for _, s := range append(slices.Clone(have(c)), more) {
		quoted = append(quoted, Quote(s))
	}
	return j.ceilingLine(fmt.Sprintf("%s = [%s]", field, strings.Join(quoted, ", ")))
}

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

// built is an allowance for a field whose work this version does; for another one
// nobody can write anything that helps.
func (j *judge) built(field, allowance string) string {
	for _, f := range laterTable() {
		if f.name == field && f.used(j.op) {
			return ""
		}
	}
	return allowance
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

func roundUp(d, unit time.Duration) time.Duration {
	return (d + unit - 1) / unit * unit
}
