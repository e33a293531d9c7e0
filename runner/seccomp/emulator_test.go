package seccomp

import "fmt"

// call is what the kernel shows a filter: struct seccomp_data.
type call struct {
	nr, arch uint32
	args     [6]uint64
}

// load reads 32 bits at an offset of struct seccomp_data.
func (c call) load(off uint32) (uint32, error) {
	switch {
	case off == offNr:
		return c.nr, nil
	case off == offArch:
		return c.arch, nil
	case off >= offArgs && off < offArgs+48 && off%4 == 0:
		word := c.args[(off-offArgs)/8]
		if off%8 != 0 {
			word >>= 32
		}
		return uint32(word), nil
	}
	return 0, fmt.Errorf("load at %d", off)
}

// emulate runs a program as the kernel would and counts its steps.
func emulate(p Program, c call) (Action, error) {
	a := uint32(0)
	for pc := 0; pc < len(p); pc++ {
		i := p[pc]
		var jump bool
		switch i.Code {
		case opLoad:
			v, err := c.load(i.K)
			if err != nil {
				return 0, err
			}
			a = v
			continue
		case opAnd:
			a &= i.K
			continue
		case opRet:
			return Action(i.K), nil
		case opJEQ:
			jump = a == i.K
		case opJGE:
			jump = a >= i.K
		case opJSet:
			jump = a&i.K != 0
		default:
			return 0, fmt.Errorf("instruction %d: opcode %#x", pc, i.Code)
		}
		if jump {
			pc += int(i.JT)
		} else {
			pc += int(i.JF)
		}
	}
	return 0, fmt.Errorf("the program ends without an answer")
}
