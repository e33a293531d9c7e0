package bwrap

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/permit"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/seccomp"
)

const machineVar = "SBXCRON_TEST_MACHINE"

// onMachine runs the calling test once more in a process of its own, where inside
// makes the machine lack something and looks at what the backend does there.
func onMachine(t *testing.T, name string, sys *syscall.SysProcAttr, inside func(t *testing.T)) {
	t.Helper()
	if os.Getenv(machineVar) == name {
		inside(t)
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env, cmd.SysProcAttr = append(os.Environ(), machineVar+"="+name), sys
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

// shellJob plans an embedded script in tier scratch.
func shellJob(t *testing.T, b *Backend, body string, weaker ...string) (*runner.Plan, *kept) {
	t.Helper()
	a := canaryAccount()
	const shell = "/bin/sh"
	real, err := filepath.EvalSymlinks(shell)
	if err != nil {
		t.Fatal(err)
	}
	set, err := pin.Open(t.Context(), pin.Account{UID: a.UID, GID: a.GID, Drop: a.Drop},
		[]pin.Request{{Use: jobspec.UseBound, Role: jobspec.RoleExecutable, Path: real}}, pin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	seen, out := set.Observation(0), &kept{}
	spec := &jobspec.Spec{Script: jobspec.Script{Interpreter: shell, Body: body}, Weaker: weaker,
		Bound:  []jobspec.Bound{{Role: jobspec.RoleExecutable, Typed: shell, Real: real, Size: seen.Size, SHA256: seen.SHA256}},
		Limits: jobspec.Limits{TimeoutSeconds: 20, PIDs: 16, OpenFiles: 64, TmpBytes: 1 << 20, OutputBytes: 1 << 16}}
	plan, err := runner.PlanUnsigned(permit.New(), runner.Order{Job: "weak", Tier: jobspec.Scratch, Net: jobspec.NetNone, Spec: spec,
		Pins: set, Run: "r", Account: a, Outputs: out, Host: b.Host()})
	if err != nil {
		t.Fatal(err)
	}
	return plan, out
}

// kept keeps the output of a run in memory.
type kept struct{ files [2]*os.File }

func (k *kept) Create(stream string) (*os.File, error) {
	f, err := memoryOutputs{}.Create(stream)
	if err != nil {
		return nil, err
	}
	again, err := unix.Dup(int(f.Fd()))
	k.files[map[string]int{"out": 0, "err": 1}[stream]] = os.NewFile(uintptr(again), stream)
	return f, err
}

func (k *kept) text(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, f := range k.files {
		b := make([]byte, 1<<16)
		n, _ := f.ReadAt(b, 0)
		all.Write(b[:n])
	}
	return all.String()
}

// runs runs a plan to its end.
func runs(t *testing.T, b *Backend, plan *runner.Plan) (record.Facts, record.End) {
	t.Helper()
	armed, err := b.Prepare(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	p, err := armed.Release()
	if err != nil {
		t.Fatal(err)
	}
	return armed.Facts(), p.Wait()
}

// refusesWithout wants a plan that accepts nothing to be refused for want of
// what.
func refusesWithout(t *testing.T, b *Backend, what string, weaker ...string) {
	t.Helper()
	plan, _ := shellJob(t, b, "echo ran", weaker...)
	armed, err := b.Prepare(t.Context(), plan)
	var no *runner.Refusal
	if armed != nil || !errors.As(err, &no) || no.Reason != jobspec.CodeSbxFeatureMissing || no.Target != what && !strings.Contains(no.Detail, what) {
		t.Errorf("accepting %v: %v, want a refusal for want of %s", weaker, err, what)
	}
}

func TestWithoutLandlockAJobRunsOnlyWhereThatIsAccepted(t *testing.T) {
	onMachine(t, "no-landlock", nil, func(t *testing.T) {
		loadFilter(t, answer("landlock_create_ruleset", 0, nil, uint32(seccomp.ENOSYS))(t))
		b := open(t)
		said := b.Probe(t.Context())
		if !said.Usable || !slices.Equal(said.Needs, []string{jobspec.WeakerLandlockMissing}) || slices.Contains(said.Capabilities, "landlock") ||
			!strings.Contains(said.Remedy, "lsm=") {
			t.Errorf("probe says %+v", said)
		}
		refusesWithout(t, b, "landlock")
		refusesWithout(t, b, "landlock", jobspec.WeakerNestedSandbox, jobspec.WeakerSoftLimits)
		plan, out := shellJob(t, b, "echo ran; echo x > /usr/new", jobspec.WeakerLandlockMissing)
		facts, end := runs(t, b, plan)
		if text := out.text(t); !strings.HasPrefix(text, "ran\n") || !strings.Contains(text, "Read-only file system") {
			t.Errorf("%+v, output %q", end, text)
		}
		for _, l := range facts.Layers {
			if strings.HasPrefix(l, "landlock") {
				t.Errorf("layers %q, and there is no landlock", facts.Layers)
			}
		}
		for _, l := range []string{"mounts", "seccomp", "no_new_privs", "userns", "capabilities"} {
			if !slices.Contains(facts.Layers, l) {
				t.Errorf("layer %s is not among %q", l, facts.Layers)
			}
		}
	})
}

// coverProc makes /proc what it is in a container: parts of it are covered, so
// that the kernel gives nobody below a fresh one.
func coverProc(t *testing.T) {
	t.Helper()
	for _, err := range []error{unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("/dev/null", "/proc/timer_list", "", unix.MS_BIND, "")} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// ownMounts is a process with a mount namespace of its own. Only root can make one
// in which bwrap still is a file of root's.
func ownMounts(t *testing.T) *syscall.SysProcAttr {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	return &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
}

// nestedScript prints what a job sees of processes, and uses what programs need
// of /proc.
const nestedScript = `exec 2>&1
for p in /proc/[0-9]*; do echo listed; done | grep -v listed
cat /proc/1/cmdline && echo READ-INIT
cat /proc/%d/cmdline && echo READ-SERVICE
cat /proc/%d/environ && echo READ-ENVIRONMENT
echo x > /proc/sys/kernel/core_pattern && echo WROTE
cat /proc/kallsyms && echo READ-KALLSYMS
cat /proc/timer_list && echo READ-TIMERS
readlink /proc/self/exe
echo through | cat /dev/stdin
echo status $(grep -c ^Pid: /proc/$$/status 2>/dev/null)
cat /proc/loadavg > /dev/null && echo loadavg
`

func TestInAContainerAJobRunsOnlyWhereThatIsAccepted(t *testing.T) {
	onMachine(t, "covered-proc", ownMounts(t), func(t *testing.T) {
		coverProc(t)
		b := open(t)
		said := b.Probe(t.Context())
		if !said.Usable || !slices.Equal(said.Needs, []string{jobspec.WeakerNestedSandbox}) || slices.Contains(said.Capabilities, runner.FreshProc) ||
			!strings.Contains(said.Detail, "/proc/timer_list") || !strings.Contains(said.Remedy, "unmask") {
			t.Fatalf("probe says %+v", said)
		}
		plan, _ := shellJob(t, b, "echo ran")
		if armed, err := b.Prepare(t.Context(), plan); err == nil {
			armed.Discard()
			t.Error("a plan that accepts nothing was prepared")
		}
		plan, out := shellJob(t, b, fmt.Sprintf(nestedScript, os.Getpid(), os.Getpid()), jobspec.WeakerNestedSandbox)
		facts, end := runs(t, b, plan)
		text := out.text(t)
		for _, word := range []string{"READ-", "WROTE"} {
			if strings.Contains(text, word) {
				t.Errorf("the job did it: %q", text)
			}
		}
		for _, word := range []string{"/readlink\n", "through\n", "loadavg\n"} {
			if !strings.Contains(text, word) {
				t.Errorf("%q is missing from %q", word, text)
			}
		}
		if !slices.Contains(facts.Layers, runner.LayerProc) || !slices.Contains(facts.Layers, "pidns") || end.Outcome != record.OutcomeSucceeded {
			t.Errorf("layers %q, %+v", facts.Layers, end)
		}
	})
}

// Neither weaker choice makes up for the other: without landlock nothing closes
// the /proc of the container.
func TestInAContainerWithoutLandlockNothingRuns(t *testing.T) {
	onMachine(t, "covered-proc-no-landlock", ownMounts(t), func(t *testing.T) {
		coverProc(t)
		loadFilter(t, answer("landlock_create_ruleset", 0, nil, uint32(seccomp.ENOSYS))(t))
		b := open(t)
		if said := b.Probe(t.Context()); said.Usable {
			t.Errorf("probe says %+v", said)
		}
		plan, _ := shellJob(t, b, "echo ran", jobspec.WeakerNestedSandbox, jobspec.WeakerLandlockMissing)
		if armed, err := b.Prepare(t.Context(), plan); err == nil {
			armed.Discard()
			t.Error("it was prepared")
		}
	})
}

// A limit of 0 on user namespaces is real here: the process lives in one whose
// limit it has set.
func TestAMachineThatAllowsNoUserNamespacesIsNamed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	same := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 65536}}
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: same, GidMappings: same, GidMappingsEnableSetgroups: true}
	onMachine(t, "no-namespaces", attr, func(t *testing.T) {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			t.Fatal(err)
		}
		mustRefuse(t, open(t), jobspec.CodeSbxFeatureMissing, "user.max_user_namespaces is 0")
		if said := open(t).Probe(t.Context()); !said.Lasting {
			t.Errorf("it will not go away by itself: %+v", said)
		}
	})
}
