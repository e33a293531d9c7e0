package bwrap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/permit"
	"github.com/sbxcron/sbxcron/runner/pin"
)

// filled makes a folder of the job's account with files of this size, 500 to a
// folder. They are sparse: nobody is to read them.
func filled(t testing.TB, files int, size int64) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	a := canaryAccount()
	if err = errors.Join(err, os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.Chown(dir, a.UID, a.GID)); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		sub := fmt.Sprintf("%s/d%d", dir, i/500)
		if i%500 == 0 {
			err = errors.Join(os.Mkdir(sub, 0o755), os.Chown(sub, a.UID, a.GID))
		}
		f, ferr := os.Create(fmt.Sprintf("%s/f%d", sub, i))
		if err = errors.Join(err, ferr); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(size), f.Chown(a.UID, a.GID), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// trueIn plans /usr/bin/true in a workspace.
func trueIn(t testing.TB, b *Backend, dir string) *runner.Plan {
	t.Helper()
	a := canaryAccount()
	program, err := filepath.EvalSymlinks("/usr/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	set, err := pin.Open(t.Context(), pin.Account{UID: a.UID, GID: a.GID, Drop: a.Drop}, []pin.Request{
		{Use: jobspec.UseBound, Role: jobspec.RoleExecutable, Path: program}, {Use: jobspec.UseCwd, Path: dir}}, pin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	o := set.Observation(0)
	plan, err := runner.PlanUnsigned(permit.New(), runner.Order{Job: "true", Tier: jobspec.Workspace, Net: jobspec.NetNone, Pins: set, Run: "r", Account: a,
		Outputs: memoryOutputs{}, Host: b.Host(), Spec: &jobspec.Spec{Cwd: jobspec.Place{Path: dir}, Argv: []string{program},
			Bound:  []jobspec.Bound{{Role: jobspec.RoleExecutable, Typed: program, Real: o.Real, Size: o.Size, SHA256: o.SHA256}},
			Limits: jobspec.Limits{TimeoutSeconds: 60, TmpBytes: 1 << 20, OutputBytes: 1 << 16}}})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// BenchmarkWorkspace tells what the size of a workspace costs a start, and what
// the look at its files costs the end of a run, in milliseconds.
func BenchmarkWorkspace(b *testing.B) {
	backend, err := New(Options{RunDir: b.TempDir(), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer backend.Close()
	for _, w := range []struct {
		files int
		size  int64
	}{{1, 0}, {2000, 512 << 10}, {200_000, 0}} {
		b.Run(fmt.Sprintf("files=%d/MB=%d", w.files, int64(w.files)*w.size>>20), func(b *testing.B) {
			plan := trueIn(b, backend, filled(b, w.files, w.size))
			var start, end time.Duration
			for b.Loop() {
				begun := time.Now()
				armed, err := backend.Prepare(b.Context(), plan)
				if err != nil {
					b.Fatal(err)
				}
				start += time.Since(begun)
				proc, err := armed.Release()
				if err != nil {
					b.Fatal(err)
				}
				released := time.Now()
				if e := proc.Wait(); e.Outcome != record.OutcomeSucceeded {
					b.Fatalf("%+v", e)
				}
				end += time.Since(released)
			}
			n := float64(b.N) * float64(time.Millisecond)
			b.ReportMetric(float64(start)/n, "ms/start")
			b.ReportMetric(float64(end)/n, "ms/end")
		})
	}
}
