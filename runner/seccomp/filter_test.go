package seccomp

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// matchesGolden compares the text of a program with the file that holds it.
func matchesGolden(t *testing.T, a Arch, name string, p Program) {
	t.Helper()
	golden := filepath.Join("..", "..", "testdata", "golden", "runner", name+"_"+string(a)+".txt")
	if *update {
		if err := os.WriteFile(golden, []byte(a.Dump(p)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Dump(p); got != string(want) {
		t.Errorf("%s: the program is not the one in %s; look at it and run with -update", a, golden)
	}
}

func TestFilterMatchesItsGoldenText(t *testing.T) {
	for _, a := range []Arch{AMD64, ARM64} {
		p, err := Filter(a)
		if err != nil {
			t.Fatal(err)
		}
		matchesGolden(t, a, "seccomp", p)
	}
}

func TestFilterOfAnUnknownArchitectureIsRefused(t *testing.T) {
	for _, a := range []Arch{"", "386", "riscv64", "AMD64"} {
		if p, err := Filter(a); err == nil || p != nil {
			t.Errorf("%q: %d instructions, %v", a, len(p), err)
		}
	}
}

// Numbers come from the kernel's headers by way of golang.org/x/sys.
func TestNumbersAreThoseOfTheKernel(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatalf("find golang.org/x/sys: %v", err)
	}
	for _, a := range []Arch{AMD64, ARM64} {
		table := kernelTable(t, filepath.Join(strings.TrimSpace(string(dir)), "unix", "zsysnum_linux_"+string(a)+".go"))
		for _, n := range numbers {
			got, err := a.Number(n.name)
			want, exists := table[n.name]
			if n.name == "newfstatat" && !exists {
				want, exists = table["fstatat"] // its name in the generic table
			}
			if exists != (err == nil) || exists && got != want {
				t.Errorf("%s %s: number %d (%v), the kernel says %d (%t)", a, n.name, got, err, want, exists)
			}
		}
	}
}

func kernelTable(t *testing.T, path string) map[string]uint32 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]uint32{}
	for _, m := range regexp.MustCompile(`SYS_(\w+)\s+= (\d+)`).FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.ParseUint(m[2], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		table[strings.ToLower(m[1])] = uint32(n)
	}
	if len(table) < 300 {
		t.Fatalf("%s: only %d numbers", path, len(table))
	}
	return table
}

func (a Arch) audit() uint32 {
	if a == ARM64 {
		return auditARM64
	}
	return auditAMD64
}

const high = 1 << 40 // a bit that the kernel does not look at in an int

