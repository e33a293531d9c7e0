package bwrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/egress"
	"github.com/sbxcron/sbxcron/runner/internal/permit"
	"github.com/sbxcron/sbxcron/runner/pin"
	"golang.org/x/sys/unix"
)

// scriptJob plans a shell script in a workspace, whose name a supervisor answers
// for.
func scriptJob(t *testing.T, b *Backend, text string) (plan *runner.Plan, dir string, out fileOutputs) {
	t.Helper()
	_, canary := canaryJob(t, b)
	dir, a := filepath.Dir(canary), canaryAccount()
	must(t, errors.Join(os.WriteFile(dir+"/job.sh", []byte(text), 0o755), os.Chown(dir+"/job.sh", a.UID, a.GID)))
	shell, err := filepath.EvalSymlinks("/bin/sh")
	must(t, err)
	set, err := pin.Open(t.Context(), pin.Account{UID: a.UID, GID: a.GID, Drop: a.Drop}, []pin.Request{
		{Use: jobspec.UseBound, Role: jobspec.RoleExecutable, Path: dir + "/job.sh"},
		{Use: jobspec.UseBound, Role: jobspec.RoleInterpreter, Path: shell}, {Use: jobspec.UseCwd, Path: dir}}, pin.Options{})
	must(t, err)
	t.Cleanup(func() { set.Close() })
	bound := []jobspec.Bound{{Role: jobspec.RoleExecutable, Typed: "./job.sh"}, {Role: jobspec.RoleInterpreter, Typed: "/bin/sh"}}
	for i := range bound {
		o := set.Observation(i)
		bound[i].Real, bound[i].Size, bound[i].SHA256 = o.Real, o.Size, o.SHA256
	}
	out = fileOutputs{t.TempDir()}
	plan, err = runner.PlanUnsigned(permit.New(), runner.Order{Job: "script", Tier: jobspec.Workspace, Net: jobspec.NetNone,
		Spec: &jobspec.Spec{Argv: []string{"./job.sh"}, Cwd: jobspec.Place{Path: dir}, Bound: bound,
			Limits: jobspec.Limits{TimeoutSeconds: 60, PIDs: 64, OpenFiles: 64, TmpBytes: 1 << 20, OutputBytes: 4096}},
		Pins: set, Run: "r", Account: a, Outputs: out, Host: b.Host()})
	must(t, err)
	return plan, dir, out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// supervisors are the pids of our children that answer opens.
func supervisors(t *testing.T) []int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	must(t, err)
	var found []int
	for _, name := range lists {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // that thread is gone
		}
		for _, word := range bytes.Fields(text) {
			pid, err := strconv.Atoi(string(word))
			must(t, err)
			cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if string(cmdline) == "sbxcron: supervise\x00" {
				found = append(found, pid)
			}
		}
	}
	return found
}

func prepare(t *testing.T, b *Backend, p *runner.Plan) runner.Armed {
	t.Helper()
	armed, err := b.Prepare(t.Context(), p)
	must(t, err)
	return armed
}

func TestEveryRunHasASupervisor(t *testing.T) {
	b := open(t)
	embedded, _ := canaryJob(t, b)
	script, _, _ := scriptJob(t, b, goodScript)
	for what, plan := range map[string]*runner.Plan{"an embedded script": embedded, "a script": script} {
		armed := prepare(t, b, plan)
		if n := len(supervisors(t)) - b.helpers.Idle(); n != 1 || !slices.Contains(armed.Facts().Layers, runner.LayerListener) {
			t.Errorf("%s has %d supervisors, layers %v", what, n, armed.Facts().Layers)
		}
		armed.Discard()
		if all, idle := len(supervisors(t)), b.helpers.Idle(); all != 1 || idle != 1 {
			t.Errorf("after %s: %d supervisors, %d of them idle", what, all, idle)
		}
	}
}

// A script of the host; an embedded one, which has no names to answer for; and one
// with a proxy, which is in the same process.
func TestARunIsKilledWithItsSupervisor(t *testing.T) {
	b := open(t)
	const body = "#!/bin/sh\necho began\nsleep 60\necho on >>on\n"
	plan, dir, out := scriptJob(t, b, body)
	killedWithItsSupervisor(t, plan, b, dir, out)
	plan, dir, out = scriptJob(t, b, body)
	plan.Blueprint().Names = nil
	killedWithItsSupervisor(t, plan, b, dir, out)
	plan, dir, out = scriptJob(t, b, body)
	plan.Blueprint().Net, plan.Blueprint().Egress = jobspec.NetProxy, &egress.Config{}
	killedWithItsSupervisor(t, plan, b, dir, out)
}

