package jobspec

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// trial is a command as add judges it.
type trial struct {
	argv   []string
	script Script
	env    map[string]string
	stdin  string
	tier   Tier
	rules  []Rule
	policy func(*Policy)
}

// verdict is what add says of a command, the questions apart from the noes.
type verdict struct {
	no   []Code
	asks []string // ids of the rules that ask
	d    Decision
}

// judgeTrial binds what the command names and decides as add does.
func judgeTrial(t testing.TB, c trial) verdict {
	t.Helper()
	op := trialOp(t, c)
	in := inputFor(op)
	in.Signed = Signed{}
	in.Policy.Rules = c.rules
	for i := range in.Policy.Rules {
		in.Policy.Rules[i].ID, in.Policy.Rules[i].Why = orElse(c.rules[i].ID, "r"), "why"
	}
	if c.policy != nil {
		c.policy(in.Policy)
	}
	v := verdict{d: Decide(PhaseAdd, in)}
	for _, no := range v.d.Refusals() {
		if no.Code != CodeCmdAskUnanswered || no.Step != stepAsks {
			v.no = append(v.no, no.Code)
		}
	}
	for _, a := range v.d.Asks {
		v.asks = append(v.asks, a.Rule)
	}
	return v
}

func trialOp(t testing.TB, c trial) *Op {
	t.Helper()
	d, f := goodDraft(), goodFacts()
	d.Command, d.Script, d.Env, d.Stdin, d.Tier = c.argv, c.script, c.env, c.stdin, orElse(c.tier, Workspace)
	f.Bound = nil
	for _, target := range PlanBinding(c.argv, c.script, nil).Targets {
		real := target.Typed
		switch {
		case path.IsAbs(real):
		case strings.Contains(real, "/") || target.Role == RoleScript:
			real = path.Join("/srv/ops", real)
		default:
			real = "/usr/bin/" + real
		}
		f.Bound = append(f.Bound, boundAt(target.Role, target.Typed, real))
	}
	op, err := Resolve(d, f)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

func deny(name string, has ...string) Rule { return Rule{Effect: "deny", Name: name, Has: has} }
func allow(name string) Rule               { return Rule{Effect: "allow", Name: name} }

func listOnly(p *Policy) { p.ManagedOnly.Commands = true }

func sh(text string) []string { return []string{"sh", "-c", text} }

// expect is what a case must come to: a code among the noes, a rule among the
// asks; clean: no no at all; quiet: no ask either; not: codes that must not come.
type expect struct {
	code  Code
	ask   string
	clean bool
	quiet bool
	not   []Code
}

func (v verdict) check(t *testing.T, want expect) {
	t.Helper()
	switch {
	case want.code != "" && !slices.Contains(v.no, want.code):
		t.Errorf("noes %v, want %s", v.no, want.code)
	case want.ask != "" && !slices.Contains(v.asks, want.ask):
		t.Errorf("asks %v (noes %v), want %s", v.asks, v.no, want.ask)
	case want.clean && len(v.no) > 0:
		t.Errorf("refused: %+v", v.d.Refusals())
	case want.quiet && len(v.asks) > 0:
		t.Errorf("asks %v", v.asks)
	}
	for _, code := range want.not {
		if slices.Contains(v.no, code) {
			t.Errorf("refused with %s: %+v", code, v.d.Refusals())
		}
	}
	if want.quiet && want.clean && !v.d.Allowed() {
		t.Errorf("not allowed: %+v", v.d.Refusals())
	}
}
