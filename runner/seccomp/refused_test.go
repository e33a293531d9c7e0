package seccomp

import (
	"math/rand/v2"
	"testing"
)

// Each rule is asked about with a call of its own.
func TestEachRuleRefusesTheCallThatItIsAbout(t *testing.T) {
	for _, a := range []Arch{AMD64, ARM64} {
		for _, o := range []Opens{{}, {Inet: true}, {Unix: true}, {Inet: true, Unix: true}} {
			all, err := EachRefused(a, o)
			if err != nil {
				t.Fatal(err)
			}
			seen, programs := map[string]bool{}, pairOf(t, a, Watch{Opens: o})
			for _, r := range all {
				seen[r.Call] = true
				c := call{nr: r.NR, arch: a.audit(), args: r.Args}
				first, second := programs.ask(t, c)
				got := stricter(first, second)
				if want := r.Absent; want != (got == ENOSYS) || got == Allow {
					t.Errorf("%s of %+v: %s(%#x) gets %s", a, o, r.Call, r.Args, got)
				}
			}
			for _, r := range append(rules(), toldRules(o)...) {
				if a.has(r.call) && !seen[r.call] && r.call != "connect" {
					t.Errorf("%s: no call for the rule about %s", a, r.call)
				}
			}
		}
	}
}

func TestARuleThatNothingMeetsIsAnError(t *testing.T) {
	r := rule{"ioctl", EPERM, []test{{1, whole, equal, 5}, {1, whole, notEqual, 5}}}
	if args, err := r.example(); err == nil {
		t.Errorf("arguments %#x", args)
	}
}

// pair are the two programs of a run.
type pair struct{ first, second Program }

func pairOf(t *testing.T, a Arch, w Watch) pair {
	t.Helper()
	first, err := Filter(a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Listener(a, w)
	if err != nil {
		t.Fatal(err)
	}
	return pair{first, second}
}

func (p pair) ask(t *testing.T, c call) (first, second Action) {
	t.Helper()
	first, err := emulate(p.first, c)
	if err != nil {
		t.Fatal(err)
	}
	if second, err = emulate(p.second, c); err != nil {
		t.Fatal(err)
	}
	return first, second
}

// read reads the rules as they are written: the first that holds answers.
func read(a Arch, all []rule, c call) Action {
	for _, r := range all {
		nr, err := a.Number(r.call)
		if err != nil || nr != c.nr {
			continue
		}
		holds := true
		for n, v := range c.args {
			holds = holds && r.meets(uint32(n), v)
		}
		if holds {
			return r.action
		}
	}
	return Allow
}

// Programs do what the rules say: random calls, most of them near a rule.
func TestProgramsAnswerAsTheirRulesRead(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) // the same calls each time
	for _, a := range []Arch{AMD64, ARM64} {
		for _, w := range []Watch{{}, {Names: true, Opens: Opens{Inet: true}}, {Opens: Opens{Inet: true, Unix: true}}} {
			first, second := rules(), append(openRules(a, w), toldRules(w.Opens)...)
			all, programs := append(append([]rule{}, first...), second...), pairOf(t, a, w)
			for range 3000 {
				r := all[random.IntN(len(all))]
				nr, err := a.Number(r.call)
				if err != nil {
					continue // the call does not exist there
				}
				c := call{nr: nr, arch: a.audit(), args: near(random, r)}
				one, two := programs.ask(t, c)
				if want1, want2 := read(a, first, c), read(a, second, c); one != want1 || two != want2 {
					t.Fatalf("%s of %+v: %s(%#x) gets %s and %s, the rules say %s and %s", a, w, r.call, c.args, one, two, want1, want2)
				}
			}
		}
	}
}

// near are arguments at and beside the values of a rule, with bits that no test
// of an int may see.
func near(random *rand.Rand, r rule) [6]uint64 {
	var args [6]uint64
	for i := range args {
		args[i] = uint64(random.IntN(3))
	}
	for _, t := range r.tests {
		values := []uint64{uint64(t.value), uint64(t.value) + 1, uint64(t.mask), uint64(t.mask & -t.mask), 0, random.Uint64()}
		args[t.arg] = values[random.IntN(len(values))]
		if random.IntN(3) == 0 {
			args[t.arg] |= high
		}
	}
	return args
}
