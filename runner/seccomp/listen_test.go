package seccomp

import "testing"

func TestListenerMatchesItsGoldenText(t *testing.T) {
	for _, a := range []Arch{AMD64, ARM64} {
		for name, w := range map[string]Watch{"listener": {}, "listener_names": {Names: true}, "listener_net": {Opens: Opens{Inet: true, Unix: true}}} {
			p, err := Listener(a, w)
			if err != nil {
				t.Fatal(err)
			}
			matchesGolden(t, a, name, p)
		}
	}
	if p, err := Listener("riscv64", Watch{}); err == nil || p != nil {
		t.Errorf("an unknown architecture: %d instructions, %v", len(p), err)
	}
}

// The flags are those of the kernel's headers for each architecture.
func TestListenerAsksForWhatReadsAFileByItsName(t *testing.T) {
	directory := map[Arch]uint64{AMD64: 0x10000, ARM64: 0x4000}
	direct := map[Arch]uint64{AMD64: 0x4000, ARM64: 0x10000} // O_DIRECT: the other's O_DIRECTORY
	for _, a := range []Arch{AMD64, ARM64} {
		for _, tc := range []struct {
			what  string
			flags uint64
			want  Action
		}{
			{"read only", 0, Notify},
			{"read only, close on exec", 0x80000, Notify},
			{"bits that the kernel does not look at", high, Notify},
			{"read and write", 2, Notify},
			{"access mode 3", 3, Notify},
			{"direct", direct[a], Notify},
			{"create or open", 0x40, Notify},
			{"create or open, read and write", 0x42, Notify},
			{"exclusive without create", 0x80, Notify},
			{"only a new file", 0xc2, Allow},
			{"write only", 1, Notify},
			{"write only, create", 0x241, Notify},
			{"write only, high bits", high | 1, Notify},
			{"write only, only a new file", 0xc1, Allow},
			{"a directory", directory[a], Allow},
			{"a place", 0x200000, Allow},
			{"a nameless file", 0x400000 | directory[a] | 2, Allow},
		} {
			ask(t, a, "open", [6]uint64{0, tc.flags}, tc.want, tc.what)
			ask(t, a, "openat", [6]uint64{0, 0, tc.flags}, tc.want, tc.what)
		}
		for flags, want := range map[uint64]Action{0: Notify, 0x80000: Allow, 2: Notify, 1: Notify, 0x241: Notify, 0xc1: Allow, 0x200002: Allow, 0x80002: Notify, high: Notify} {
			nr, err := a.Number("openat")
			if err != nil {
				t.Fatal(err)
			}
			expectOf(t, a, Watch{}, call{nr: nr, arch: a.audit(), args: [6]uint64{0, 0, flags}}, want, "openat without names")
		}
		for call, want := range map[string]Action{"execve": Notify, "execveat": Notify, "openat2": Allow, "read": Allow, "close": Allow, "newfstatat": Allow, "creat": Allow} {
			ask(t, a, call, [6]uint64{}, want, "no flags")
		}
	}
}

func ask(t *testing.T, a Arch, name string, args [6]uint64, want Action, what string) {
	t.Helper()
	nr, err := a.Number(name)
	if err != nil {
		return // the call does not exist there
	}
	p, err := Listener(a, Watch{Names: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := emulate(p, call{nr: nr, arch: a.audit(), args: args})
	if err != nil || got != want {
		t.Errorf("%s %s, %s: %s (%v), want %s", a, name, what, got, err, want)
	}
	if got, err := emulate(p, call{nr: nr, arch: 0x40000003, args: args}); err != nil || got != Kill {
		t.Errorf("%s %s of a foreign architecture: %s (%v)", a, name, got, err)
	}
}

func TestListenerIsAcceptableToTheKernel(t *testing.T) {
	for _, a := range []Arch{AMD64, ARM64} {
		p, err := Listener(a, Watch{Names: true})
		if err != nil {
			t.Fatal(err)
		}
		acceptable(t, p)
	}
}
