package seccomp

import (
	"fmt"
	"strings"

	"golang.org/x/net/bpf"
)

// reach are the numbers of calls that come to an instruction; none while first
// lies above last.
type reach struct{ first, last uint32 }

// with adds numbers that come by another way.
func (r reach) with(o reach) reach {
	if r.first > r.last {
		return o
	}
	return reach{min(r.first, o.first), max(r.last, o.last)}
}

// Dump prints a program of this architecture, one instruction a line, for people
// and golden files. What looks at arguments and what refuses a call says which
// calls come there.
func (a Arch) Dump(p Program) string {
	names, come := a.names(), make([]reach, len(p)+256)
	for n := range come {
		come[n] = reach{1, 0}
	}
	come[0] = reach{0, 0xffffffff}
	var b strings.Builder
	for n, raw := range p {
		i, here := raw.Disassemble(), come[n]
		fmt.Fprintf(&b, "%03d %s", n, text(raw, n))
		yes, no := here, here
		switch i := i.(type) {
		case bpf.LoadAbsolute:
			if i.Off >= offArgs {
				b.WriteString(names.of(here))
			}
		case bpf.RetConstant:
			if Action(i.Val) != Allow {
				b.WriteString(names.of(here))
			}
		case bpf.JumpIf:
			if signs[i.Cond] == ">=" { // only numbers are compared so
				yes.first, no.last = i.Val, i.Val-1
			}
		}
		b.WriteByte('\n')
		pass(come, n, raw, yes, no)
	}
	return b.String()
}

// pass hands the numbers on to where an instruction leads.
func pass(come []reach, n int, raw bpf.RawInstruction, yes, no reach) {
	switch i := raw.Disassemble().(type) {
	case bpf.RetConstant:
	case bpf.Jump:
		come[n+1+int(i.Skip)] = come[n+1+int(i.Skip)].with(yes)
	case bpf.JumpIf:
		come[n+1+int(raw.Jt)] = come[n+1+int(raw.Jt)].with(yes)
		come[n+1+int(raw.Jf)] = come[n+1+int(raw.Jf)].with(no)
	default:
		come[n+1] = come[n+1].with(yes)
	}
}

type callNames map[uint32]string

func (a Arch) names() callNames {
	names := callNames{}
	for _, n := range numbers {
		if nr, err := a.Number(n.name); err == nil {
			names[nr] = n.name
		}
	}
	return names
}

// of names the calls of a range, but for the whole range of a program's head and
// what lies behind the newest call that was reviewed.
func (c callNames) of(r reach) string {
	if r.first > r.last || r.last-r.first > newestReviewed {
		return ""
	}
	var all []string
	for nr := r.first; nr <= r.last; nr++ {
		name := c[nr]
		if name == "" {
			name = fmt.Sprint(nr)
		}
		all = append(all, name)
	}
	return "  # " + strings.Join(all, " ")
}

// signs are those of what the kernel compares: a disassembler negates a jump
// that only leaves out.
var signs = map[bpf.JumpTest]string{bpf.JumpEqual: "==", bpf.JumpNotEqual: "==", bpf.JumpGreaterOrEqual: ">=", bpf.JumpLessThan: ">=",
	bpf.JumpBitsSet: "&", bpf.JumpBitsNotSet: "&"}

func text(raw bpf.RawInstruction, at int) string {
	i := raw.Disassemble()
	switch i := i.(type) {
	case bpf.LoadAbsolute:
		return "load " + fieldName(i.Off)
	case bpf.ALUOpConstant:
		if i.Op == bpf.ALUOpAnd {
			return fmt.Sprintf("and %#x", i.Val)
		}
	case bpf.Jump:
		return fmt.Sprintf("goto %03d", at+1+int(i.Skip))
	case bpf.JumpIf:
		if sign := signs[i.Cond]; sign != "" {
			return fmt.Sprintf("if %s %#x goto %03d else %03d", sign, i.Val, at+1+int(raw.Jt), at+1+int(raw.Jf))
		}
	case bpf.RetConstant:
		return "return " + Action(i.Val).String()
	}
	return fmt.Sprintf("unknown %v", i)
}

func fieldName(off uint32) string {
	switch {
	case off == offNr:
		return "nr"
	case off == offArch:
		return "arch"
	case off >= offArgs && (off-offArgs)%8 == 0:
		return fmt.Sprintf("arg%d.low", (off-offArgs)/8)
	}
	return fmt.Sprintf("data+%d", off)
}
