package seccomp

import (
	"encoding/binary"
	"fmt"

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
