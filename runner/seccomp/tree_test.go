package seccomp

import (
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
)

// linear makes the same filter in the plainest way: one rule after the other,
// each of which compares the number. It is what a tree is held against.
func linear(t *testing.T, a Arch, all []rule, end uint32, last Action) Program {
	t.Helper()
	p, err := a.head()
	if err != nil {
		t.Fatal(err)
	}
	p = append(p, skipUnless(bpf.JumpGreaterOrEqual, end, 1), answer(last))
	for _, r := range all {
		nr, err := a.Number(r.call)
		if err != nil {
			continue // the call does not exist there
		}
		body := []bpf.Instruction{answer(r.action)}
		for _, x := range slices.Backward(r.tests) {
			body = slices.Concat(x.load(), []bpf.Instruction{x.jump(len(body))}, body)
		}
		body = append(body, load(offNr))
		p = append(append(p, skipUnless(bpf.JumpEqual, nr, len(body))), body...)
	}
	made, err := assemble(append(p, answer(Allow)))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// runs is a program made ready for many calls.
func runs(t *testing.T, p Program) func(call) Action {
	t.Helper()
	code, all := bpf.Disassemble(p)
	vm, err := bpf.NewVM(code)
	if err != nil || !all {
		t.Fatalf("make ready: %v, all instructions known: %t", err, all)
	}
	return func(c call) Action {
		got, err := vm.Run(c.packet())
		if err != nil {
			t.Fatal(err)
		}
		return Action(got)
	}
}

// made are the filters that exist, with the rules that they are made of.
func made(t *testing.T, a Arch) map[string]func() (Program, Program, []rule) {
	t.Helper()
	all := map[string]func() (Program, Program, []rule){
		"first": func() (Program, Program, []rule) {
			p, err := Filter(a)
			return must(t, p, err), linear(t, a, rules(), newestReviewed+1, ENOSYS), rules()
		},
		"alone": func() (Program, Program, []rule) {
			p, err := Alone(a)
			return must(t, p, err), linear(t, a, aloneRules(), newestReviewed+1, Allow), aloneRules()
		},
	}
	for key := range listeners {
		if key.arch != a {
			continue
		}
		w := key.watch
		all["listener "+watchName(w)] = func() (Program, Program, []rule) {
			p, err := Listener(a, w)
			rs := append(openRules(a, w), toldRules(w.Opens)...)
			return must(t, p, err), linear(t, a, rs, newestReviewed+1, Allow), rs
		}
	}
	return all
}

func watchName(w Watch) string {
	name := ""
	for word, has := range map[string]bool{"names ": w.Names, "inet ": w.Opens.Inet, "unix ": w.Opens.Unix} {
		if has {
			name = word + name
		}
	}
	return name
}

func must(t *testing.T, p Program, err error) Program {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Of every number, with arguments at and beside those that rules are about, the
// tree says what the plain chain of rules says.
func TestTreeAnswersEveryNumberAsTheRulesInTurn(t *testing.T) {
	for _, a := range []Arch{AMD64, ARM64} {
		for name, make := range made(t, a) {
			random := rand.New(rand.NewPCG(3, 4))
			tree, chain, all := make()
			fast, plain := runs(t, tree), runs(t, chain)
			of := map[uint32][]rule{}
			for _, r := range all {
				if nr, err := a.Number(r.call); err == nil {
					of[nr] = append(of[nr], r)
				}
			}
			for _, nr := range everyNumber() {
				for range 1 + 40*len(of[nr]) {
					c := call{nr: nr, arch: a.audit(), args: [6]uint64{random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64()}}
					if rs := of[nr]; len(rs) > 0 {
						c.args = near(random, rs[random.IntN(len(rs))])
					}
					if got, want := fast(c), plain(c); got != want {
						t.Fatalf("%s %s: %d(%#x) gets %s, the rules in turn say %s", a, name, nr, c.args, got, want)
					}
				}
			}
		}
	}
}

// everyNumber are all that are in use, what lies behind them and x32's.
func everyNumber() []uint32 {
	var all []uint32
	for nr := range uint32(newestReviewed + 600) {
		all = append(all, nr, 0x40000000+nr, ^nr)
	}
	return all
}

// A call that has no rule, and most have none, is found by a few comparisons.
func TestNoWayThroughATreeIsLong(t *testing.T) {
	for _, a := range []Arch{AMD64, ARM64} {
		for name, make := range made(t, a) {
			program, _, _ := make()
			for _, nr := range everyNumber() {
				if n := comparisons(program, nr); n > 9 {
					t.Errorf("%s %s: number %d takes %d comparisons", a, name, nr, n)
				}
			}
		}
	}
}

// comparisons counts those of the number until an argument is loaded or an answer
// stands there.
func comparisons(p Program, nr uint32) int {
	count := 0
	for at := 4; ; at++ { // behind the head
		switch i := p[at].Disassemble().(type) {
		case bpf.JumpIf:
			count++
			if nr >= i.Val {
				at += int(p[at].Jt)
			} else {
				at += int(p[at].Jf)
			}
		case bpf.Jump:
			at += int(i.Skip)
		default:
			return count
		}
	}
}

func TestARuleBehindTheLastNumberIsAnError(t *testing.T) {
	if cut, err := AMD64.spans([]rule{{call: "mount", action: EPERM}}, 100, ENOSYS); err == nil {
		t.Errorf("%d spans", len(cut))
	}
}
