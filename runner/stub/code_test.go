package stub

import (
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"
)

// disassembler returns the text and size of the instruction at the start of b.
type disassembler func(b []byte) (text string, size int, err error)

func disassembleAMD64(b []byte) (string, int, error) {
	i, err := x86asm.Decode(b, 64)
	return x86asm.IntelSyntax(i, 0, nil), i.Len, err
}

func disassembleARM64(b []byte) (string, int, error) {
	i, err := arm64asm.Decode(b)
	text := i.String()
	if cond, ok := i.Args[0].(arm64asm.Cond); ok {
		text = i.Op.String() + "." + cond.String() + " "
	}
	return text, 4, err
}

// The text that stands beside the bytes in the source is what the bytes mean.
func TestEmittedCodeIsTheInstructionsThatTheSourceNames(t *testing.T) {
	for _, tc := range []struct {
		arch string
		dis  disassembler
	}{{"amd64", disassembleAMD64}, {"arm64", disassembleARM64}} {
		t.Run(tc.arch, func(t *testing.T) {
			elf, err := Emit(tc.arch)
			if err != nil {
				t.Fatal(err)
			}
			m, err := machineFor(tc.arch)
			if err != nil {
				t.Fatal(err)
			}
			code := elf[headerSize:]
			for _, l := range m.lines {
				text, size, err := tc.dis(code)
				if err != nil || size != len(l.code) {
					t.Fatalf("%s: %d bytes decoded of %x: %v", l.text, size, l.code, err)
				}
				if l.to != "" {
					text, _, _ = strings.Cut(text, " ")
				}
				if text != l.text {
					t.Errorf("bytes %x mean %q, the source says %q", code[:size], text, l.text)
				}
				code = code[size:]
			}
			if len(code) != 0 {
				t.Errorf("%d bytes after the last instruction", len(code))
			}
		})
	}
}

// Every jump lands on the start of the instruction that carries its label.
func TestEmittedJumpsLandOnTheirLabels(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		m, err := machineFor(arch)
		if err != nil {
			t.Fatal(err)
		}
		code, err := m.assemble()
		if err != nil {
			t.Fatal(err)
		}
		at, starts := 0, map[string]int{}
		for _, l := range m.lines {
			if l.label != "" {
				starts[l.label] = at
			}
			at += len(l.code)
		}
		at = 0
		for _, l := range m.lines {
			if l.to != "" {
				if got := jumpTarget(t, arch, code[at:], at); got != starts[l.to] {
					t.Errorf("%s: %s to %s lands at %d, want %d", arch, l.text, l.to, got, starts[l.to])
				}
			}
			at += len(l.code)
		}
	}
}

func jumpTarget(t *testing.T, arch string, code []byte, at int) int {
	t.Helper()
	if arch == "amd64" {
		i, err := x86asm.Decode(code, 64)
		if err != nil {
			t.Fatal(err)
		}
		return at + i.Len + int(i.Args[0].(x86asm.Rel))
	}
	i, err := arm64asm.Decode(code)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range i.Args {
		if rel, ok := a.(arm64asm.PCRel); ok {
			return at + int(rel)
		}
	}
	t.Fatalf("%s has no target", i)
	return 0
}

func TestEmitRefusesAnArchitectureThatItDoesNotKnow(t *testing.T) {
	if b, err := Emit("riscv64"); err == nil {
		t.Errorf("emitted %d bytes", len(b))
	}
}

func TestEmittedFileIsSmall(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		if b, _ := Emit(arch); len(b) > 3<<10 {
			t.Errorf("%s: %d bytes", arch, len(b))
		}
	}
}
