package stub

import (
	"encoding/binary"
	"fmt"
)

// line is one instruction of the program: its text, as the disassembler of
// golang.org/x/arch prints it, and its bytes. A jump names its target instead
// and gets its distance when the program is laid out; label marks a place.
type line struct {
	label string
	text  string
	code  []byte
	to    string
}

// machine is what differs between architectures.
type machine struct {
	elf   uint16 // e_machine
	lines []line
	// patch puts the distance from a jump to its target into the jump's bytes.
	patch func(code []byte, at, target int) error
}

func machineFor(arch string) (machine, error) {
	switch arch {
	case "amd64":
		return amd64Machine(), nil
	case "arm64":
		return arm64Machine(), nil
	}
	return machine{}, fmt.Errorf("emit stub: architecture %q is not known", arch)
}

// assemble lays out the lines.
func (m machine) assemble() ([]byte, error) {
	labels, size := map[string]int{}, 0
	for _, l := range m.lines {
		if l.label != "" {
			labels[l.label] = size
		}
		size += len(l.code)
	}
	var out []byte
	for _, l := range m.lines {
		code := append([]byte(nil), l.code...)
		if l.to != "" {
			target, ok := labels[l.to]
			if !ok {
				return nil, fmt.Errorf("emit stub: no label %q", l.to)
			}
			if err := m.patch(code, len(out), target); err != nil {
				return nil, err
			}
		}
		out = append(out, code...)
	}
	return out, nil
}

// Emit makes the program for an architecture: an ELF file with two segments,
// the code (not writable) and the memory for the table (not executable).
func Emit(arch string) ([]byte, error) {
	m, err := machineFor(arch)
	if err != nil {
		return nil, err
	}
	code, err := m.assemble()
	if err != nil {
		return nil, err
	}
	return append(elfHeader(m.elf, len(code)), code...), nil
}

// Sizes and constants of ELF64 (elf(5)).
const (
	textAddress = 0x400000
	headerSize  = 64 + 3*56
	pageSize    = 0x10000 // the largest that arm64 kernels use
	ptLoad      = 1
	ptGNUStack  = 0x6474e551
	flagX       = 1
	flagW       = 2
	flagR       = 4
)

// elfHeader is the header and the three program headers: code, memory, and the
// wish for a stack that is not executable.
func elfHeader(elfMachine uint16, codeSize int) []byte {
	le := binary.LittleEndian
	b := append([]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, make([]byte, 9)...)
	b = le.AppendUint16(b, 2) // ET_EXEC
	b = le.AppendUint16(b, elfMachine)
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, textAddress+headerSize) // entry
	b = le.AppendUint64(b, 64)                     // program headers
	b = le.AppendUint64(b, 0)                      // no sections
	b = le.AppendUint32(b, 0)
	for _, half := range []uint16{64, 56, 3, 64, 0, 0} {
		b = le.AppendUint16(b, half)
	}
	b = segment(b, ptLoad, flagR|flagX, textAddress, uint64(headerSize+codeSize), uint64(headerSize+codeSize))
	b = segment(b, ptLoad, flagR|flagW, Base, 0, memorySize)
	return segment(b, ptGNUStack, flagR|flagW, 0, 0, 0)
}

func segment(b []byte, kind, flags uint32, addr, fileSize, memSize uint64) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, kind)
	b = le.AppendUint32(b, flags)
	for _, v := range []uint64{0, addr, addr, fileSize, memSize, pageSize} {
		b = le.AppendUint64(b, v)
	}
	return b
}
