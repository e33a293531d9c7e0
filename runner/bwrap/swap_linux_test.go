package bwrap

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/permit"
	"github.com/sbxcron/sbxcron/runner/pin"
	"golang.org/x/sys/unix"
)

// fileOutputs keep streams where the test can read them.
type fileOutputs struct{ dir string }

// Create makes the file of a stream.
func (o fileOutputs) Create(stream string) (*os.File, error) {
	return os.Create(filepath.Join(o.dir, stream))
}

// Two files change names all the time while runs begin. Whatever the run meets,
// bytes that nobody approved never run: a swap before the mount is a refusal, one
// behind it is seen before the barrier, and from there on the name is answered
// with the bytes that were hashed.
func TestASwapAtAnyMomentRunsNoOtherBytes(t *testing.T) {
	b := open(t)
	_, canary := canaryJob(t, b)
	dir, a := filepath.Dir(canary), canaryAccount()
	for name, text := range map[string]string{"/job.sh": goodScript, "/evil.sh": "#!/bin/sh\necho evil\n"} {
		if err := errors.Join(os.WriteFile(dir+name, []byte(text), 0o755), os.Chown(dir+name, a.UID, a.GID)); err != nil {
			t.Fatal(err)
		}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(rand.IntN(2000)) * time.Microsecond):
				if err := unix.Renameat2(unix.AT_FDCWD, dir+"/job.sh", unix.AT_FDCWD, dir+"/evil.sh", unix.RENAME_EXCHANGE); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	counts := map[string]int{}
	for range 80 {
		counts[swapRun(t, b, dir)]++
	}
	close(stop)
	<-stopped
	t.Log(counts)
	for what := range counts {
		if what != "succeeded good" && !strings.HasPrefix(what, "refused") {
			t.Errorf("a run ended as %q: %v", what, counts)
		}
	}
	if counts["succeeded good"] == 0 || counts["refused by the plan"] == 0 || counts["refused before the barrier"] == 0 {
		t.Errorf("the swaps missed a window: %v", counts)
	}
}

const goodScript = "#!/bin/sh\necho good\n"

// swapRun runs the script once and says how it went.
func swapRun(t *testing.T, b *Backend, dir string) string {
	t.Helper()
	a := canaryAccount()
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	set, err := pin.Open(t.Context(), pin.Account{UID: a.UID, GID: a.GID, Drop: a.Drop}, []pin.Request{
		{Use: jobspec.UseBound, Role: jobspec.RoleExecutable, Path: dir + "/job.sh"}, {Use: jobspec.UseCwd, Path: dir},
		{Use: jobspec.UseBound, Role: jobspec.RoleInterpreter, Path: shell}}, pin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	sh := set.Observation(2)
	spec := &jobspec.Spec{Argv: []string{"./job.sh"}, Cwd: jobspec.Place{Path: dir},
		Bound: []jobspec.Bound{{Role: jobspec.RoleExecutable, Typed: "./job.sh", Real: dir + "/job.sh", Size: int64(len(goodScript)), SHA256: jobspec.DigestOf([]byte(goodScript))},
			{Role: jobspec.RoleInterpreter, Typed: "/bin/sh", Real: shell, Size: sh.Size, SHA256: sh.SHA256}},
		Limits: jobspec.Limits{TimeoutSeconds: 20, PIDs: 16, OpenFiles: 64, TmpBytes: 1 << 20, OutputBytes: 4096}}
	out := fileOutputs{t.TempDir()}
	plan, err := runner.PlanUnsigned(permit.New(), runner.Order{Job: "swap", Tier: jobspec.Workspace, Net: jobspec.NetNone, Spec: spec,
		Pins: set, Run: "r", Account: a, Outputs: out, Host: b.Host()})
	if err != nil {
		return "refused by the plan"
	}
	armed, err := b.Prepare(t.Context(), plan)
	if err != nil {
		return "refused before the barrier"
	}
	proc, err := armed.Release()
	if err != nil {
		return "refused at the barrier"
	}
	end := proc.Wait()
	text, err := keptText(out.dir, "out")
	if err != nil {
		t.Fatal(err)
	}
	what := string(end.Outcome)
	for _, r := range end.Reasons {
		what += " " + string(r.Code)
	}
	return strings.TrimSpace(what + " " + string(text))
}
