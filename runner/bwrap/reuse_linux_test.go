package bwrap

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/throwaway"
	"golang.org/x/sys/unix"
)

// denied are the unexpected denials of a run.
func denied(end record.End) []string {
	var all []string
	for _, d := range end.Denials {
		if !d.Expected {
			all = append(all, fmt.Sprintf("%s %s x%d", d.Code, d.Target, d.Count))
		}
	}
	return all
}

func runPlan(t *testing.T, b *Backend, p *runner.Plan) record.End {
	t.Helper()
	proc, err := prepare(t, b, p).Release()
	must(t, err)
	return proc.Wait()
}

const loudScript = "#!/bin/sh\nread x </dev/tty\nread x </dev/tty\nexit 0\n"

// One process serves a run with denials, a quiet one and a loud one again, and
// each has its own events, names and counts.
func TestASupervisorKeepsNothingOfARun(t *testing.T) {
	b := open(t)
	var pids []int
	for i, script := range []string{loudScript, "#!/bin/sh\nread line <job.sh && echo $line\n", loudScript} {
		plan, _, out := scriptJob(t, b, script)
		end := runPlan(t, b, plan)
		want, outcome := []string{"ask_tty /dev/tty x2"}, record.OutcomeDenied
		if i == 1 {
			want, outcome = nil, record.OutcomeSucceeded
		}
		text, err := keptText(out.dir, "out")
		must(t, err)
		if got := denied(end); !slices.Equal(got, want) || end.Outcome != outcome || i == 1 && string(text) != "#!/bin/sh\n" {
			t.Errorf("run %d ended as %s, %v, with %q, want %q; output %q", i, end.Outcome, end.Reasons, got, want, text)
		}
		pids = append(pids, supervisors(t)...)
		// It closes them behind its last word, and before it reads the next order.
		open := filesOf(t, supervisors(t)[0])
		for limit := time.Now().Add(10 * time.Second); len(open) > 0 && time.Now().Before(limit); open = filesOf(t, supervisors(t)[0]) {
			time.Sleep(time.Millisecond)
		}
		if len(open) > 0 {
			t.Errorf("after run %d the supervisor has %q", i, open)
		}
	}
	if len(pids) != 3 || pids[0] != pids[1] || pids[1] != pids[2] {
		t.Errorf("the supervisors were %v, want one and the same", pids)
	}
}

// filesOf lists what an idle supervisor has open beside the runtime's own and its
// socket. Only root can look.
func filesOf(t *testing.T, pid int) []string {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	links, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	must(t, err)
	var all []string
	for _, l := range links {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, l.Name()))
		must(t, err)
		switch name, _, _ := strings.Cut(to, ":["); {
		case strings.HasPrefix(to, "anon_inode:[event"), strings.HasPrefix(to, "/sys/fs/cgroup/"), to == "/dev/null", name == "socket":
		default:
			all = append(all, to)
		}
	}
	return all
}

func TestASupervisorOfAThrowAwayUidEndsWithItsRun(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	b := open(t)
	plan, _ := canaryJob(t, b)
	plan.Blueprint().Account.UID, plan.Blueprint().Account.GID = throwaway.First+7, throwaway.First+7
	prepare(t, b, plan).Discard()
	if n, idle := len(supervisors(t)), b.helpers.Idle(); n != 0 || idle != 0 {
		t.Errorf("%d supervisors are left, %d of them idle", n, idle)
	}
}

// More runs at the same time than may stay idle leave as many as may.
func TestIdleSupervisorsAreBounded(t *testing.T) {
	b := open(t)
	plan, _ := canaryJob(t, b)
	var armed []runner.Armed
	for range mostIdle() + 2 {
		armed = append(armed, prepare(t, b, plan))
	}
	for _, a := range armed {
		a.Discard()
	}
	for end := time.Now().Add(20 * time.Second); b.helpers.Idle() > mostIdle() && time.Now().Before(end); { // more are kept for a moment
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // those that were taken out end
	if n, idle := len(supervisors(t)), b.helpers.Idle(); n != mostIdle() || idle != n {
		t.Errorf("%d supervisors are left, %d of them idle, want %d", n, idle, mostIdle())
	}
	must(t, b.Close())
	if n := len(supervisors(t)); n != 0 {
		t.Errorf("%d supervisors outlive the backend", n)
	}
}

// One that died while it waited is not given to a run.
func TestADeadIdleSupervisorIsNotUsed(t *testing.T) {
	b := open(t)
	plan, _, _ := scriptJob(t, b, "#!/bin/sh\nexit 0\n")
	prepare(t, b, plan).Discard()
	pid := supervisors(t)[0]
	gone := watchDeath(t, pid)
	must(t, unix.Kill(pid, unix.SIGKILL))
	gone()
	if end := runPlan(t, b, plan); end.Outcome != record.OutcomeSucceeded {
		t.Errorf("ended as %+v", end)
	}
}

// A job that goes on trying when nobody answers any more gets errors and nothing
// else until it is killed.
func TestRefusedCallsFailWhenNobodyAnswers(t *testing.T) {
	b := open(t)
	plan, out := pythonJob(t, b, `
import ctypes, errno, os
libc, last = ctypes.CDLL(None, use_errno=True), None
while True:
    now = "done" if libc.unshare(0x10000000) == 0 else errno.errorcode[ctypes.get_errno()]
    if now != last: os.write(1, (now + "\n").encode())
    last = now
`, false)
	proc, err := prepare(t, b, plan).Release()
	must(t, err)
	for range 500 {
		if text, _ := keptText(out.dir, "out"); len(text) > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	must(t, unix.Kill(supervisors(t)[0], unix.SIGKILL))
	end := proc.Wait()
	text, err := keptText(out.dir, "out")
	must(t, err)
	if end.Outcome != record.OutcomeKilled || len(end.Reasons) != 1 || end.Reasons[0].Code != jobspec.CodeSbxProxyFailed {
		t.Errorf("ended as %s, %+v", end.Outcome, end.Reasons)
	}
	if said := string(text); said != "EPERM\n" && said != "EPERM\nENOSYS\n" {
		t.Errorf("the calls gave %q", said)
	}
}
