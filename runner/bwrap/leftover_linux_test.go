package bwrap

import (
	"bufio"
	"fmt"
	"io/fs"
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
	"github.com/sbxcron/sbxcron/runner/cgroup"
	"golang.org/x/sys/unix"
)

const serviceVar = "SBXCRON_TEST_SERVICE"

// begin releases a job and waits until its process sleeps.
func begin(t *testing.T, b *Backend, body string) (*run, runner.Process) {
	t.Helper()
	plan, _ := shellJob(t, b, body)
	armed, err := b.Prepare(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	proc, err := armed.Release()
	if err != nil {
		t.Fatal(err)
	}
	return armed.(*run), proc
}

// waitEnd fails the test when a run does not end.
func waitEnd(t *testing.T, proc runner.Process) record.End {
	t.Helper()
	done := make(chan record.End, 1)
	go func() { done <- proc.Wait() }()
	select {
	case end := <-done:
		return end
	case <-time.After(20 * time.Second):
		t.Fatal("the run does not end")
	}
	panic("not reached")
}

// initPID is the namespace's init, by the numbers of this process.
func initPID(t *testing.T, r *run) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", r.init))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if pid, ok := strings.CutPrefix(line, "Pid:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(pid))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no pid in %q", text)
	return 0
}

// What a service that is killed leaves is nothing that runs, and its successor
// takes the rest away.
func TestADeadServiceLeavesNothingAndItsSuccessorCleansUp(t *testing.T) {
	const word = "300.4711"
	if dir := os.Getenv(serviceVar); dir != "" {
		b, err := New(Options{RunDir: dir, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		begin(t, b, "trap '' TERM HUP; (setsid sleep "+word+" &); sleep "+word)
		fmt.Println("\nup")
		time.Sleep(time.Minute)
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), serviceVar+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "up" {
	}
	for limit := time.Now().Add(10 * time.Second); len(sleepers(t, word)) < 2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the job never ran")
		}
	}
	keepLeftovers(t, cgroup.Folder(dir))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for limit := time.Now().Add(10 * time.Second); len(sleepers(t, word)) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("left of a dead service: %v", sleepers(t, word))
		}
	}
	b, err := New(Options{RunDir: dir, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	h := b.cgroups.Held()
	if inGroup := h.Kill || h.Memory || h.PIDs; inGroup != slices.Contains(b.Reaped(), "r") {
		t.Errorf("reaped %q, held %+v", b.Reaped(), h)
	}
	if end := waitEnd(t, second(begin(t, b, "exit 0"))); end.Outcome != record.OutcomeSucceeded {
		t.Errorf("the successor's run ended as %+v", end)
	}
}

// keepLeftovers shares the lock of a service's groups, so that no other service that
// begins just now removes them for dead before their successor does.
func keepLeftovers(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() || e.Name() != folder {
			return nil // groups come and go
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		t.Cleanup(func() { f.Close() })
		return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func second(_ *run, p runner.Process) runner.Process { return p }

// sleepers lists processes with a word among their arguments.
func sleepers(t *testing.T, word string) []string {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range list {
		if b, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(b), "sleep\x00"+word) {
			found = append(found, name)
		}
	}
	return found
}

// Somebody else of the account can stop all of a run; it ends all the same.
func TestARunEndsThoughEverythingOfItIsStopped(t *testing.T) {
	b := open(t)
	r, proc := begin(t, b, "sleep 300")
	for _, pidfd := range []int{r.payload, r.init} {
		if err := unix.PidfdSendSignal(pidfd, unix.SIGSTOP, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.proc.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	proc.Cancel(jobspec.CodeCanceled) // TERM is not heard; KILL follows at once, the grace being 0
	if end := waitEnd(t, proc); end.Outcome != record.OutcomeKilled || len(end.Reasons) != 1 || end.Reasons[0].Code != jobspec.CodeCanceled {
		t.Errorf("ended as %+v", end)
	}
}

func TestAKilledInitIsNoSuccessAndLeavesNothing(t *testing.T) {
	b := open(t)
	r, proc := begin(t, b, "trap '' TERM; (setsid sleep 300.4712 &); sleep 300.4712")
	for limit := time.Now().Add(10 * time.Second); len(sleepers(t, "300.4712")) < 2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the job never ran")
		}
	}
	if err := unix.Kill(initPID(t, r), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	end := waitEnd(t, proc)
	if end.Outcome != record.OutcomeFailed || end.Exited && end.ExitCode == 0 {
		t.Errorf("ended as %+v", end)
	}
	if left := sleepers(t, "300.4712"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// 137 is what a shell says of a program that was killed, and also a number.
func TestAnExitStatusOf137IsNoSignal(t *testing.T) {
	b := open(t)
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	r, proc := begin(t, b, "exit 137")
	if err := unix.IoctlPidfdInfo(r.payload, &info); err != nil {
		proc.Kill(jobspec.CodeCanceled)
		proc.Wait()
		t.Skip("this kernel does not tell how a process ended (Linux 6.15)")
	}
	if end := waitEnd(t, proc); !end.Exited || end.ExitCode != 137 || end.Signal != "" || end.Outcome != record.OutcomeFailed {
		t.Errorf("ended as %+v", end)
	}
	if end := waitEnd(t, second(begin(t, b, "kill -9 $$"))); end.Exited || end.Signal != "SIGKILL" || end.Outcome != record.OutcomeFailed {
		t.Errorf("ended as %+v", end)
	}
}

// Kernels before 6.15 leave only bwrap's status, which is 128 and the signal.
func TestTheSignalsOfLimitsAreKnownOnOlderKernels(t *testing.T) {
	for _, c := range []struct {
		code  int
		exact bool
		want  jobspec.Code
	}{
		{128 + int(unix.SIGXFSZ), false, jobspec.CodeLimitFsize}, {128 + int(unix.SIGXCPU), false, jobspec.CodeLimitCPU},
		{128 + int(unix.SIGXFSZ), true, ""}, {128 + int(unix.SIGKILL), false, ""}, {int(unix.SIGXFSZ), false, ""}, {0, false, ""},
	} {
		r := &run{exact: c.exact}
		if got := r.overLimit(&record.End{Exited: true, ExitCode: c.code}); got != c.want {
			t.Errorf("status %d, exact %t: %q", c.code, c.exact, got)
		}
	}
}
