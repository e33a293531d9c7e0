package runnertest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/supervise"
	"github.com/sbxcron/sbxcron/runner/witness"
)

func TestMain(m *testing.M) {
	pin.ChildMain()
	supervise.ChildMain()
	witness.ChildMain()
	os.Exit(m.Run())
}

// weak starts the payload as a plain process of the job's account and calls
// that a sandbox. It exists to show that the suite bites.
type weak struct{}

func (weak) Name() string                          { return "weak" }
func (weak) Probe(context.Context) jobspec.Sandbox { return jobspec.Sandbox{Usable: true} }

func (weak) Prepare(_ context.Context, p *runner.Plan) (runner.Armed, error) {
	b := p.Blueprint()
	w := &weakRun{p: b}
	w.cmd = &exec.Cmd{Path: b.Exec.Path, Args: b.Argv, Env: b.Env, Dir: b.Cwd.Path}
	for _, m := range b.Mounts {
		if m.Dst == runner.ScriptPath { // it has no mounts: hand the text over
			w.cmd.Args = append([]string{b.Argv[0], "-c", string(m.Bytes), b.Argv[0]}, b.Argv[2:]...)
		}
	}
	if b.Cwd.Pin < 0 {
		w.cmd.Dir = "/tmp"
	}
	if b.Account.Drop {
		w.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(b.Account.UID), Gid: uint32(b.Account.GID)}}
	}
	return w, nil
}

type weakRun struct {
	p   *runner.Blueprint
	cmd *exec.Cmd
}

func (w *weakRun) Facts() record.Facts { return record.Facts{} }
func (w *weakRun) Discard()            {}

func (w *weakRun) Release() (runner.Process, error) {
	out, err := w.p.Outputs.Create("out")
	if err != nil {
		return nil, err
	}
	defer out.Close()
	errs, err := w.p.Outputs.Create("err")
	if err != nil {
		return nil, err
	}
	defer errs.Close()
	w.cmd.Stdout, w.cmd.Stderr = out, errs
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	time.AfterFunc(time.Duration(w.p.Limits.TimeoutSeconds)*time.Second, func() { w.cmd.Process.Kill() })
	return w, nil
}

func (w *weakRun) Cancel(jobspec.Code) { w.cmd.Process.Signal(syscall.SIGTERM) }
func (w *weakRun) Kill(jobspec.Code)   { w.cmd.Process.Kill() }

func (w *weakRun) Wait() record.End {
	w.cmd.Wait()
	end := record.End{Exited: w.cmd.ProcessState.Exited(), ExitCode: w.cmd.ProcessState.ExitCode(), Outcome: record.OutcomeFailed}
	if w.cmd.ProcessState.Success() {
		end.Outcome = record.OutcomeSucceeded
	}
	return end
}

// The suite measures something: a backend without a sandbox fails each case
// that is marked, and a run of it is stopped by no refusal.
func TestABackendWithoutASandboxFailsTheSuite(t *testing.T) {
	shop, err := newShop(t)
	if err != nil {
		t.Fatal(err)
	}
	marked := 0
	for _, c := range slices.Concat(Cases(), NetCases()) {
		if !c.Weak {
			continue
		}
		marked++
		t.Run(c.Name, func(t *testing.T) {
			lab, err := shop.lab(t, weak{})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Check(lab); err == nil {
				t.Error("an unsandboxed run passes this case")
			}
			endMarked(t, lab)
		})
	}
	if marked < 20 {
		t.Errorf("only %d cases are marked", marked)
	}
}

// endMarked ends what an unsandboxed case left behind, known by its argument.
func endMarked(t *testing.T, l *Lab) {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		b, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(b, []byte(l.mark(0)[:len(l.mark(0))-1])) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Log(err)
		}
	}
}

// A case that was renamed would hold for no backend that lacks what it is about.
func TestCasesThatNeedACapabilityAreThere(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Cases() {
		names[c.Name] = true
	}
	for name := range needs() {
		if !names[name] {
			t.Errorf("there is no case %q", name)
		}
	}
}
