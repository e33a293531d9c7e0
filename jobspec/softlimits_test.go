package jobspec

import (
	"slices"
	"testing"
)

func TestALimitThatCannotBeHeldIsRefusedUnlessBothAcceptIt(t *testing.T) {
	for name, c := range map[string]struct {
		set    func(*Limits)
		target string
		caps   []string
	}{
		"memory": {func(l *Limits) { l.MemoryBytes = 512 << 20 }, "limits.memory", []string{CapCgroupMemory}},
		"cpus":   {func(l *Limits) { l.CPUPercent = 50 }, "limits.cpus", []string{CapCgroupCPU}},
	} {
		in := goodInput(t, goodDraft(), goodFacts())
		def := DefaultLimits()
		in.Op.Spec.Limits.MemoryBytes, in.Op.Spec.Limits.CPUPercent = def.MemoryBytes, def.CPUPercent
		if d := Decide(PhaseTrigger, in); !d.Allowed() {
			t.Errorf("%s at its default: %+v", name, d.Refusals())
		}
		c.set(&in.Op.Spec.Limits)
		for _, phase := range []Phase{PhaseTrigger, PhaseExplain} {
			if d := Decide(phase, in); d.Allowed() || !saysNoTo(d, CodeSbxFeatureMissing, c.target) {
				t.Errorf("%s, phase %d: %+v", name, phase, d.Refusals())
			}
		}
		if d := Decide(PhaseAdd, in); saysNoTo(d, CodeSbxFeatureMissing, c.target) {
			t.Errorf("%s at add: the service may have what the owner has not", name)
		}
		held := in
		held.Sandbox.Capabilities = slices.Concat(in.Sandbox.Capabilities, c.caps)
		if d := Decide(PhaseTrigger, held); !d.Allowed() {
			t.Errorf("%s held: %+v", name, d.Refusals())
		}
		in.Op.Spec.Weaker = []string{WeakerSoftLimits}
		if d := Decide(PhaseTrigger, in); d.Allowed() {
			t.Errorf("%s: the spec alone accepts it", name)
		}
		in.Policy.Weaker = WeakerChoices()
		if d := Decide(PhaseTrigger, in); !d.Allowed() {
			t.Errorf("%s accepted: %+v", name, d.Refusals())
		}
	}
}