func killedWithItsSupervisor(t *testing.T, plan *runner.Plan, b *Backend, dir string, out fileOutputs) {
	t.Helper()
	proc, err := prepare(t, b, plan).Release()
	must(t, err)
	for range 200 {
		if text, _ := os.ReadFile(out.dir + "/out"); len(text) > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	must(t, unix.Kill(supervisors(t)[0], unix.SIGKILL))
	end := proc.Wait()
	if end.Outcome != record.OutcomeKilled || len(end.Reasons) != 1 || end.Reasons[0].Code != jobspec.CodeSbxProxyFailed || end.Reasons[0].Target != "supervisor" {
		t.Errorf("ended as %+v", end)
	}
	if end.EndedAt.Sub(end.StartedAt) > 20*time.Second {
		t.Error("the run went on")
	}
	if _, err := os.Stat(dir + "/on"); err == nil {
		t.Error("the script went on")
	}
}

func TestNothingRunsWhenTheSupervisorDiesBeforeTheRelease(t *testing.T) {
	b := open(t)
	plan, dir, _ := scriptJob(t, b, "#!/bin/sh\necho ran >ran\n")
	armed := prepare(t, b, plan)
	pid := supervisors(t)[0]
	gone := watchDeath(t, pid)
	must(t, unix.Kill(pid, unix.SIGKILL))
	gone()
	if proc, err := armed.Release(); err == nil {
		if end := proc.Wait(); end.Outcome == record.OutcomeSucceeded || end.Outcome == record.OutcomeFailed {
			t.Errorf("ended as %+v", end)
		}
	}
	if _, err := os.Stat(dir + "/ran"); err == nil {
		t.Error("the script ran")
	}
}

// A run that is stopped in the middle of an answer ends all the same.
func TestARunWhoseSupervisorIsStoppedEndsAtItsTimeout(t *testing.T) {
	b := open(t)
	plan, _, _ := scriptJob(t, b, "#!/bin/sh\nwhile :; do read -r x <job.sh; done\n")
	plan.Blueprint().Limits.TimeoutSeconds = 1
	plan.Blueprint().Limits.GraceSeconds = 1
	proc, err := prepare(t, b, plan).Release()
	must(t, err)
	must(t, unix.Kill(supervisors(t)[0], unix.SIGSTOP))
	if end := proc.Wait(); end.Outcome != record.OutcomeTimedOut {
		t.Errorf("ended as %+v", end)
	}
	if n := len(supervisors(t)); n != 0 {
		t.Errorf("%d supervisors are left", n)
	}
}

// watchDeath holds a process; what it returns waits until that process is dead.
func watchDeath(t *testing.T, pid int) (wait func()) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	return func() {
		t.Helper()
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10000)
			if n == 1 {
				return
			}
			if err != unix.EINTR {
				t.Fatalf("process %d goes on: %v", pid, err)
			}
		}
	}
}

func TestSupervisorsDieWithTheBackend(t *testing.T) {
	b := open(t)
	plan, _, _ := scriptJob(t, b, goodScript)
	armed := prepare(t, b, plan)
	gone := watchDeath(t, supervisors(t)[0])
	must(t, b.Close())
	gone()
	armed.Discard()
}

func TestACancelledPrepareLeavesNoSupervisor(t *testing.T) {
	b := open(t)
	plan, dir, _ := scriptJob(t, b, "#!/bin/sh\necho ran >ran\n")
	prepare(t, b, plan).Discard()
	before, files := children(t), openFDs(t)
	for i := range 30 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
		if armed, err := b.Prepare(ctx, plan); err == nil {
			armed.Discard()
		}
		cancel()
	}
	prepare(t, b, plan).Discard() // the last one may have ended the supervisor that was idle
	if after, now := children(t), openFDs(t); after != before || now != files {
		t.Errorf("%d children and %d descriptors, %d and %d before", after, now, before, files)
	}
	if _, err := os.Stat(dir + "/ran"); err == nil {
		t.Error("the script ran")
	}
}

