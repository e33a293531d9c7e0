package jobspec

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// tightening are changes of an input that only take away. None may turn a
// refusal into a start.
var tightening = map[string]func(in *Input){
	"lower tier":     func(in *Input) { in.alice(func(c *Ceiling) { c.MaxTier = max(c.MaxTier, 1) - 1 }) },
	"lower net":      func(in *Input) { in.alice(func(c *Ceiling) { c.MaxNet = max(c.MaxNet, 1) - 1 }) },
	"fewer reads":    func(in *Input) { in.alice(func(c *Ceiling) { c.Read = nil }) },
	"fewer writes":   func(in *Input) { in.alice(func(c *Ceiling) { c.Write = nil }) },
	"lower limit":    func(in *Input) { in.alice(func(c *Ceiling) { c.Limits.TimeoutSeconds = 100 }) },
	"disabled":       func(in *Input) { in.alice(func(c *Ceiling) { c.Disabled = true }) },
	"no principal":   func(in *Input) { delete(in.Policy.Principals, "alice") },
	"managed only":   func(in *Input) { in.Policy.ManagedOnly.Commands = true },
	"deny rule":      func(in *Input) { in.rule(Rule{ID: "d", Effect: "deny", Why: "w", Name: "backup.sh"}) },
	"ask rule":       func(in *Input) { in.rule(Rule{ID: "a", Effect: "ask", Why: "w", Name: "backup.sh"}) },
	"no allow rules": func(in *Input) { in.Policy.Rules = slices.DeleteFunc(in.Policy.Rules, isAllow) },
	"no platforms":   func(in *Input) { in.Policy.EnabledPlatforms = nil },
	"revoked":        func(in *Input) { in.Identity = CodeKeyRevoked },
	"held":           func(in *Input) { in.Held = true },
	"more places": func(in *Input) {
		in.Sensitive = append(in.Sensitive, Sensitive{What: "x", Path: "/srv/ops", Reach: Itself})
	},
	"no sandbox":       func(in *Input) { in.Sandbox = Sandbox{} },
	"no answers":       func(in *Input) { in.Op.Spec.Answers = nil; in.Op.Spec.Env["PYTHONPATH"] = "x" },
	"nobody signed it": func(in *Input) { in.Signed = Signed{} },
}

// loosening are changes that may make a job run; tightening goes over them.
var loosening = map[string]func(in *Input){
	"allow rule":    func(in *Input) { in.rule(Rule{ID: "al", Effect: "allow", Why: "w", Path: "/srv/ops/backup.sh"}) },
	"write ceiling": func(in *Input) { in.alice(func(c *Ceiling) { c.Write = []string{"/srv/out"} }) },
	"proxy ceiling": func(in *Input) { in.alice(func(c *Ceiling) { c.MaxNet = NetProxy }) },
	"long limit":    func(in *Input) { in.alice(func(c *Ceiling) { c.Limits.TimeoutSeconds = 86400 }) },
}

func (in *Input) rule(r Rule) { in.Policy.Rules = append(in.Policy.Rules, r) }

func isAllow(r Rule) bool { return r.Effect == "allow" }

func keysOf(m map[string]func(*Input)) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

func TestTighteningNeverStartsAJob(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		loose := rapid.SliceOfDistinct(rapid.SampledFrom(keysOf(loosening)), rapid.ID[string]).Draw(rt, "loose")
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(keysOf(tightening)), 0, 3, rapid.ID[string]).Draw(rt, "some")
		more := rapid.SampledFrom(keysOf(tightening)).Draw(rt, "more")
		phase := rapid.SampledFrom(phases).Draw(rt, "phase")
		build := func(names ...string) Input {
			in := goodInput(t, goodDraft(), goodFacts())
			for _, n := range loose {
				loosening[n](&in)
			}
			for _, n := range names {
				tightening[n](&in)
			}
			return in
		}
		before := Decide(phase, build(some...))
		after := Decide(phase, build(append(some, more)...))
		if after.Allowed() && !before.Allowed() {
			rt.Fatalf("%v refuses, and with %q it starts", before.Refusals(), more)
		}
	})
}

// The same input gives the same decision, and explain says what the trigger does.
func TestExplainDecidesAsTheTriggerDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(keysOf(tightening)), 0, 4, rapid.ID[string]).Draw(rt, "some")
		in := goodInput(t, goodDraft(), goodFacts())
		for _, n := range some {
			tightening[n](&in)
		}
		in.Held = false
		explain, trigger := Decide(PhaseExplain, in), Decide(PhaseTrigger, in)
		if explain.Allowed() != trigger.Allowed() || !slices.Equal(explain.Checks, trigger.Checks) || explain.Verdicts != trigger.Verdicts {
			rt.Fatalf("explain %+v, trigger %+v", explain, trigger)
		}
	})
}

// A policy that got looser never widens what was signed: the signed values stay.
func TestALooserPolicyDoesNotChangeTheOp(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	before, err := in.Op.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range keysOf(loosening) {
		loosening[n](&in)
	}
	Decide(PhaseTrigger, in)
	if after, err := in.Op.Encode(); err != nil || string(after) != string(before) {
		t.Errorf("%s became %s", before, after)
	}
}

// A decision meets the managed rules and the owner's: with many of them in
// milliseconds, where comparing each with each took most of a minute.
func TestManyRulesMeetQuickly(t *testing.T) {
	a, b := &Policy{}, &Policy{Open: true}
	for i := range 10_000 {
		a.Rules = append(a.Rules, Rule{ID: fmt.Sprintf("r%d", i), Effect: "deny", Name: "git"})
		b.Rules = append(b.Rules, Rule{ID: fmt.Sprintf("r%d", 2*i), Effect: "deny", Name: "git"})
	}
	began := time.Now()
	if n := len(Meet(a, b).Rules); n != 15_000 {
		t.Errorf("%d rules", n)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
