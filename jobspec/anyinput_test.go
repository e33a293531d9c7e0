package jobspec

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// lacking visits every value that can be reached from v and lets try see the
// whole with that one value at its zero. Names are those of fields; [] stands for
// any index or key.
func lacking(v reflect.Value, name string, try func(name string)) {
	if v.CanSet() && !v.IsZero() {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		v.SetZero()
		try(name)
		v.Set(old)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			lacking(v.Elem(), name, try)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				lacking(v.Field(i), strings.TrimPrefix(name+"."+f.Name, "."), try)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			lacking(v.Index(i), name+"[]", try)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			one := reflect.New(v.Type().Elem()).Elem()
			one.Set(v.MapIndex(k))
			lacking(one, name+"[]", func(name string) {
				old := v.MapIndex(k)
				v.SetMapIndex(k, one)
				try(name)
				v.SetMapIndex(k, old)
			})
		}
	}
}

// mayLack is what a job may run without, and why that is no hole.
var mayLack = map[string]string{
	"Gap": "unknown: the calendar has looked at the schedule", "Host.UID": "as it is for root", "Host.LookupUser": "there is no run_as in user mode",
	"Op": "the op that counts is the one that was verified", "Op.Type": "of the bytes, and read with them", "Op.Action": "of the chain, and read with it",
	"Op.ApplyBefore": "of the chain", "Op.Prev": "of the chain", "Op.Revision": "of the chain", "Op.Seq": "of the chain",
	"Op.Spec.Argv[]": "an argument may be empty", "Op.Spec.Env": "fewer variables", "Op.Spec.Env[]": "an empty value", "Op.Spec.Read": "fewer openings", "Op.Spec.Coverage": "is told, and opens nothing",
	"Op.Spec.Denials": "the runner's own bounds", "Op.Spec.Denials.Max": "the runner's own bounds", "Op.Spec.Denials.OnDenial": "fail",
	"Op.Spec.Limits.GraceSeconds": "it is killed at once", "Op.Spec.Limits.MemoryBytes": "a job of before memory was bounded", "Op.Spec.Limits.CPUPercent": "the same", "Op.Spec.Schedule.Words": "are shown", "Op.Spec.Policy": "is told, and opens nothing",
	"Op.Spec.Policy.Floor": "is told", "Op.Spec.Policy.Managed": "is told", "Op.Spec.Policy.Serial": "is told",
	"Paths[].Typed": "the real path tells it", "Paths[].Places.Ancestors": "one of three ways to tell a place", "Paths[].Places.Ancestors[].Dev": "one of three ways",
	"Paths[].Places.Ancestors[].Ino": "one of three ways", "Paths[].Places.Device": "one of three ways", "Paths[].Places.Self.Dev": "one of three ways", "Paths[].Places.Self.Ino": "one of three ways",
	"Policy.Principals[].RunAs": "there is no run_as in user mode", "Sandbox.Capabilities": "the spec requires none",
}

// Whatever of its input is missing, a decision is made, and it is a no unless the
// job may do without.
func TestADecisionThatLacksAnyOfItsInputIsMadeAndDenies(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	seen := map[string]bool{}
	lacking(reflect.ValueOf(&in).Elem(), "", func(name string) {
		for _, phase := range phases {
			d := Decide(phase, in)
			for _, c := range d.Refusals() {
				if d.Allowed() || strings.Contains(c.Detail, "the decision could not be made") {
					t.Errorf("without %s, phase %d: allowed %v, %+v", name, phase, d.Allowed(), c)
				}
			}
			_, may := mayLack[strings.TrimSuffix(name, "[]")]
			if !may {
				_, may = mayLack[name]
			}
			if phase == PhaseTrigger && d.Allowed() && !may && !strings.HasPrefix(name, "Sensitive[]") { // one place of several is another list
				t.Errorf("allowed without %s", name)
			}
			seen[name] = true
		}
	})
	for name := range mayLack {
		if !seen[name] {
			t.Errorf("%s is never taken away", name)
		}
	}
	if len(seen) < 80 {
		t.Errorf("only %d fields were taken away", len(seen))
	}
	in.Op.Spec.Argv[0] = ""
	if d := Decide(PhaseTrigger, in); d.Allowed() {
		t.Error("allowed without a program")
	}
	for _, phase := range append(slices.Clone(phases), 0, 99) {
		if d := Decide(phase, Input{}); d.Allowed() {
			t.Errorf("phase %d: nothing at all is allowed", phase)
		}
	}
}