// The supervisor has nothing that its runs could not have: no capability, no
// right to gain any, nothing of the service open, and nobody of its account can
// look into it.
func TestTheSupervisorHoldsNothing(t *testing.T) {
	b := open(t)
	plan, dir, _ := scriptJob(t, b, goodScript)
	secret, err := os.Open(os.Args[0]) // close-on-exec, like everything of the service
	must(t, err)
	defer secret.Close()
	armed := prepare(t, b, plan)
	defer armed.Discard()
	pid := supervisors(t)[0]
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	a := canaryAccount()
	for _, want := range []string{fmt.Sprintf("Uid:\t%d\t%d\t%d\t%d\n", a.UID, a.UID, a.UID, a.UID), "CapInh:\t0000000000000000\n", "CapPrm:\t0000000000000000\n",
		"CapEff:\t0000000000000000\n", "NoNewPrivs:\t1\n"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("status has no %q:\n%s", want, status)
		}
	}
	if os.Getuid() != 0 {
		if _, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)); err == nil {
			t.Error("its own account can look into it")
		}
		return // and so cannot we
	}
	if !strings.Contains(string(status), "CapBnd:\t0000000000000000\n") || !strings.Contains(string(status), "Groups:\t \n") {
		t.Errorf("a bounding set or groups are left:\n%s", status)
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || len(environ) != 0 {
		t.Errorf("it has an environment: %q, %v", environ, err)
	}
	var open []string
	links, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	must(t, err)
	for _, l := range links {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, l.Name()))
		must(t, err)
		if strings.HasPrefix(to, "anon_inode:[event") || strings.HasPrefix(to, "/sys/fs/cgroup/") {
			continue // the runtime's
		}
		name, _, _ := strings.Cut(to, ":[")
		open = append(open, strings.TrimSuffix(name, " (deleted)"))
	}
	slices.Sort(open)
	want := []string{"/", "/dev/null", "/dev/null", "/dev/null", dir + "/job.sh", "anon_inode:seccomp notify", "socket"}
	slices.Sort(want)
	if !slices.Equal(open, want) {
		t.Errorf("open are %q, want %q", open, want)
	}
}

// withoutListener are kernels or containers in which the listener cannot be had.
func withoutListener() map[string]func(*testing.T) (code, word string) {
	return map[string]func(*testing.T) (string, string){
		"busy": func(t *testing.T) (string, string) {
			loadFilter(t, answer("seccomp", 1, jset(8), 0x00050000|16)(t)) // EBUSY to whoever wants a listener
			return string(jobspec.CodeSbxFeatureMissing), "outside of a container"
		},
		"not taken": func(t *testing.T) (string, string) {
			loadFilter(t, answer("pidfd_getfd", 0, nil, 0x00050000|1)(t))
			return string(jobspec.CodeSbxFeatureMissing), "outside of a container"
		},
		"not read": func(t *testing.T) (string, string) {
			loadFilter(t, answer("process_vm_readv", 0, nil, 0x00050000|1)(t))
			return string(jobspec.CodeSbxSelftestFailed), "openat"
		},
	}
}

const listenerVar = "SBXCRON_TEST_LISTENER"

func TestWithoutAListenerNothingRuns(t *testing.T) {
	if name := os.Getenv(listenerVar); name != "" {
		code, word := withoutListener()[name](t)
		b := openAt(t, Program)
		plan, _, _ := scriptJob(t, b, goodScript)
		armed, err := b.Prepare(t.Context(), plan)
		var no *runner.Refusal
		if armed != nil || !errors.As(err, &no) || string(no.Reason) != code || no.Target != runner.LayerListener || !strings.Contains(no.Detail, word) {
			t.Errorf("prepare says %v, want %s with %q", err, code, word)
		}
		embedded, _ := canaryJob(t, b)
		if armed, err := b.Prepare(t.Context(), embedded); armed != nil || !errors.As(err, &no) || string(no.Reason) != code {
			t.Errorf("an embedded script: prepare says %v, want %s", err, code)
		}
		return
	}
	for name := range withoutListener() {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestWithoutAListenerNothingRuns$", "-test.v")
			cmd.Env = append(os.Environ(), listenerVar+"="+name)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
