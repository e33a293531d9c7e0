package seccomp

import (
	"fmt"
	"testing"
)

func TestAloneMatchesItsGoldenText(t *testing.T) {
	for _, a := range []Arch{AMD64, ARM64} {
		p, err := Alone(a)
		if err != nil {
			t.Fatal(err)
		}
		matchesGolden(t, a, "alone", p)
		acceptable(t, p)
	}
	if _, err := Alone("riscv64"); err == nil {
		t.Error("an architecture without numbers gets a program")
	}
}

func TestAloneRefusesWhatLandlockDoesNotSee(t *testing.T) {
	const heap = 0x7f00_1000_2000
	for _, tc := range []struct {
		call string
		args [6]uint64
		want Action
	}{
		{"read", [6]uint64{}, Allow}, {"openat", [6]uint64{}, Allow}, {"kill", [6]uint64{1, 9}, Allow}, // landlock's scope
		{"chmod", [6]uint64{heap, 0o644}, EPERM}, {"fchmodat", [6]uint64{3, heap, 0o644}, EPERM}, {"fchmodat2", [6]uint64{3, heap, 0o644, 0x1000}, EPERM},
		{"fchmod", [6]uint64{3, 0o644}, Allow},
		{"socket", [6]uint64{1, 1}, EPERM}, {"socket", [6]uint64{2, 1, 6}, EPERM}, {"socketpair", [6]uint64{1, 1}, Allow},
		{"mount", [6]uint64{}, EPERM}, {"ptrace", [6]uint64{}, EPERM}, {"bpf", [6]uint64{}, EPERM}, {"unshare", [6]uint64{0x10000000}, EPERM},
		{"clone", [6]uint64{0x10000011}, EPERM}, {"clone", [6]uint64{0x1200011}, Allow}, {"ioctl", [6]uint64{3, 0x5412}, EPERM},
		{"chown", [6]uint64{heap}, EPERM}, {"lchown", [6]uint64{heap}, EPERM}, {"fchown", [6]uint64{3}, EPERM}, {"fchownat", [6]uint64{3, heap}, EPERM},
		{"utimensat", [6]uint64{3, 0, heap}, Allow}, {"utimensat", [6]uint64{3, heap, 0}, EPERM},
		{"utimensat", [6]uint64{3, 1 << 32, 0}, EPERM}, // an address whose low half is zero
		{"utimes", [6]uint64{heap}, EPERM}, {"futimesat", [6]uint64{3, heap}, EPERM}, {"utime", [6]uint64{heap}, EPERM},
		{"setxattr", [6]uint64{heap}, EPERM}, {"fsetxattr", [6]uint64{3}, EPERM}, {"removexattr", [6]uint64{heap}, EPERM}, {"setxattrat", [6]uint64{3}, EPERM},
		{"shmget", [6]uint64{}, EPERM}, {"shmat", [6]uint64{}, EPERM}, {"shmctl", [6]uint64{}, EPERM}, {"semget", [6]uint64{}, EPERM}, {"msgrcv", [6]uint64{}, EPERM},
		{"mq_open", [6]uint64{}, EPERM}, {"mq_unlink", [6]uint64{}, EPERM},
		{"inotify_add_watch", [6]uint64{3, heap}, EPERM},
		{"prlimit64", [6]uint64{0, 7}, Allow}, {"prlimit64", [6]uint64{1234, 7}, EPERM}, {"prlimit64", [6]uint64{high, 7}, Allow},
		{"setpriority", [6]uint64{0, 0, 5}, Allow}, {"setpriority", [6]uint64{0, 1234, 5}, EPERM}, {"setpriority", [6]uint64{2, 0, 5}, EPERM},
		{"ioprio_set", [6]uint64{1, 0, 5}, Allow}, {"ioprio_set", [6]uint64{1, 99, 5}, EPERM}, {"ioprio_set", [6]uint64{3, 0, 5}, EPERM},
		{"sched_setaffinity", [6]uint64{0}, Allow}, {"sched_setaffinity", [6]uint64{7}, EPERM}, {"sched_setscheduler", [6]uint64{7}, EPERM},
		{"ioctl", [6]uint64{3, 0x5401}, Allow}, {"ioctl", [6]uint64{3, 0x40086602}, EPERM}, {"ioctl", [6]uint64{3, high | 0x401c5820}, EPERM},
	} {
		for _, a := range []Arch{AMD64, ARM64} {
			nr, err := a.Number(tc.call)
			if err != nil {
				continue // the call does not exist there
			}
			p, err := Alone(a)
			if err != nil {
				t.Fatal(err)
			}
			got, err := emulate(p, call{nr: nr, arch: a.audit(), args: tc.args})
			if err != nil || got != tc.want {
				t.Errorf("%s %s: %s (%v), want %s", a, fmt.Sprintf("%s(%#x)", tc.call, tc.args), got, err, tc.want)
			}
		}
	}
}

func TestAloneNamesListedCalls(t *testing.T) {
	for _, r := range aloneRules() {
		if !AMD64.has(r.call) && !ARM64.has(r.call) {
			t.Errorf("rule for %q, which no architecture has", r.call)
		}
	}
}

// Whatever the first program leaves to a listener is refused here: there is none.
func TestAloneRefusesWhatAListenerWouldBeAsked(t *testing.T) {
	refused := map[string]bool{}
	for _, r := range aloneRules() {
		refused[r.call] = refused[r.call] || r.action == EPERM
		if r.action == Notify {
			t.Errorf("%s waits for a listener", r.call)
		}
	}
	for _, call := range ToldCalls() {
		if !refused[call] {
			t.Errorf("%s is left to nobody", call)
		}
	}
}
