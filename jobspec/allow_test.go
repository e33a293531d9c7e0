package jobspec

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// For each refusal that somebody can allow: what is told to be written, and that
// writing it makes the refusal go away.
func TestWhatIsToldToAllowARefusalAllowsIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		refuse func(in *Input)
		code   Code
		allow  string
		write  func(in *Input)
	}{
		{"tier", func(in *Input) { in.alice(func(c *Ceiling) { c.MaxTier = ReadOnly }) }, CodeTierOverCeiling,
			`policy.toml, [principals.alice]: max_tier = "workspace"`, func(in *Input) { in.alice(func(c *Ceiling) { c.MaxTier = Workspace }) }},
		{"read", func(in *Input) { in.Op.Spec.Read = []string{"/srv/more"}; in.Paths = observations(in.Op.Spec) }, CodePathOverCeiling,
			`policy.toml, [principals.alice]: read = ["/srv/data", "/srv/more"]`, func(in *Input) { in.alice(func(c *Ceiling) { c.Read = append(c.Read, "/srv/more") }) }},
		{"write", func(in *Input) { in.Op.Spec.Write = []string{"/srv/out"}; in.Paths = observations(in.Op.Spec) }, CodePathOverCeiling,
			`policy.toml, [principals.alice]: write = ["/srv/out"]`, func(in *Input) { in.alice(func(c *Ceiling) { c.Write = []string{"/srv/out"} }) }},
		{"write below workspace", func(in *Input) {
			in.Op.Tier, in.Op.Spec.Write = ReadOnly, []string{"/srv/ops/out"}
			in.Paths = observations(in.Op.Spec)
		}, CodePathOverCeiling, `--tier workspace (job.toml: tier = "workspace")`, func(in *Input) { in.Op.Tier = Workspace }},
		{"limit", func(in *Input) {
			in.Op.Spec.Limits.TimeoutSeconds = 5400
			in.alice(func(c *Ceiling) { c.Limits.TimeoutSeconds = 60 })
		}, CodeLimitOverCeiling, `policy.toml, [principals.alice.limits]: timeout = "1h30m"`, func(in *Input) { in.alice(func(c *Ceiling) { c.Limits.TimeoutSeconds = 5400 }) }},
		{"ttl", func(in *Input) { in.alice(func(c *Ceiling) { c.MaxTTL = time.Hour }) }, CodeTTLOverCeiling,
			`policy.toml, [principals.alice]: max_ttl = "90d"`, func(in *Input) { in.alice(func(c *Ceiling) { c.MaxTTL = 90 * 24 * time.Hour }) }},
		{"interval", func(in *Input) { in.alice(func(c *Ceiling) { c.MinInterval = 48 * time.Hour }) }, CodeIntervalTooShort,
			`policy.toml, [principals.alice]: min_interval = "1d"`, func(in *Input) { in.alice(func(c *Ceiling) { c.MinInterval = 24 * time.Hour }) }},
		{"account", func(in *Input) { in.system(RunAs{"other", 1002, 1002}) }, CodeRunAsForbidden,
			`policy.toml, [principals.alice]: run_as = ["reports", "other"]`, func(in *Input) { in.alice(func(c *Ceiling) { c.RunAs = append(c.RunAs, "other") }) }},
		{"principal", func(in *Input) { in.Policy.Principals = nil }, CodePrincipalUnknown,
			`policy.toml, [principals.alice]: max_tier = "workspace"`, func(in *Input) { in.Policy = goodPolicy() }},
		{"disabled principal", func(in *Input) { in.alice(func(c *Ceiling) { c.Disabled = true }) }, CodePrincipalDisabled,
			"policy.toml, [principals.alice]: disabled = false", func(in *Input) { in.alice(func(c *Ceiling) { c.Disabled = false }) }},
		{"platform", func(in *Input) { in.Policy.EnabledPlatforms = nil }, CodeSbxPlatformDisabled,
			`policy.toml: enabled_platforms = ["linux"]`, func(in *Input) { in.Policy.EnabledPlatforms = []string{"linux"} }},
		{"managed rules only", func(in *Input) { in.Policy.ManagedOnly.Commands = true }, CodeCmdNotAllowed,
			`policy.toml: rules = [{ id = "ID", effect = "allow", why = "WHY", path = "/srv/ops/backup.sh" }]`,
			func(in *Input) {
				in.Policy.Rules = []Rule{{ID: "ID", Effect: "allow", Why: "WHY", Path: "/srv/ops/backup.sh"}}
			}},
		{"rule", func(in *Input) { in.rule(Rule{ID: "no", Effect: "deny", Why: "w", Name: "backup.sh"}) }, CodeCmdDeniedRule,
			`policy.toml: change or remove rule "no"`, func(in *Input) { in.Policy.Rules = nil }},
		{"rule of another file", func(in *Input) {
			in.rule(Rule{ID: "no", Effect: "deny", Why: "w", Name: "backup.sh", File: "policy.d/x.toml"})
		}, CodeCmdDeniedRule,
			`policy.d/x.toml: change or remove rule "no"`, func(in *Input) { in.Policy.Rules = nil }},
		{"tier of several files", func(in *Input) {
			in.Policy.Further = []string{"policy.d/x.toml"}
			in.alice(func(c *Ceiling) { c.MaxTier = ReadOnly })
		}, CodeTierOverCeiling, `policy.toml and, where it is narrower, policy.d/x.toml, [principals.alice]: max_tier = "workspace"`,
			func(in *Input) { in.alice(func(c *Ceiling) { c.MaxTier = Workspace }) }},
		{"tier of the own file", func(in *Input) { in.own(Ceiling{MaxTier: ReadOnly, MaxNet: NetProxy}) }, CodeTierOverCeiling,
			`owner.d/alice.toml, [principals.alice]: max_tier = "workspace"`, func(in *Input) { in.own(Ceiling{MaxTier: Workspace, MaxNet: NetProxy}) }},
		{"disabled by the own file", func(in *Input) { in.own(Ceiling{MaxTier: Workspace, MaxNet: NetProxy, Disabled: true}) }, CodePrincipalDisabled,
			"owner.d/alice.toml, [principals.alice]: disabled = false", func(in *Input) { in.own(Ceiling{MaxTier: Workspace, MaxNet: NetProxy}) }},
		{"held", func(in *Input) { in.Held = true }, CodeJobHeld, "sbxcron release nightly", func(in *Input) { in.Held = false }},
		{"breaker", func(in *Input) { in.Held, in.HeldFor = true, CodeBreakerOpen }, CodeBreakerOpen,
			"sbxcron release nightly", func(in *Input) { in.Held = false }},
		{"locked breaker", func(in *Input) { in.Held, in.HeldFor = true, CodeBreakerLocked }, CodeBreakerLocked,
			"sbxcron enable nightly", func(in *Input) { in.Held = false }},
		{"changed file", func(in *Input) { in.Paths[0].SHA256 = DigestOf([]byte("new")) }, CodeDriftExecHash,
			"sbxcron rebind nightly", func(in *Input) { in.Op.Spec.Bound[0].SHA256 = in.Paths[0].SHA256 }},
		{"expired", func(in *Input) { in.Host.Now = in.Op.Spec.ExpiresAt.Time() }, CodeExpired,
			"sbxcron replace nightly -f FILE --expires 90d", func(in *Input) { in.Op.Spec.ExpiresAt = InstantOf(in.Host.Now.Add(time.Hour)) }},
		{"bind", func(in *Input) {
			in.Op.Spec.Bind = []Bind{{Source: "/srv/lib", Target: "~/lib", Mode: "ro"}}
		}, CodeBindOverCeiling, `policy.toml, [principals.alice]: bind = ["/srv/lib"]`, func(in *Input) { in.alice(func(c *Ceiling) { c.Bind = []string{"/srv/lib"} }) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := goodInput(t, goodDraft(), goodFacts())
			in.Policy.Rules = nil
			c.refuse(&in)
			no := Decide(PhaseTrigger, in).Refusals()
			i := slices.IndexFunc(no, func(k Check) bool { return k.Code == c.code })
			if i < 0 || no[i].Allow != c.allow {
				t.Fatalf("refused with %+v, want %s and %q", no, c.code, c.allow)
			}
			c.write(&in)
			if still := codesOf(Decide(PhaseTrigger, in)); slices.Contains(still, c.code) {
				t.Errorf("written, and still %v", still)
			}
		})
	}
}

