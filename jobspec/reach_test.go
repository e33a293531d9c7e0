package jobspec

import (
	"slices"
	"strings"
	"testing"
)

// Whatever a job can reach outside its sandbox needs two gates. Each row opens
// one thing in the spec; with the policy's gate open nothing but the field's own
// "later" may be left, and with it shut the code names the thing.
func TestEverythingOutsideNeedsBothGates(t *testing.T) {
	for _, c := range []struct {
		name string
		spec func(op *Op)
		gate func(c *Ceiling)
		code Code
		item string
	}{
		{"host", func(op *Op) { op.Net, op.Spec.NetAllow = NetProxy, []string{"api.example.org:443"} },
			func(c *Ceiling) { c.MaxNet, c.Hosts = NetProxy, []string{"*.example.org:443"} }, CodeNetOverCeiling, "api.example.org:443"},
		{"private range", func(op *Op) { op.Net, op.Spec.NetAllow = NetProxy, []string{"10.1.2.3:5432"} },
			func(c *Ceiling) {
				c.MaxNet, c.Hosts, c.PrivateHosts = NetProxy, []string{"10.0.0.0/8:5432"}, []string{"10.1.0.0/16:5432"}
			}, CodeNetOverCeiling, "10.1.2.3:5432"},
		{"forward", func(op *Op) { op.Net, op.Spec.Forward = NetProxy, []string{"db.internal:5432"} },
			func(c *Ceiling) { c.MaxNet, c.Forward = NetProxy, []string{"db.internal:5432"} }, CodeNetOverCeiling, "db.internal:5432"},
		{"socket", func(op *Op) { op.Spec.Sockets = []string{"/run/postgresql/.s.PGSQL.5432"} },
			func(c *Ceiling) { c.Sockets = []string{"/run/postgresql"} }, CodeSocketOverCeiling, "/run/postgresql/.s.PGSQL.5432"},
		{"credential", func(op *Op) { op.Spec.Credentials = []Credential{{Name: "db-password", As: "file"}} },
			func(c *Ceiling) { c.Credentials = []string{"db-password"} }, CodeCredentialOverCeiling, "db-password"},
		{"bind", func(op *Op) { op.Spec.Bind = []Bind{{Source: "/etc/app/x.toml", Target: "/x.toml", Mode: "ro"}} },
			func(c *Ceiling) { c.Bind = []string{"/etc/app"} }, CodeBindOverCeiling, "/etc/app/x.toml"},
		{"writable bind", func(op *Op) { op.Spec.Bind = []Bind{{Source: "/srv/out", Target: "/out", Mode: "rw"}} },
			func(c *Ceiling) { c.Bind, c.Write = []string{"/srv/out"}, []string{"/srv"} }, CodeBindOverCeiling, "/srv/out"},
		{"backend", func(op *Op) {
			op.Spec.Backend.AnyOf, op.Spec.Weaker = []string{"bwrap", "landlock"}, []string{WeakerBackendLandlock}
		},
			func(c *Ceiling) { c.Backends = []string{"bwrap", "landlock"} }, CodeSbxBackendMissing, "landlock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, phase := range phases {
				in := goodInput(t, goodDraft(), goodFacts())
				c.spec(in.Op)
				in.alice(func(c *Ceiling) { c.MaxNet = NetProxy })
				in.Policy.Weaker = WeakerChoices()
				d := Decide(phase, in)
				if !refusedFor(d, c.code, c.item) || d.Allowed() {
					t.Errorf("phase %d, the policy's gate is shut: %+v", phase, d.Refusals())
				}
				if phase == PhaseTrigger && d.Verdicts.Resources != No {
					t.Errorf("resources: %s", d.Verdicts.Resources)
				}
				in.alice(c.gate)
				for _, r := range Decide(phase, in).Refusals() {
					if r.Step == "ceilings" {
						t.Errorf("phase %d, both gates are open: %+v", phase, r)
					}
				}
			}
		})
	}
}

