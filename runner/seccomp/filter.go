package seccomp

import (
	"fmt"
	"slices"
	"sync"

	"golang.org/x/net/bpf"
)

// Audit numbers of the architectures (linux/audit.h).
const (
	auditAMD64 = 0xc000003e
	auditARM64 = 0xc00000b7
)

// Filter makes the program for an architecture. An architecture without known
// numbers is an error, never an empty program.
func Filter(a Arch) (Program, error) {
	switch a {
	case AMD64:
		p, err := amd64Filter()
		return slices.Clone(p), err
	case ARM64:
		p, err := arm64Filter()
		return slices.Clone(p), err
	}
	return makeFilter(a)
}

// The programs are the same for all runs, and made once.
var (
	amd64Filter = sync.OnceValues(func() (Program, error) { return makeFilter(AMD64) })
	arm64Filter = sync.OnceValues(func() (Program, error) { return makeFilter(ARM64) })
)

func makeFilter(a Arch) (Program, error) {
	// x32 calls have no place either: their numbers begin at 0x40000000.
	return a.make(rules(), newestReviewed+1, ENOSYS)
}

// head kills foreign architectures and leaves the call's number in A.
func (a Arch) head() ([]bpf.Instruction, error) {
	audit := uint32(0)
	switch a {
	case AMD64:
		audit = auditAMD64
	case ARM64:
		audit = auditARM64
	default:
		return nil, fmt.Errorf("make filter: architecture %q is not known", string(a))
	}
	return []bpf.Instruction{
		load(offArch),
		skipIf(bpf.JumpEqual, audit, 1),
		answer(Kill),
		load(offNr),
	}, nil
}

// make answers by the rules; numbers from end on get last.
func (a Arch) make(all []rule, end uint32, last Action) (Program, error) {
	head, err := a.head()
	if err != nil {
		return nil, err
	}
	cut, err := a.spans(all, end, last)
	if err != nil {
		return nil, fmt.Errorf("make filter: %w", err)
	}
	return assemble(append(head, tree(cut)...))
}

// compile turns the rules about one call into code: the first that holds
// answers, and without one the call passes.
func compile(all []rule) []bpf.Instruction {
	var code []bpf.Instruction
	for _, r := range all {
		body := []bpf.Instruction{answer(r.action)}
		for _, t := range slices.Backward(r.tests) {
			body = slices.Concat(t.load(), []bpf.Instruction{t.jump(len(body))}, body)
		}
		code = append(code, body...)
		if len(r.tests) == 0 {
			return code // what comes after it would never be reached
		}
	}
	return append(code, answer(Allow))
}

// load brings the tested bits into A.
func (t test) load() []bpf.Instruction {
	p := []bpf.Instruction{load(offArgs + 8*t.arg + t.half())}
	if t.op != anyBit && t.mask != whole {
		p = append(p, and(t.mask))
	}
	return p
}

// jump leaves out n instructions where the test does not hold.
func (t test) jump(n int) bpf.Instruction {
	switch t.op {
	case anyBit:
		return skipUnless(bpf.JumpBitsSet, t.mask, n)
	case notEqual, highNotEqual:
		return skipIf(bpf.JumpEqual, t.value, n)
	}
	return skipUnless(bpf.JumpEqual, t.value, n)
}

// half is where the compared half of an argument begins: both architectures are
// little-endian.
func (t test) half() uint32 {
	if t.op == highNotEqual {
		return 4
	}
	return 0
}
