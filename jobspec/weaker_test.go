package jobspec

import (
	"slices"
	"strings"
	"testing"
)

// Every weaker choice needs the managed file and the signed spec; neither alone
// does anything, in any phase.
func TestAWeakerChoiceNeedsPolicyAndSpec(t *testing.T) {
	for _, choice := range WeakerChoices() {
		for _, permitted := range []bool{false, true} {
			for _, accepted := range []bool{false, true} {
				for phase := PhaseAdd; phase <= PhaseTrigger; phase++ {
					in := goodInput(t, goodDraft(), goodFacts())
					if permitted {
						in.Policy.Weaker = []string{choice}
					}
					if accepted {
						in.Op.Spec.Weaker = []string{choice}
					}
					d := Decide(phase, in)
					if want := permitted || !accepted; d.Allowed() != want {
						t.Errorf("%s, phase %d, policy %v, spec %v: allowed %v, %+v", choice, phase, permitted, accepted, d.Allowed(), d.Refusals())
					}
					if slices.Contains(d.Weaker, choice) != accepted {
						t.Errorf("%s: the record would say %v", choice, d.Weaker)
					}
				}
			}
		}
	}
}

func TestThereIsNoOtherWeakerChoice(t *testing.T) {
	for _, w := range []string{"weaker_no_sandbox", "weaker_allow_root_jobs", "weaker_direct_network", "weaker_no_probe", ""} {
		in := goodInput(t, goodDraft(), goodFacts())
		in.Policy.Weaker, in.Op.Spec.Weaker = append(WeakerChoices(), w), []string{w}
		if d := Decide(PhaseTrigger, in); !saysNoTo(d, CodeWeakerForbidden, w) {
			t.Errorf("%q: %+v", w, d.Refusals())
		}
	}
}

// weakest is an input in which both have said yes to everything weaker.
func weakest(t *testing.T) Input {
	in := goodInput(t, goodDraft(), goodFacts())
	in.Policy.Weaker, in.Op.Spec.Weaker = WeakerChoices(), WeakerChoices()
	in.Op.Spec.Backend.AnyOf = Backends()
	in.alice(func(c *Ceiling) { c.Backends = Backends() })
	in.Sandbox = Sandbox{Backend: BackendLandlock, Usable: true, Capabilities: []string{"landlock", "seccomp"}, Needs: []string{WeakerBackendLandlock}}
	return in
}

func TestTheLandlockBackendNeedsItsName(t *testing.T) {
	if d := Decide(PhaseTrigger, weakest(t)); !d.Allowed() {
		t.Fatalf("%+v", d.Refusals())
	}
	for name, c := range map[string]struct {
		change func(in *Input)
		code   Code
		target string
	}{
		"any_of names it alone":     {func(in *Input) { in.Op.Spec.Weaker = nil }, CodeWeakerForbidden, WeakerBackendLandlock},
		"any_of does not":           {func(in *Input) { in.Op.Spec.Backend.AnyOf = []string{BackendBwrap} }, CodeSbxBackendMissing, BackendLandlock},
		"the ceiling does not":      {func(in *Input) { in.alice(func(c *Ceiling) { c.Backends = nil }) }, CodeSbxBackendMissing, BackendLandlock},
		"the service is root":       {func(in *Input) { in.system(RunAs{"reports", 1001, 1001}) }, CodeWeakerForbidden, WeakerBackendLandlock},
		"a network is asked for":    {func(in *Input) { in.Op.Net = NetProxy }, CodeSbxFeatureMissing, "netns"},
		"a capability is asked for": {func(in *Input) { in.Op.Spec.Backend.Require = []string{"userns"} }, CodeSbxFeatureMissing, "userns"},
	} {
		in := weakest(t)
		c.change(&in)
		if d := Decide(PhaseTrigger, in); d.Allowed() || !saysNoTo(d, c.code, c.target) {
			t.Errorf("%s: %+v", name, d.Refusals())
		}
	}
}

func TestAMachineThatLacksSomethingIsTold(t *testing.T) {
	for _, choice := range []string{WeakerNestedSandbox, WeakerLandlockMissing, WeakerSoftLimits} {
		in := goodInput(t, goodDraft(), goodFacts())
		in.Policy.Weaker = WeakerChoices()
		in.Sandbox.Needs = []string{choice}
		if d := Decide(PhaseTrigger, in); d.Allowed() || !saysNoTo(d, CodeSbxFeatureMissing, choice) {
			t.Errorf("%s: %+v", choice, d.Refusals())
		}
		in.Op.Spec.Weaker = []string{choice}
		if d := Decide(PhaseTrigger, in); !d.Allowed() {
			t.Errorf("%s accepted: %+v", choice, d.Refusals())
		}
	}
}