func TestFilterAnswersAsTheTableSays(t *testing.T) {
	for _, tc := range []struct {
		call string
		args [6]uint64
		want Action
	}{
		{"read", [6]uint64{}, Allow},
		{"execve", [6]uint64{}, Notify},
		{"seccomp", [6]uint64{}, Allow},
		{"landlock_restrict_self", [6]uint64{}, Allow},
		{"clone3", [6]uint64{}, ENOSYS},
		{"openat2", [6]uint64{}, ENOSYS},
		{"io_uring_setup", [6]uint64{}, ENOSYS},
		{"io_uring_enter", [6]uint64{}, ENOSYS},
		{"mount", [6]uint64{}, Notify},
		{"open_by_handle_at", [6]uint64{}, Notify},
		{"ptrace", [6]uint64{}, Notify},
		{"keyctl", [6]uint64{}, Notify},
		{"memfd_secret", [6]uint64{}, EPERM},
		{"clone", [6]uint64{0x1200011}, Allow}, // fork as glibc makes it
		{"clone", [6]uint64{0x3d0f00}, Allow},  // a thread
		{"clone", [6]uint64{0x10000000}, Notify},
		{"clone", [6]uint64{high | 0x20000}, Notify},
		{"clone", [6]uint64{0x80}, Notify},
		{"unshare", [6]uint64{0x10000000}, Notify},
		{"unshare", [6]uint64{high | 0x20000}, Notify},
		{"unshare", [6]uint64{0x400}, EPERM}, // files among threads
		{"setns", [6]uint64{}, Notify},
		{"name_to_handle_at", [6]uint64{}, EPERM},
		{"socket", [6]uint64{1}, Notify},
		{"socket", [6]uint64{2}, Notify},
		{"socket", [6]uint64{high | 2}, Notify},
		{"connect", [6]uint64{}, Allow}, // there is no socket to connect
		{"socketpair", [6]uint64{1, 1}, Allow},
		{"socketpair", [6]uint64{1, 1 | 0x80800}, Allow},
		{"socketpair", [6]uint64{1, 5}, Allow},
		{"socketpair", [6]uint64{1, 2}, EPERM},
		{"socketpair", [6]uint64{1, 3}, EPERM},
		{"socketpair", [6]uint64{2, 1}, EPERM},
		{"socketpair", [6]uint64{high | 1, high | 1}, Allow}, // the kernel reads it as AF_UNIX too
		{"ioctl", [6]uint64{0, 0x5401}, Allow},
		{"ioctl", [6]uint64{0, 0x5412}, Notify},
		{"ioctl", [6]uint64{0, high | 0x5412}, Notify},
		{"ioctl", [6]uint64{0, 0x541c}, Notify},
		{"personality", [6]uint64{0xffffffff}, Allow},
		{"personality", [6]uint64{high | 0xffffffff}, Allow},
		{"personality", [6]uint64{0}, EPERM},
		{"personality", [6]uint64{0x40000}, EPERM},
		{"fchmod", [6]uint64{3, 0o755}, Allow},
		{"fchmod", [6]uint64{3, 0o4755}, EPERM},
		{"fchmod", [6]uint64{3, high | 0o2755}, EPERM},
		{"fchmod", [6]uint64{3, 0o1777}, Allow},
		{"fchmodat", [6]uint64{0, 0, 0o4000}, EPERM},
		{"fchmodat2", [6]uint64{0, 0, 0o2000}, EPERM},
		{"mkdirat", [6]uint64{0, 0, 0o2755}, EPERM},
		{"mknodat", [6]uint64{0, 0, 0o104755}, EPERM},
		{"openat", [6]uint64{0, 0, 0x80000, 0o4755}, Allow}, // without O_CREAT the mode is not read
		{"openat", [6]uint64{0, 0, 0x41, 0o4755}, EPERM},
		{"openat", [6]uint64{0, 0, 0x410002, 0o4755}, EPERM}, // O_TMPFILE
		{"openat", [6]uint64{0, 0, 0xc1, 0o644}, Allow},
		{"open", [6]uint64{0, 0x41, 0o4755}, EPERM},
		{"open", [6]uint64{0, 0xc1, 0o755}, Allow},
		{"creat", [6]uint64{0, 0o4755}, EPERM},
		{"chmod", [6]uint64{0, 0o2755}, EPERM},
		{"mkdir", [6]uint64{0, 0o755}, Allow},
		{"mknod", [6]uint64{0, 0o4755}, EPERM},
	} {
		for _, a := range []Arch{AMD64, ARM64} {
			nr, err := a.Number(tc.call)
			if err != nil {
				continue // the call does not exist there
			}
			expect(t, a, call{nr: nr, arch: a.audit(), args: tc.args}, tc.want, fmt.Sprintf("%s(%#x)", tc.call, tc.args))
		}
	}
}

// Which sockets exist is one row for each that matters: the families of a run
// that opened none, one or both.
func TestOnlyOpenedFamiliesOfSocketsExist(t *testing.T) {
	none, inet, local, both := Opens{}, Opens{Inet: true}, Opens{Unix: true}, Opens{Inet: true, Unix: true}
	for _, tc := range []struct {
		what   string
		args   [6]uint64
		exists []Opens
	}{
		{"local stream", [6]uint64{1, 1}, []Opens{local, both}},
		{"local stream with flags", [6]uint64{1, 0x80801}, []Opens{local, both}},
		{"local stream, high bits", [6]uint64{high | 1, high | 1}, []Opens{local, both}},
		{"local packets", [6]uint64{1, 5}, []Opens{local, both}},
		{"local datagrams", [6]uint64{1, 2}, nil},
		{"local raw, which is datagrams", [6]uint64{1, 3}, nil},
		{"tcp", [6]uint64{2, 1, 6}, []Opens{inet, both}},
		{"tcp over 6, by default", [6]uint64{10, 0x80801, 0}, []Opens{inet, both}},
		{"udp", [6]uint64{2, 0x80002, 17}, []Opens{inet, both}},
		{"udp over 6, high bits", [6]uint64{high | 10, high | 2, high | 17}, []Opens{inet, both}},
		{"multipath tcp", [6]uint64{2, 1, 262}, nil},
		{"sctp", [6]uint64{2, 1, 132}, nil},
		{"ping", [6]uint64{2, 2, 1}, nil},
		{"raw", [6]uint64{2, 3, 255}, nil},
		{"raw over 6", [6]uint64{10, 3, 58}, nil},
		{"packets over 4", [6]uint64{2, 5, 0}, nil},
		{"netlink", [6]uint64{16, 3}, nil},
		{"packet", [6]uint64{17, 3}, nil},
		{"vsock", [6]uint64{40, 1}, nil},
		{"alg", [6]uint64{38, 5}, nil},
		{"none", [6]uint64{0, 1}, nil},
	} {
		for _, a := range []Arch{AMD64, ARM64} {
			nr, err := a.Number("socket")
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range []Opens{none, inet, local, both} {
				want := Notify
				if slices.Contains(tc.exists, o) {
					want = Allow
				}
				expectOf(t, a, Watch{Opens: o}, call{nr: nr, arch: a.audit(), args: tc.args}, want, tc.what)
			}
		}
	}
}

