package seccomp

import "fmt"

// Refused is a call that one rule is about, with arguments that no other rule
// needs: what a victim makes to show that the rule is there.
type Refused struct {
	Call   string
	NR     uint32
	Args   [6]uint64
	Absent bool // the answer is ENOSYS; else it is EPERM, from the filter or from whoever is asked
}

// EachRefused makes a call for every rule that refuses something to a job with
// these sockets, in the order of the rules. A rule that no arguments meet is an
// error: nobody could show that it does anything.
func EachRefused(a Arch, o Opens) ([]Refused, error) {
	var all []Refused
	for _, r := range append(rules(), toldRules(o)...) {
		if !a.has(r.call) || r.call == "connect" { // it is asked about, and may be let through
			continue
		}
		nr, err := a.Number(r.call)
		if err != nil {
			return nil, err
		}
		args, err := r.example()
		if err != nil {
			return nil, err
		}
		all = append(all, Refused{Call: r.call, NR: nr, Args: args, Absent: r.action == ENOSYS})
	}
	return all, nil
}

// example finds arguments that all tests of the rule hold for.
func (r rule) example() ([6]uint64, error) {
	var args [6]uint64
	for n := range uint32(len(args)) {
		if !r.example1(n, &args[n]) {
			return args, fmt.Errorf("no argument %d of %s meets its rule", n, r.call)
		}
	}
	return args, nil
}

// example1 tries the values that the tests of one argument are about, and those
// beside them.
func (r rule) example1(n uint32, value *uint64) bool {
	try := []uint64{0, 1, 7, 1 << 32}
	for _, t := range r.tests {
		if t.arg == n {
			v, bit := uint64(t.value), uint64(t.mask&-t.mask)
			try = append(try, v, v+1, bit, bit|1)
		}
	}
	for _, v := range try {
		if r.meets(n, v) {
			*value = v
			return true
		}
	}
	return false
}

// meets reports whether a value of one argument holds for all tests of it.
func (r rule) meets(n uint32, v uint64) bool {
	for _, t := range r.tests {
		if t.arg == n && !t.holds(v) {
			return false
		}
	}
	return true
}

// holds says in plain words what a compiled test does.
func (t test) holds(v uint64) bool {
	low, high := uint32(v), uint32(v>>32)
	switch t.op {
	case equal:
		return low&t.mask == t.value
	case notEqual:
		return low&t.mask != t.value
	case anyBit:
		return low&t.mask != 0
	case highNotEqual:
		return high&t.mask != t.value
	}
	return false
}
