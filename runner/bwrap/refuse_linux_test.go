package bwrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/cgroup"
	"github.com/sbxcron/sbxcron/runner/internal/permit"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/seccomp"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// canaryJob plans a job whose first act makes a file in its workspace.
func canaryJob(t *testing.T, b *Backend) (plan *runner.Plan, file string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a := canaryAccount()
	for _, err := range []error{os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.Chown(dir, a.UID, a.GID)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const shell = "/bin/sh"
	real, err := filepath.EvalSymlinks(shell)
	if err != nil {
		t.Fatal(err)
	}
	set, err := pin.Open(t.Context(), pin.Account{UID: a.UID, GID: a.GID, Drop: a.Drop}, []pin.Request{
		{Use: jobspec.UseBound, Role: jobspec.RoleExecutable, Path: real}, {Use: jobspec.UseCwd, Path: dir}}, pin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	seen := set.Observation(0)
	spec := &jobspec.Spec{
		Script: jobspec.Script{Interpreter: shell, Body: "echo ran > canary; sleep 300"}, Cwd: jobspec.Place{Path: dir},
		Bound:  []jobspec.Bound{{Role: jobspec.RoleExecutable, Typed: shell, Real: real, Size: seen.Size, SHA256: seen.SHA256}},
		Limits: jobspec.Limits{TimeoutSeconds: 20, PIDs: 16, OpenFiles: 64, TmpBytes: 1 << 20},
	}
	plan, err = runner.PlanUnsigned(permit.New(), runner.Order{Job: "canary", Tier: jobspec.Workspace, Net: jobspec.NetNone, Spec: spec,
		Pins: set, Run: "r", Account: a, Outputs: memoryOutputs{}, Host: b.Host()})
	if err != nil {
		t.Fatal(err)
	}
	return plan, dir + "/canary"
}

// mustRefuse wants Probe and Prepare to say no with a code and a remedy, and
// the payload's first act not to have happened.
func mustRefuse(t *testing.T, b *Backend, want jobspec.Code, word string) {
	t.Helper()
	said := b.Probe(t.Context())
	if said.Usable || said.Problem != want || said.Remedy == "" || said.Capabilities != nil {
		t.Errorf("probe says %+v, want %s", said, want)
	}
	plan, canary := canaryJob(t, b)
	armed, err := b.Prepare(t.Context(), plan)
	var no *runner.Refusal
	if armed != nil || !errors.As(err, &no) || no.Reason != want || !strings.Contains(no.Detail, word) {
		t.Errorf("prepare says %v, want %s with %q", err, want, word)
	}
	if _, err := os.Stat(canary); !os.IsNotExist(err) {
		t.Errorf("the payload ran: %v", err)
	}
}

func TestWithoutBwrapNothingRuns(t *testing.T) {
	b := openAt(t, t.TempDir()+"/bwrap")
	mustRefuse(t, b, jobspec.CodeSbxBackendMissing, "install bubblewrap")
}

func TestABwrapThatOthersCanChangeIsRefused(t *testing.T) {
	path := t.TempDir() + "/bwrap"
	text, err := os.ReadFile(Program)
	if err != nil {
		t.Skip("bubblewrap is not installed")
	}
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	mustRefuse(t, openAt(t, path), jobspec.CodeSbxBackendMissing, "only root can change")
	if os.Geteuid() != 0 {
		return // only root can make a set-id file of root
	}
	if err := os.Chmod(path, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, openAt(t, path), jobspec.CodeSbxFeatureMissing, "set-id")
}

// An old bwrap is played by a script of root's: it knows nothing of one option,
// and is bwrap in everything else.
func TestABwrapThatIsTooOldIsNamed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text := "#!/bin/bash\n[ \"$1\" = --help ] && { " + Program + " --help 2>&1 | grep -v disable-userns; exit; }\n" +
		"[ \"$1\" = --args ] && { echo 'bwrap: Unknown option --disable-userns' >&2; exit 1; }\nexec " + Program + " \"$@\"\n"
	if err := os.WriteFile(dir+"/bwrap", []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	said := openAt(t, dir+"/bwrap").Probe(t.Context())
	if said.Usable || said.Problem != jobspec.CodeSbxBackendVersion || !strings.Contains(said.Detail, "--disable-userns") || said.Remedy == "" || !said.Lasting {
		t.Errorf("probe says %+v", said)
	}
}

func TestAStubThatWasChangedIsRefused(t *testing.T) {
	b := open(t)
	plan, canary := canaryJob(t, b)
	if err := os.Chmod(b.stub.Path(), 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(b.stub.Path())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][]byte{"a bit": append([]byte{text[0] ^ 1}, text[1:]...), "one byte more": append(text[:len(text):len(text)], 0),
		"empty": nil} {
		if err := os.WriteFile(b.stub.Path(), change, 0o755); err != nil {
			t.Fatal(err)
		}
		armed, err := b.Prepare(t.Context(), plan)
		if armed != nil || err == nil || !strings.Contains(err.Error(), "not the one that was emitted") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(canary); !os.IsNotExist(err) {
		t.Errorf("the payload ran: %v", err)
	}
	if _, err := newBackend(Options{RunDir: filepath.Dir(b.stub.Path()), Now: time.Now}, Program); err != nil {
		t.Errorf("a new start does not repair the stub: %v", err)
	}
}

func TestACancelledPrepareStartsNothingAndLeavesNothing(t *testing.T) {
	b := open(t)
	plan, canary := canaryJob(t, b)
	before := children(t)
	for i := range 40 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*500*time.Microsecond)
		if armed, err := b.Prepare(ctx, plan); err == nil {
			armed.Discard()
		} else if i == 0 && !strings.Contains(err.Error(), string(jobspec.CodeSbxSetupFailed)) {
			t.Error(err)
		}
		cancel()
	}
	if _, err := os.Stat(canary); !os.IsNotExist(err) {
		t.Errorf("the payload ran: %v", err)
	}
	// This process is the reaper: what bwrap leaves behind becomes its child.
	// A supervisor that was not needed waits for the next run.
	if after := children(t) - b.helpers.Idle(); after != before {
		t.Errorf("%d children, %d before", after, before)
	}
}

func TestNeedsThatTheBackendLacksAreRefused(t *testing.T) {
	b := open(t)
	plan, _ := canaryJob(t, b)
	p := *plan.Blueprint()
	p.Require = []string{"userns", "vm"}
	if err := (&Backend{cgroups: &cgroup.Tree{}}).checkNeeds(&p); err == nil || !strings.Contains(err.Error(), `"vm"`) {
		t.Errorf("got %v", err)
	}
	p = *plan.Blueprint()
	p.Account.Drop = !p.Account.Drop
	p.Account.UID++
	if err := (&Backend{cgroups: &cgroup.Tree{}}).checkNeeds(&p); err == nil {
		t.Error("an account of the other mode is accepted")
	}
	if _, err := b.Prepare(t.Context(), &runner.Plan{}); err == nil {
		t.Error("an empty plan is prepared")
	}
}

func openAt(t *testing.T, path string) *Backend {
	t.Helper()
	b, err := newBackend(Options{RunDir: t.TempDir(), Now: time.Now}, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// filtered are kernels that lack something, as a filter around the whole test
// process makes them. What is done is the second half of the test of this name.
func filtered() map[string]struct {
	code   jobspec.Code
	word   string
	filter func(t *testing.T) seccomp.Program
} {
	type row = struct {
		code   jobspec.Code
		word   string
		filter func(t *testing.T) seccomp.Program
	}
	const newUser, inet = 0x10000000, 2
	return map[string]row{
		"userns":   {jobspec.CodeSbxFeatureMissing, "user namespaces", answer("clone", 0, jset(newUser), uint32(seccomp.EPERM))},
		"restrict": {jobspec.CodeSbxFeatureMissing, "landlock", answer("landlock_restrict_self", 0, nil, uint32(seccomp.EPERM))},
		"pretend":  {jobspec.CodeSbxFeatureMissing, "landlock", answer("landlock_restrict_self", 0, nil, 0x00050000)},
		"seccomp":  {jobspec.CodeSbxFeatureMissing, "seccomp", answer("seccomp", 0, nil, uint32(seccomp.EPERM))},
		"probe":    {jobspec.CodeSbxSelftestFailed, "row", answer("socket", 0, jeq(inet), 0x00050000)},
	}
}

type jump struct {
	code uint16
	k    uint32
}

func jset(k uint32) *jump { return &jump{0x45, k} }
func jeq(k uint32) *jump  { return &jump{0x15, k} }

// answer makes a filter that answers one call, when the argument matches.
func answer(name string, arg uint32, cond *jump, action uint32) func(*testing.T) seccomp.Program {
	return func(t *testing.T) seccomp.Program {
		m, _ := machine()
		nr, err := m.Arch.Number(name)
		if err != nil {
			t.Fatal(err)
		}
		p := seccomp.Program{{Op: 0x20, K: 0}, {Op: 0x15, Jf: 1, K: nr}}
		if cond != nil {
			p[1].Jf = 3
			p = append(p, bpf.RawInstruction{Op: 0x20, K: 16 + 8*arg}, bpf.RawInstruction{Op: cond.code, Jf: 1, K: cond.k})
		}
		return append(p, bpf.RawInstruction{Op: 0x06, K: action}, bpf.RawInstruction{Op: 0x06, K: uint32(seccomp.Allow)})
	}
}

const filterVar = "SBXCRON_TEST_FILTER"

func TestOnAMachineThatLacksALayerNothingRuns(t *testing.T) {
	if name := os.Getenv(filterVar); name != "" {
		row := filtered()[name]
		loadFilter(t, row.filter(t))
		if name == "pretend" { // the kernel says that it restricted and did not: only the measured open shows it
			mustFailProbe(t, openAt(t, Program))
			return
		}
		mustRefuse(t, openAt(t, Program), row.code, row.word)
		return
	}
	for name := range filtered() {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe", "-test.run=^"+"TestOnAMachineThatLacksALayerNothingRuns$", "-test.v")
			cmd.Env = append(os.Environ(), filterVar+"="+name)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func mustFailProbe(t *testing.T, b *Backend) {
	t.Helper()
	said := b.Probe(t.Context())
	if said.Usable || said.Problem != jobspec.CodeSbxSelftestFailed || !strings.Contains(said.Detail, "EACCES") {
		t.Errorf("probe says %+v", said)
	}
}

// loadFilter puts the whole process, all threads, under a filter.
func loadFilter(t *testing.T, p seccomp.Program) {
	t.Helper()
	code := p.Bytes()
	prog := struct {
		n uint16
		p unsafe.Pointer
	}{uint16(len(p)), unsafe.Pointer(&code[0])}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	const setModeFilter, tsync = 1, 1
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, tsync, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		t.Fatal(fmt.Errorf("load filter: %w", errno))
	}
}