// The remedy names the list that is short, and no other one.
func TestARefusalOfThePolicysGateNamesItsList(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.Op.Net, in.Op.Spec.NetAllow, in.Op.Spec.Backend.AnyOf = NetProxy, []string{"api.example.org:443"}, []string{"bwrap", "landlock"}
	in.alice(func(c *Ceiling) { c.MaxNet = NetProxy })
	seen := map[Code]bool{}
	for _, r := range Decide(PhaseAdd, in).Refusals() {
		if !strings.Contains(r.Detail, "gate of the policy is shut") {
			continue
		}
		seen[r.Code] = true
		if !strings.Contains(r.Remedy, "list") || strings.Contains(r.Remedy, "max_net") || strings.Contains(r.Remedy, "install") {
			t.Errorf("%s %s: do %q", r.Code, r.Target, r.Remedy)
		}
	}
	if !seen[CodeNetOverCeiling] || !seen[CodeSbxBackendMissing] {
		t.Errorf("refused: %v", seen)
	}
}

func refusedFor(d Decision, code Code, target string) bool {
	return slices.ContainsFunc(d.Refusals(), func(c Check) bool {
		return c.Code == code && c.Target == target && c.Layer == LayerManaged && strings.Contains(c.Detail, "gate of the policy is shut")
	})
}

func TestHostsWithoutANetworkNameTheSpecsGate(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.Op.Spec.NetAllow = []string{"api.example.org:443"}
	in.alice(func(c *Ceiling) { c.MaxNet, c.Hosts = NetProxy, []string{"api.example.org:443"} })
	found := slices.ContainsFunc(Decide(PhaseTrigger, in).Refusals(), func(c Check) bool {
		return c.Code == CodeNetOverCeiling && c.Layer == LayerSpec && strings.Contains(c.Detail, "gate of the spec is shut")
	})
	if !found {
		t.Errorf("%+v", Decide(PhaseTrigger, in).Refusals())
	}
}

func TestReachIsRefusedInOddForms(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(op *Op)
		code   Code
	}{
		{"host without a port", func(op *Op) { op.Spec.NetAllow = []string{"api.example.org"} }, CodeNetDomainInvalid},
		{"denied host that is none", func(op *Op) { op.Spec.NetDeny = []string{"*:443"} }, CodeNetDomainInvalid},
		{"forward to many", func(op *Op) { op.Spec.Forward = []string{"*.example.org:443"} }, CodeNetDomainInvalid},
		{"loopback", func(op *Op) { op.Spec.NetAllow = []string{"127.0.0.1:80"} }, CodeNetDomainInvalid},
		{"socket with dots", func(op *Op) { op.Spec.Sockets = []string{"/run/x/../db.sock"} }, CodeSocketOverCeiling},
		{"credential that is a place", func(op *Op) { op.Spec.Credentials = []Credential{{Name: "../key"}} }, CodeSpecMalformed},
		{"bind with dots", func(op *Op) { op.Spec.Bind = []Bind{{Source: "/srv/ops/../x", Target: "/x", Mode: "ro"}} }, CodeBindOverCeiling},
		{"writable bind in read-only", func(op *Op) {
			op.Tier, op.Spec.Bind = ReadOnly, []Bind{{Source: "/srv/ops/x", Target: "/x", Mode: "rw"}}
		}, CodeBindOverCeiling},
	} {
		in := goodInput(t, goodDraft(), goodFacts())
		in.Op.Net = NetProxy
		in.alice(func(c *Ceiling) {
			c.MaxNet, c.Hosts, c.Sockets, c.Bind = NetProxy, []string{"*.example.org:443"}, []string{"/run/x"}, []string{"/srv/y"}
			c.Credentials = []string{"key"}
		})
		c.change(in.Op)
		if codes := codesOf(Decide(PhaseTrigger, in)); !slices.Contains(codes, c.code) {
			t.Errorf("%s: %v", c.name, codes)
		}
	}
}

func TestManagedOnlyHoldsPathsAndCwdAgainstTheList(t *testing.T) {
	for _, c := range []struct {
		name    string
		only    ManagedOnly
		ceiling func(c *Ceiling)
		want    bool
	}{
		{"nothing set", ManagedOnly{}, func(*Ceiling) {}, true},
		{"cwd not listed for reading", ManagedOnly{ReadPaths: true}, func(*Ceiling) {}, false},
		{"cwd listed for reading", ManagedOnly{ReadPaths: true}, func(c *Ceiling) { c.Read = []string{"/srv"} }, true},
		{"cwd not listed for writing", ManagedOnly{WritePaths: true}, func(c *Ceiling) { c.Read = []string{"/srv"} }, false},
		{"cwd listed for writing", ManagedOnly{WritePaths: true}, func(c *Ceiling) { c.Write = []string{"/srv/ops"} }, true},
	} {
		in := goodInput(t, goodDraft(), goodFacts())
		in.Policy.ManagedOnly = c.only
		in.alice(c.ceiling)
		d := Decide(PhaseTrigger, in)
		if d.Allowed() != c.want || !c.want && !slices.Contains(codesOf(d), CodePathOverCeiling) {
			t.Errorf("%s: %+v", c.name, d.Refusals())
		}
	}
}