func TestBackendsAreChosenInTheOwnersOrder(t *testing.T) {
	works := func(name string, needs ...string) Sandbox { return Sandbox{Backend: name, Usable: true, Needs: needs} }
	fails := func(name string, lasting bool) Sandbox {
		return Sandbox{Backend: name, Problem: CodeSbxFeatureMissing, Lasting: lasting}
	}
	for name, c := range map[string]struct {
		anyOf   []string
		weaker  []string
		bwrap   Sandbox
		landl   Sandbox
		want    string
		refused bool
	}{
		"the first that works":              {Backends(), WeakerChoices(), works("bwrap"), works("landlock"), "bwrap", false},
		"the owner's order":                 {[]string{"landlock", "bwrap"}, WeakerChoices(), works("bwrap"), works("landlock"), "landlock", false},
		"the machine lacks it for good":     {Backends(), WeakerChoices(), fails("bwrap", true), works("landlock"), "landlock", false},
		"it failed just now":                {Backends(), WeakerChoices(), fails("bwrap", false), works("landlock"), "bwrap", true},
		"nothing else was named":            {[]string{"bwrap"}, WeakerChoices(), fails("bwrap", true), works("landlock"), "bwrap", true},
		"neither works":                     {Backends(), WeakerChoices(), fails("bwrap", true), fails("landlock", true), "bwrap", true},
		"it needs what was not accepted":    {Backends(), []string{WeakerBackendLandlock}, works("bwrap", WeakerNestedSandbox), works("landlock", WeakerBackendLandlock), "landlock", false},
		"it needs what was accepted":        {Backends(), WeakerChoices(), works("bwrap", WeakerNestedSandbox), works("landlock", WeakerBackendLandlock), "bwrap", false},
		"all need what was not accepted":    {Backends(), nil, works("bwrap", WeakerNestedSandbox), works("landlock", WeakerBackendLandlock), "bwrap", false},
		"nothing is named":                  {nil, nil, works("bwrap"), works("landlock"), "", true},
		"the second failed only just now":   {Backends(), WeakerChoices(), fails("bwrap", true), fails("landlock", false), "landlock", true},
		"a word that no backend answers to": {[]string{"podman"}, nil, works("bwrap"), works("landlock"), "", true},
	} {
		got := ChooseBackend(&Spec{Weaker: c.weaker, Backend: BackendNeed{AnyOf: c.anyOf}}, func(name string) Sandbox {
			return map[string]Sandbox{"bwrap": c.bwrap, "landlock": c.landl}[name]
		})
		if got.Backend != c.want || got.Usable == c.refused {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// upgraded is an input whose executable has other bytes than the bound ones.
func upgraded(t *testing.T) Input {
	in := goodInput(t, goodDraft(), goodFacts())
	in.Policy.Weaker, in.Op.Spec.Weaker = WeakerChoices(), []string{WeakerExecPackage}
	b := &in.Op.Spec.Bound[0]
	b.Package, b.UID, b.Mode = "backup-tool", 0, "0755"
	o := &in.Paths[0]
	o.Package, o.UID, o.Mode, o.SHA256 = "backup-tool", 0, 0o755, DigestOf([]byte("new"))
	return in
}

func TestAnUpgradedProgramRunsWhereBothAgreed(t *testing.T) {
	in := upgraded(t)
	d := Decide(PhaseTrigger, in)
	if !d.Allowed() || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], DigestOf([]byte("new")).String()) || !strings.Contains(d.Notes[0], "backup-tool") {
		t.Fatalf("%+v, notes %q", d.Refusals(), d.Notes)
	}
	if got := CoverageOf(in.Op.Spec)["executable"]; got != "package" {
		t.Errorf("coverage says %q", got)
	}
	for name, change := range map[string]func(in *Input){
		"another package":        func(in *Input) { in.Paths[0].Package = "other" },
		"no package":             func(in *Input) { in.Paths[0].Package = "" },
		"none was bound":         func(in *Input) { in.Op.Spec.Bound[0].Package = "" },
		"none at all":            func(in *Input) { in.Op.Spec.Bound[0].Package, in.Paths[0].Package = "", "" },
		"the spec says nothing":  func(in *Input) { in.Op.Spec.Weaker = nil },
		"the policy says no":     func(in *Input) { in.Policy.Weaker = nil },
		"others can write":       func(in *Input) { in.Paths[0].Mode, in.Op.Spec.Bound[0].Mode = 0o775, "0775" },
		"it is not root's":       func(in *Input) { in.Paths[0].UID, in.Op.Spec.Bound[0].UID = 1000, 1000 },
		"it lies somewhere else": func(in *Input) { in.Paths[0].Real = "/usr/local/bin/x" },
		"its mode changed":       func(in *Input) { in.Paths[0].Mode = 0o700 },
		"it is a declared file":  func(in *Input) { in.Op.Spec.Bound[0].Role, in.Paths[0].Role = RoleFile, RoleFile },
	} {
		in := upgraded(t)
		change(&in)
		if Decide(PhaseTrigger, in).Allowed() {
			t.Errorf("%s: allowed", name)
		}
	}
}

// saysNoTo reports whether a decision refuses with this code for this target.
func saysNoTo(d Decision, code Code, target string) bool {
	return slices.ContainsFunc(d.Refusals(), func(c Check) bool { return c.Code == code && c.Target == target && c.Remedy != "" })
}