// An ask is allowed by its own answer, at add by a flag and at a trigger by
// signing again; nothing else is offered.
func TestWhatIsToldToAllowAnAskIsItsAnswer(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.Op.Spec.Env["PYTHONPATH"] = "/srv/lib"
	for phase, want := range map[Phase]string{PhaseAdd: "--answer %=allow", PhaseTrigger: "sbxcron replace nightly -f FILE --answer %=allow"} {
		d := Decide(phase, in)
		no := d.Refusals()
		if len(no) != 1 || len(d.Asks) != 1 || no[0].Allow != strings.ReplaceAll(want, "%", d.Asks[0].ID) {
			t.Errorf("phase %d: %+v", phase, no)
		}
	}
}

func TestWhatNobodyCanAllowIsNotOffered(t *testing.T) {
	for name, refuse := range map[string]func(in *Input){
		"sensitive place":     func(in *Input) { in.Paths[1].Places = at(8, 62, "8:1:/x", 60, 2) },
		"privilege tool":      func(in *Input) { in.Op.Spec.Argv[0], in.Op.Spec.Bound[0].Typed = "sudo", "sudo" },
		"forbidden variable":  func(in *Input) { in.Op.Spec.Env["LD_PRELOAD"] = "x" },
		"no sandbox":          func(in *Input) { in.Sandbox = Sandbox{Backend: "bwrap", Problem: CodeSbxBackendMissing} },
		"backend local":       func(in *Input) { in.Op.Spec.Backend.AnyOf = []string{"local"} },
		"no policy":           func(in *Input) { in.Policy = nil },
		"limit over floor":    func(in *Input) { in.Op.Spec.Limits.TimeoutSeconds = 1 << 40 },
		"root":                func(in *Input) { in.system(RunAs{"root", 0, 0}) },
		"the service's uid":   func(in *Input) { in.system(RunAs{"reports", 999, 999}) },
		"later field":         func(in *Input) { in.Op.Spec.Backend.Image = "x" },
		"weaker":              func(in *Input) { in.Op.Spec.Weaker = []string{"weaker_soft_limits"} },
		"path that is no one": func(in *Input) { in.Op.Spec.Read = []string{"/srv/../etc"} },
		"other host":          func(in *Input) { in.Host.ID = "00000000000000000000000000000000" },
		"another backend":     func(in *Input) { in.Sandbox.Backend = "landlock" },
		"a socket of docker":  func(in *Input) { in.Op.Spec.Sockets = []string{"/run/docker.sock"} },
	} {
		in := goodInput(t, goodDraft(), goodFacts())
		refuse(&in)
		no := Decide(PhaseTrigger, in).Refusals()
		if len(no) == 0 {
			t.Errorf("%s: allowed", name)
		}
		if no[0].Allow != "" {
			t.Errorf("%s: %s offers %q", name, no[0].Code, no[0].Allow)
		}
	}
}

// Whatever is refused, nobody is told to take a layer away.
func TestNothingThatIsOfferedWeakensASandbox(t *testing.T) {
	bad := regexp.MustCompile(`(?i)--no-|without|sandbox *=|unsandboxed|elevated|weaker_|--yes|"local"`)
	n := 0
	for name, refuse := range tightening {
		in := goodInput(t, goodDraft(), goodFacts())
		refuse(&in)
		for phase := PhaseAdd; phase <= PhaseTrigger; phase++ {
			for _, c := range Decide(phase, in).Checks {
				n++
				if c.Verdict == saysYes && c.Allow != "" || bad.MatchString(c.Allow) {
					t.Errorf("%s: %+v", name, c)
				}
			}
		}
	}
	if n == 0 {
		t.Error("nothing was looked at")
	}
}

// own is the file that alice keeps about the own jobs, with one ceiling in it.
func (in *Input) own(c Ceiling) {
	in.Policy.Owners = map[Principal]OwnerLayer{"alice": {Policy: &Policy{Open: true, Principals: map[Principal]Ceiling{"alice": c}}}}
}
