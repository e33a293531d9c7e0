package runner

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/internal/permit"
	"github.com/sbxcron/sbxcron/runner/shim"
)

func TestProgramsOfTheTableAreCoveredWhereTheyExistAndNowhereElse(t *testing.T) {
	o := order(t)
	o.Host.shims = shim.NewPlaces()
	p, err := PlanUnsigned(permit.New(), o)
	if err != nil {
		t.Fatal(err)
	}
	real := o.Host.shims.Now()
	covered, names := 0, 0
	for _, m := range p.Blueprint().Mounts {
		switch {
		case m.What == jobspec.DigestOf(shim.Script(ChannelPath, filepath.Base(m.Dst))) && m.Dst != ShimPath:
			covered++
			if !slices.Contains(real, m.Dst) {
				t.Errorf("%s is covered and does not exist", m.Dst)
			}
		case filepath.Dir(m.Dst) == ShimDir:
			names++
		}
	}
	if covered != len(real) || names != len(shim.Names()) {
		t.Errorf("%d of %d paths are covered, %d of %d names are there", covered, len(real), names, len(shim.Names()))
	}
}

func TestAnApprovedFileIsNotCovered(t *testing.T) {
	o := order(t)
	o.Host.shims = shim.NewPlaces()
	real := o.Host.shims.Now()
	if len(real) == 0 {
		t.Skip("needs any program of the table, such as su")
	}
	pins := o.Pins.(fakePins)
	pins.seen[0].Real, pins.seen[0].Typed = real[0], real[0]
	o.Spec.Bound[0].Real = real[0]
	p, err := PlanUnsigned(permit.New(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range p.Blueprint().Mounts {
		if m.Dst == real[0] && m.Kind == Data {
			t.Errorf("%s was approved and is covered", m.Dst)
		}
	}
}

func TestNoVariableSaysYes(t *testing.T) {
	for _, v := range PromptEnv() {
		for _, bad := range []string{"yes", "y", "true", "always", "force-yes", "accept"} {
			if strings.EqualFold(v.Value, bad) || strings.Contains(strings.ToLower(v.Name), "yes") {
				t.Errorf("%s=%s", v.Name, v.Value)
			}
		}
		if v.Why == "" {
			t.Errorf("%s has no reason", v.Name)
		}
	}
}

func TestASignedValueReplacesOneThatKeepsFromAsking(t *testing.T) {
	o := order(t)
	o.Spec.Env = map[string]string{"CI": "", "GIT_EDITOR": "true"}
	p, err := PlanUnsigned(permit.New(), o)
	if err != nil {
		t.Fatal(err)
	}
	env := p.Blueprint().Env
	for _, want := range []string{"CI=", "GIT_EDITOR=true", "VISUAL=" + ShimDir + "/editor", "GIT_TERMINAL_PROMPT=0"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing in %q", want, env)
		}
	}
}
