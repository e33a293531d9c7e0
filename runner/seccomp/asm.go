package seccomp

import (
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/net/bpf"
)

// Offsets in struct seccomp_data (linux/seccomp.h). Both architectures are
// little-endian: the low half of an argument comes first.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

// Program is a filter for one architecture, assembled: struct sock_filter of the
// kernel, one after the other.
type Program []bpf.RawInstruction

// Bytes is the program as the kernel reads it.
func (p Program) Bytes() []byte {
	b := make([]byte, 0, 8*len(p))
	for _, i := range p {
		b = binary.LittleEndian.AppendUint16(b, i.Op)
		b = append(b, i.Jt, i.Jf)
		b = binary.LittleEndian.AppendUint32(b, i.K)
	}
	return b
}

// What programs are made of. Only these forms occur: the kernel takes no others
// in a filter of calls but a few that we have no use for (seccomp_check_filter).

func load(off uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: off, Size: 4} }
func and(mask uint32) bpf.Instruction { return bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask} }
func answer(a Action) bpf.Instruction { return bpf.RetConstant{Val: uint32(a)} }

// skipUnless goes on where the test holds and leaves out n instructions else.
func skipUnless(test bpf.JumpTest, value uint32, n int) bpf.Instruction {
	return bpf.JumpIf{Cond: test, Val: value, SkipFalse: uint8(n)}
}

// skipIf is the opposite.
func skipIf(test bpf.JumpTest, value uint32, n int) bpf.Instruction {
	return bpf.JumpIf{Cond: test, Val: value, SkipTrue: uint8(n)}
}

func assemble(code []bpf.Instruction) (Program, error) {
	raw, err := bpf.Assemble(code)
	if err != nil {
		return nil, fmt.Errorf("assemble filter: %w", err)
	}
	return Program(raw), nil
}

// Dump prints a program of this architecture, one instruction a line, for people
// and golden files. A number that is compared with the call's own gets its name.
func (a Arch) Dump(p Program) string {
	names := map[uint32]string{}
	for _, n := range numbers {
		if nr, err := a.Number(n.name); err == nil {
			names[nr] = n.name
		}
	}
	var b strings.Builder
	loaded := uint32(offArch)
	for n, raw := range p {
		i := raw.Disassemble()
		fmt.Fprintf(&b, "%03d %s", n, text(raw, n))
		switch i := i.(type) {
		case bpf.LoadAbsolute:
			loaded = i.Off
		case bpf.JumpIf:
			if signs[i.Cond] == "==" && loaded == offNr {
				fmt.Fprintf(&b, "  # %s", names[i.Val])
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
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

// Action is what the kernel does with a call (SECCOMP_RET_*).
type Action uint32

// The actions of the filters. The zero value kills the thread.
const (
	Allow  Action = 0x7fff0000
	EPERM  Action = 0x00050000 | 1
	ENOSYS Action = 0x00050000 | 38
	Kill   Action = 0x80000000 // the process
	Notify Action = 0x7fc00000 // whoever holds the listener answers
)

// String names an action.
func (a Action) String() string {
	switch a {
	case Allow:
		return "allow"
	case EPERM:
		return "EPERM"
	case ENOSYS:
		return "ENOSYS"
	case Kill:
		return "kill process"
	case Notify:
		return "notify"
	}
	return fmt.Sprintf("action %#x", uint32(a))
}
