package seccomp

import (
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/net/bpf"
)

// call is what the kernel shows a filter: struct seccomp_data.
type call struct {
	nr, arch uint32
	args     [6]uint64
}

// packet lays the call out for an emulator of network filters, which reads words
// most significant byte first; the kernel reads these in its own order.
func (c call) packet() []byte {
	words := []uint32{c.nr, c.arch, 0, 0} // the instruction pointer is of no interest
	for _, a := range c.args {
		words = append(words, uint32(a), uint32(a>>32))
	}
	var b []byte
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// emulate runs a program as the kernel would, in an emulator that is not ours.
func emulate(p Program, c call) (Action, error) {
	code, all := bpf.Disassemble(p)
	if !all {
		return 0, fmt.Errorf("an instruction that the emulator does not know")
	}
	vm, err := bpf.NewVM(code) // refuses jumps out of the program and one without an end
	if err != nil {
		return 0, err
	}
	answer, err := vm.Run(c.packet())
	return Action(answer), err
}

// acceptable wants what seccomp_check_filter of the kernel wants: at most 4096
// instructions of a few forms, loads of aligned words of struct seccomp_data.
func acceptable(t *testing.T, p Program) {
	t.Helper()
	if len(p) > 4096 || len(p.Bytes()) != 8*len(p) {
		t.Errorf("%d instructions, %d bytes", len(p), len(p.Bytes()))
	}
	for n, raw := range p {
		switch i := raw.Disassemble().(type) {
		case bpf.LoadAbsolute:
			if i.Size != 4 || i.Off%4 != 0 || i.Off >= 64 {
				t.Errorf("instruction %d loads %d bytes at %d", n, i.Size, i.Off)
			}
		case bpf.JumpIf, bpf.Jump, bpf.RetConstant, bpf.ALUOpConstant:
		default:
			t.Errorf("instruction %d is %v", n, i)
		}
	}
	if _, err := emulate(p, call{}); err != nil {
		t.Error(err)
	}
}

func TestTheEmulatorSeesBothHalvesOfAnArgument(t *testing.T) {
	p, err := assemble([]bpf.Instruction{load(offArgs + 8*2 + 4), skipUnless(bpf.JumpEqual, 7, 1), answer(EPERM), answer(Allow)})
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[[6]uint64]Action{{0, 0, 7 << 32}: EPERM, {0, 0, 7}: Allow, {7 << 32}: Allow} {
		if got, err := emulate(p, call{args: args}); err != nil || got != want {
			t.Errorf("%#x: %s (%v), want %s", args, got, err, want)
		}
	}
}