func TestTouchRefusesAtAddApplyAndTrigger(t *testing.T) {
	for _, phase := range phases {
		in := goodInput(t, goodDraft(), goodFacts())
		in.alice(func(c *Ceiling) { c.Require = map[Tier][]string{Workspace: {RequireTouch}} })
		if codes := codesOf(Decide(phase, in)); !slices.Contains(codes, CodeKeyUnavailable) {
			t.Errorf("phase %d: %v", phase, codes)
		}
		in.alice(func(c *Ceiling) {
			c.Require = map[Tier][]string{ReadOnly: {RequireTouch}, Workspace: {RequireTerminal}}
		})
		if d := Decide(phase, in); !d.Allowed() {
			t.Errorf("phase %d, another tier: %v", phase, d.Refusals())
		}
	}
}

// A check says whose ceiling it was, and nothing is said twice.
func TestAnOwnersCeilingIsNamedAsSuch(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.Policy.Owners = map[Principal]OwnerLayer{"alice": {Policy: &Policy{Open: true, Principals: map[Principal]Ceiling{
		"alice": {MaxTier: ReadOnly, MaxNet: NetProxy, Limits: Limits{TimeoutSeconds: 60}}}}}}
	layers := func() (all []string) {
		for _, c := range Decide(PhaseTrigger, in).Refusals() {
			all = append(all, string(c.Code)+" "+c.Layer)
		}
		return all
	}
	if got := layers(); !slices.Equal(got, []string{"tier_over_ceiling owner", "limit_over_ceiling owner"}) {
		t.Errorf("%v", got)
	}
	in.alice(func(c *Ceiling) { c.MaxTier = Scratch })
	if got := layers(); !slices.Equal(got, []string{"tier_over_ceiling managed", "limit_over_ceiling owner"}) {
		t.Errorf("%v", got)
	}
}

func TestAFaultInAnOwnersFileRefusesOnlyTheOwner(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.Policy.Owners = map[Principal]OwnerLayer{"bob": {Reason: CodePolicyParse}}
	if d := Decide(PhaseTrigger, in); !d.Allowed() {
		t.Errorf("%v", d.Refusals())
	}
	in.Policy.Owners["alice"] = OwnerLayer{Reason: CodePolicySelftest, Detail: "line 3"}
	d := Decide(PhaseTrigger, in)
	if r := d.Refusals(); len(r) == 0 || r[0].Code != CodePolicySelftest || r[0].Layer != LayerOwner || r[0].Target != "owner.d/alice.toml" {
		t.Errorf("%v", r)
	}
	in.Policy.Owners["alice"] = OwnerLayer{}
	if codes := codesOf(Decide(PhaseTrigger, in)); !slices.Contains(codes, CodePolicyEvalError) {
		t.Errorf("a file that was not read: %v", codes)
	}
}

// A job that was signed under a loose policy is refused after tightening and
// runs again after loosening, and its bytes stay what they are.
func TestTighteningRefusesAndLooseningRunsWithoutANewSignature(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	signed, err := in.Op.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range keysOf(tightening) {
		if name == "revoked" || name == "held" || name == "more places" || name == "no sandbox" || name == "no answers" || name == "nobody signed it" ||
			name == "no allow rules" || name == "fewer writes" || name == "lower net" {
			continue // not of the policy, or nothing that this job uses
		}
		tight := goodInput(t, goodDraft(), goodFacts())
		tight.Op = in.Op
		tightening[name](&tight)
		if Decide(PhaseTrigger, tight).Allowed() {
			t.Errorf("%s: runs", name)
		}
		tight.Policy = goodPolicy()
		if d := Decide(PhaseTrigger, tight); !d.Allowed() {
			t.Errorf("after %s was taken back: %v", name, d.Refusals())
		}
	}
	if after, err := in.Op.Encode(); err != nil || string(after) != string(signed) {
		t.Errorf("the op changed: %v", err)
	}
}