// expect asks both programs, as the kernel does: the stricter answer counts.
func expect(t *testing.T, a Arch, c call, want Action, name string) {
	t.Helper()
	expectOf(t, a, Watch{}, c, want, name)
}

func expectOf(t *testing.T, a Arch, w Watch, c call, want Action, name string) {
	t.Helper()
	first, err := Filter(a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Listener(a, w)
	if err != nil {
		t.Fatal(err)
	}
	one, err1 := emulate(first, c)
	two, err2 := emulate(second, c)
	if got := stricter(one, two); err1 != nil || err2 != nil || got != want {
		t.Errorf("%s %s of %+v: %s and %s (%v, %v), want %s", a, name, w, one, two, err1, err2, want)
	}
}

// stricter is the kernel's order: kill, errno, notify, allow (seccomp(2)).
func stricter(x, y Action) Action {
	if int32(x) < int32(y) {
		return x
	}
	return y
}

func TestForeignArchitecturesAreKilledAndUnknownNumbersDoNotExist(t *testing.T) {
	for _, a := range []Arch{AMD64, ARM64} {
		for _, foreign := range []uint32{0, 0x40000003, 0x40000028, 0xc000003e ^ a.audit() ^ 0xc00000b7, 0x80000016} {
			expect(t, a, call{nr: 0, arch: foreign}, Kill, fmt.Sprintf("arch %#x", foreign))
		}
		for _, nr := range []uint32{newestReviewed + 1, 1000, 0x40000000, 0x40000000 + 41, 0x40000200, 0xffffffff} {
			expect(t, a, call{nr: nr, arch: a.audit()}, ENOSYS, fmt.Sprintf("number %#x", nr))
		}
		expect(t, a, call{nr: newestReviewed, arch: a.audit()}, Allow, "the newest reviewed number")
	}
}

// Jumps are 8 bits and forward only; the kernel takes at most 4096 instructions.
func TestFilterIsAcceptableToTheKernel(t *testing.T) {
	for _, a := range []Arch{AMD64, ARM64} {
		p, err := Filter(a)
		if err != nil {
			t.Fatal(err)
		}
		acceptable(t, p)
	}
}

// Each call of the list is one that the number table knows on some architecture.
func TestRulesNameListedCalls(t *testing.T) {
	all := rules()
	for _, a := range []Arch{AMD64, ARM64} {
		all = append(append(all, openRules(a, Watch{})...), toldRules(Opens{Inet: true, Unix: true})...)
	}
	for _, r := range all {
		if !AMD64.has(r.call) && !ARM64.has(r.call) {
			t.Errorf("rule for %q, which no architecture has", r.call)
		}
	}
}

// What waits for an answer is known by its wish, and nothing else has one.
func TestEveryToldCallHasAWish(t *testing.T) {
	listed := ToldCalls()
	for _, r := range toldRules(Opens{Inet: true, Unix: true}) {
		if WishOf(r.call) == NoWish || r.action != Notify || r.call != "connect" && !slices.Contains(listed, r.call) {
			t.Errorf("%s: wish %d, %s", r.call, WishOf(r.call), r.action)
		}
	}
	for _, r := range rules() {
		if r.tests == nil && WishOf(r.call) != NoWish {
			t.Errorf("%s is refused by the first filter, and so cannot be told", r.call)
		}
	}
}
