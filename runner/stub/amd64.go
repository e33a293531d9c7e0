package stub

import (
	"encoding/binary"
	"fmt"
)

// amd64Machine is the program for x86-64. rbx points to the current row. The
// system call convention is that of syscall(2): number in rax, arguments in
// rdi, rsi, rdx, r10, r8, r9.
func amd64Machine() machine {
	return machine{elf: 62, patch: patchAMD64, lines: []line{
		{text: "mov edi, 0x3", code: imm(0xbf, TableFD)},
		{text: "mov esi, 0x10000000", code: imm(0xbe, Base)},
		{text: "mov edx, 0xc0000", code: imm(0xba, maxImage)},
		{text: "xor r10d, r10d", code: []byte{0x45, 0x31, 0xd2}},
		{text: "mov eax, 0x11", code: imm(0xb8, 17)}, // pread64: the offset may stand anywhere
		{text: "syscall", code: []byte{0x0f, 0x05}},
		{text: "mov ebx, 0x10000000", code: imm(0xbb, Base)},

		{label: "next", text: "mov rax, qword ptr [rbx]", code: []byte{0x48, 0x8b, 0x03}},
		{text: "cmp rax, 0x1", code: []byte{0x48, 0x83, 0xf8, 0x01}},
		{text: "jz", code: []byte{0x74, 0}, to: "call"},
		{text: "cmp rax, 0x2", code: []byte{0x48, 0x83, 0xf8, 0x02}},
		{text: "jz", code: []byte{0x74, 0}, to: "call"},
		{text: "cmp rax, 0x3", code: []byte{0x48, 0x83, 0xf8, 0x03}},
		{text: "jz", code: []byte{0x74, 0}, to: "word"},
		{text: "cmp rax, 0x4", code: []byte{0x48, 0x83, 0xf8, 0x04}},
		{text: "jnz", code: []byte{0x75, 0}, to: "bad"},

		// Same: the expected word is in memory too.
		{text: "mov rcx, qword ptr [rbx+0x18]", code: []byte{0x48, 0x8b, 0x4b, 0x18}},
		{text: "mov rcx, qword ptr [rcx]", code: []byte{0x48, 0x8b, 0x09}},
		{text: "mov rax, qword ptr [rbx+0x10]", code: []byte{0x48, 0x8b, 0x43, 0x10}},
		{text: "mov rax, qword ptr [rax]", code: []byte{0x48, 0x8b, 0x00}},
		{text: "jmp", code: []byte{0xeb, 0}, to: "judge"},

		{label: "word", text: "mov rax, qword ptr [rbx+0x10]", code: []byte{0x48, 0x8b, 0x43, 0x10}},
		{text: "mov rax, qword ptr [rax]", code: []byte{0x48, 0x8b, 0x00}},
		{text: "jmp", code: []byte{0xeb, 0}, to: "check"},

		{label: "call", text: "mov rax, qword ptr [rbx+0x8]", code: []byte{0x48, 0x8b, 0x43, 0x08}},
		{text: "mov rdi, qword ptr [rbx+0x10]", code: []byte{0x48, 0x8b, 0x7b, 0x10}},
		{text: "mov rsi, qword ptr [rbx+0x18]", code: []byte{0x48, 0x8b, 0x73, 0x18}},
		{text: "mov rdx, qword ptr [rbx+0x20]", code: []byte{0x48, 0x8b, 0x53, 0x20}},
		{text: "mov r10, qword ptr [rbx+0x28]", code: []byte{0x4c, 0x8b, 0x53, 0x28}},
		{text: "mov r8, qword ptr [rbx+0x30]", code: []byte{0x4c, 0x8b, 0x43, 0x30}},
		{text: "mov r9, qword ptr [rbx+0x38]", code: []byte{0x4c, 0x8b, 0x4b, 0x38}},
		{text: "syscall", code: []byte{0x0f, 0x05}},
		{text: "cmp qword ptr [rbx], 0x2", code: []byte{0x48, 0x83, 0x3b, 0x02}},
		{text: "jz", code: []byte{0x74, 0}, to: "advance"},

		{label: "check", text: "mov rcx, qword ptr [rbx+0x40]", code: []byte{0x48, 0x8b, 0x4b, 0x40}},
		{label: "judge", text: "cmp rax, rcx", code: []byte{0x48, 0x39, 0xc8}},
		{text: "jnz", code: []byte{0x75, 0}, to: "bad"},
		{label: "advance", text: "add rbx, 0x48", code: []byte{0x48, 0x83, 0xc3, 0x48}},
		{text: "jmp", code: []byte{0xeb, 0}, to: "next"},

		// The report is {row, result}, written from the stack.
		{label: "bad", text: "push rax", code: []byte{0x50}},
		{text: "push rbx", code: []byte{0x53}},
		{text: "mov edi, 0x4", code: imm(0xbf, StatusFD)},
		{text: "mov rsi, rsp", code: []byte{0x48, 0x89, 0xe6}},
		{text: "mov edx, 0x10", code: imm(0xba, MessageSize)},
		{text: "mov eax, 0x1", code: imm(0xb8, 1)}, // write
		{text: "syscall", code: []byte{0x0f, 0x05}},
		{text: "mov edi, 0x7d", code: imm(0xbf, ExitCode)},
		{text: "mov eax, 0xe7", code: imm(0xb8, 231)}, // exit_group
		{text: "syscall", code: []byte{0x0f, 0x05}},
		{text: "ud2", code: []byte{0x0f, 0x0b}},
	}}
}

// imm is an instruction of one byte and a 32-bit immediate.
func imm(op byte, v uint32) []byte { return binary.LittleEndian.AppendUint32([]byte{op}, v) }

// patchAMD64 fills the 8-bit distance, counted from the next instruction.
func patchAMD64(code []byte, at, target int) error {
	d := target - (at + len(code))
	if d < -128 || d > 127 {
		return fmt.Errorf("emit stub: a jump over %d bytes does not fit", d)
	}
	code[1] = byte(int8(d))
	return nil
}
