package stub

import (
	"encoding/binary"
	"fmt"
)

// arm64Machine is the program for AArch64. X19 points to the current row. The
// system call convention is that of syscall(2): number in x8, arguments in x0
// to x5.
func arm64Machine() machine {
	return machine{elf: 183, patch: patchARM64, lines: []line{
		{text: "MOV X0, #0x3", code: movz(0, TableFD, 0)},
		{text: "MOV X1, #0x10000000", code: movz(1, Base>>16, 1)},
		{text: "MOV X2, #0xc0000", code: movz(2, maxImage>>16, 1)},
		{text: "MOV X3, #0x0", code: movz(3, 0, 0)},
		{text: "MOV X8, #0x43", code: movz(8, 67, 0)}, // pread64: the offset may stand anywhere
		{text: "SVC #0x0", code: word(0xd4000001)},
		{text: "MOV X19, #0x10000000", code: movz(19, Base>>16, 1)},

		{label: "next", text: "LDR X9, [X19]", code: ldr(9, 19, 0)},
		{text: "CMP X9, #0x1", code: cmpImm(9, 1)},
		{text: "B.EQ", code: word(0x54000000), to: "call"},
		{text: "CMP X9, #0x2", code: cmpImm(9, 2)},
		{text: "B.EQ", code: word(0x54000000), to: "call"},
		{text: "CMP X9, #0x3", code: cmpImm(9, 3)},
		{text: "B.EQ", code: word(0x54000000), to: "word"},
		{text: "CMP X9, #0x4", code: cmpImm(9, 4)},
		{text: "B.NE", code: word(0x54000001), to: "bad"},

		// Same: the expected word is in memory too.
		{text: "LDR X10, [X19,#24]", code: ldr(10, 19, 24)},
		{text: "LDR X10, [X10]", code: ldr(10, 10, 0)},
		{text: "LDR X0, [X19,#16]", code: ldr(0, 19, 16)},
		{text: "LDR X0, [X0]", code: ldr(0, 0, 0)},
		{text: "B", code: word(0x14000000), to: "judge"},

		{label: "word", text: "LDR X0, [X19,#16]", code: ldr(0, 19, 16)},
		{text: "LDR X0, [X0]", code: ldr(0, 0, 0)},
		{text: "B", code: word(0x14000000), to: "check"},

		{label: "call", text: "LDR X8, [X19,#8]", code: ldr(8, 19, 8)},
		{text: "LDR X0, [X19,#16]", code: ldr(0, 19, 16)},
		{text: "LDR X1, [X19,#24]", code: ldr(1, 19, 24)},
		{text: "LDR X2, [X19,#32]", code: ldr(2, 19, 32)},
		{text: "LDR X3, [X19,#40]", code: ldr(3, 19, 40)},
		{text: "LDR X4, [X19,#48]", code: ldr(4, 19, 48)},
		{text: "LDR X5, [X19,#56]", code: ldr(5, 19, 56)},
		{text: "SVC #0x0", code: word(0xd4000001)},
		{text: "LDR X9, [X19]", code: ldr(9, 19, 0)},
		{text: "CMP X9, #0x2", code: cmpImm(9, 2)},
		{text: "B.EQ", code: word(0x54000000), to: "advance"},

		{label: "check", text: "LDR X10, [X19,#64]", code: ldr(10, 19, 64)},
		{label: "judge", text: "CMP X0, X10", code: word(0xeb0a001f)},
		{text: "B.NE", code: word(0x54000001), to: "bad"},
		{label: "advance", text: "ADD X19, X19, #0x48", code: word(0x91000000 | rowSize<<10 | 19<<5 | 19)},
		{text: "B", code: word(0x14000000), to: "next"},

		// The report is {row, result}, written from the stack.
		{label: "bad", text: "STP X19, X0, [SP,#-16]!", code: word(0xa9bf03f3)},
		{text: "MOV X0, #0x4", code: movz(0, StatusFD, 0)},
		{text: "MOV X1, SP", code: word(0x910003e1)},
		{text: "MOV X2, #0x10", code: movz(2, MessageSize, 0)},
		{text: "MOV X8, #0x40", code: movz(8, 64, 0)}, // write
		{text: "SVC #0x0", code: word(0xd4000001)},
		{text: "MOV X0, #0x7d", code: movz(0, ExitCode, 0)},
		{text: "MOV X8, #0x5e", code: movz(8, 94, 0)}, // exit_group
		{text: "SVC #0x0", code: word(0xd4000001)},
		{text: "BRK #0x0", code: word(0xd4200000)},
	}}
}

func word(w uint32) []byte { return binary.LittleEndian.AppendUint32(nil, w) }

// movz puts v << 16*half into a register and zeros into its other bits.
func movz(reg, v, half uint32) []byte { return word(0xd2800000 | half<<21 | v<<5 | reg) }

// ldr loads 8 bytes at an offset that is a multiple of 8.
func ldr(reg, base, offset uint32) []byte { return word(0xf9400000 | offset/8<<10 | base<<5 | reg) }

func cmpImm(reg, v uint32) []byte { return word(0xf100001f | v<<10 | reg<<5) }

// patchARM64 fills the distance in instructions, counted from the jump itself:
// 19 bits from bit 5 in a conditional branch, 26 bits in a plain one.
func patchARM64(code []byte, at, target int) error {
	d := int32(target-at) / 4
	if d < -1<<17 || d >= 1<<17 {
		return fmt.Errorf("emit stub: a jump over %d instructions does not fit", d)
	}
	w := binary.LittleEndian.Uint32(code)
	if w>>24 == 0x54 {
		w |= uint32(d) & (1<<19 - 1) << 5
	} else {
		w |= uint32(d) & (1<<26 - 1)
	}
	binary.LittleEndian.PutUint32(code, w)
	return nil
}
