package seccomp

import "fmt"

// Audit numbers of the architectures (linux/audit.h).
const (
	auditAMD64 = 0xc000003e
	auditARM64 = 0xc00000b7
)

// Opens says which families of sockets exist for a job. The zero value is none.
type Opens struct {
	Inet bool `json:"inet,omitempty"` // IPv4 and IPv6: streams and datagrams
	Unix bool `json:"unix,omitempty"` // local streams
}

// Filter makes the program for an architecture. An architecture without known
// numbers is an error, never an empty program.
func Filter(a Arch, o Opens) (Program, error) {
	p, err := a.head()
	if err != nil {
		return nil, err
	}
	p = append(p,
		Instruction{opJGE, 0, 1, newestReviewed + 1}, // x32 calls too: their numbers begin at 0x40000000
		Instruction{opRet, 0, 0, uint32(ENOSYS)})
	return a.finish(p, rules(o))
}

// head kills foreign architectures and leaves the call's number in A.
func (a Arch) head() (Program, error) {
	audit := uint32(0)
	switch a {
	case AMD64:
		audit = auditAMD64
	case ARM64:
		audit = auditARM64
	default:
		return nil, fmt.Errorf("make filter: architecture %q is not known", string(a))
	}
	return Program{
		{opLoad, 0, 0, offArch},
		{opJEQ, 1, 0, audit},
		{opRet, 0, 0, uint32(Kill)},
		{opLoad, 0, 0, offNr},
	}, nil
}

// finish adds the rules and lets pass what none of them answers.
func (a Arch) finish(p Program, all []rule) (Program, error) {
	for _, r := range all {
		if !a.has(r.call) {
			continue
		}
		code, err := a.compile(r)
		if err != nil {
			return nil, fmt.Errorf("make filter: %w", err)
		}
		p = append(p, code...)
	}
	return append(p, Instruction{opRet, 0, 0, uint32(Allow)}), nil
}

// compile turns a rule into a block that returns the action or falls out at its
// end with the call's number in A again.
func (a Arch) compile(r rule) (Program, error) {
	nr, err := a.Number(r.call)
	if err != nil {
		return nil, err
	}
	var body Program
	for _, t := range r.tests {
		body = append(body, t.load()...)
		body = append(body, Instruction{Code: t.code(), K: t.operand()})
	}
	body = append(body, Instruction{opRet, 0, 0, uint32(r.action)})
	ret := len(body) - 1
	if len(r.tests) > 0 { // A holds an argument: fetch the number again
		body = append(body, Instruction{opLoad, 0, 0, offNr})
	}
	for i := range body {
		out := uint8(ret - i) // to the instruction after the return
		switch {
		case body[i].Code != opJEQ && body[i].Code != opJSet:
		case r.tests[testAt(body[:i])].negated():
			body[i].JT = out
		default:
			body[i].JF = out
		}
	}
	return append(Program{{opJEQ, 0, uint8(len(body)), nr}}, body...), nil
}

// testAt counts the comparisons before one: its index among the tests.
func testAt(before Program) int {
	n := 0
	for _, i := range before {
		if i.Code == opJEQ || i.Code == opJSet {
			n++
		}
	}
	return n
}

// load brings the tested bits into A.
func (t test) load() Program {
	p := Program{{opLoad, 0, 0, offArgs + 8*t.arg + t.half()}}
	if t.op != anyBit && t.mask != whole {
		p = append(p, Instruction{opAnd, 0, 0, t.mask})
	}
	return p
}

// half is where the compared half of an argument begins: both architectures are
// little-endian.
func (t test) half() uint32 {
	if t.op == highNotEqual {
		return 4
	}
	return 0
}

func (t test) negated() bool { return t.op == notEqual || t.op == highNotEqual }

func (t test) code() uint16 {
	if t.op == anyBit {
		return opJSet
	}
	return opJEQ
}

func (t test) operand() uint32 {
	if t.op == anyBit {
		return t.mask
	}
	return t.value
}
