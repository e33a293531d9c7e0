package seccomp

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Instruction is one classic BPF instruction, struct sock_filter of the kernel.
type Instruction struct {
	Code   uint16
	JT, JF uint8
	K      uint32
}

// Opcodes that the filter uses (linux/bpf_common.h).
const (
	opLoad = 0x20 // A = data[K], 32 bits
	opAnd  = 0x54 // A &= K
	opJEQ  = 0x15 // A == K
	opJGE  = 0x35 // A >= K, unsigned
	opJSet = 0x45 // A & K != 0
	opRet  = 0x06 // return K
)

// Offsets in struct seccomp_data (linux/seccomp.h). Both architectures are
// little-endian: the low half of an argument comes first.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

// Program is a filter for one architecture.
type Program []Instruction

// Bytes is the program as the kernel reads it: an array of struct sock_filter.
func (p Program) Bytes() []byte {
	b := make([]byte, 0, 8*len(p))
	for _, i := range p {
		b = binary.LittleEndian.AppendUint16(b, i.Code)
		b = append(b, i.JT, i.JF)
		b = binary.LittleEndian.AppendUint32(b, i.K)
	}
	return b
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
	for n, i := range p {
		fmt.Fprintf(&b, "%03d %s", n, i.text(n))
		if i.Code == opLoad {
			loaded = i.K
		}
		if i.Code == opJEQ && loaded == offNr {
			fmt.Fprintf(&b, "  # %s", names[i.K])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (i Instruction) text(at int) string {
	yes, no := at+1+int(i.JT), at+1+int(i.JF)
	switch i.Code {
	case opLoad:
		return "load " + fieldName(i.K)
	case opAnd:
		return fmt.Sprintf("and %#x", i.K)
	case opJEQ:
		return fmt.Sprintf("if == %#x goto %03d else %03d", i.K, yes, no)
	case opJGE:
		return fmt.Sprintf("if >= %#x goto %03d else %03d", i.K, yes, no)
	case opJSet:
		return fmt.Sprintf("if & %#x goto %03d else %03d", i.K, yes, no)
	case opRet:
		return "return " + Action(i.K).String()
	}
	return fmt.Sprintf("unknown %#x", i.Code)
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
