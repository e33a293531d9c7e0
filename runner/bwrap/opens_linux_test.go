package bwrap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/permit"
	"github.com/sbxcron/sbxcron/runner/pin"
)

// pythonJob plans a python text in a workspace: as a script whose name is
// answered for, or embedded, which needs no listener.
func pythonJob(t testing.TB, b *Backend, text string, supervised bool) (plan *runner.Plan, out fileOutputs) {
	t.Helper()
	python, err := filepath.EvalSymlinks("/usr/bin/python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	a := canaryAccount()
	err = errors.Join(err, os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.Chown(dir, a.UID, a.GID),
		os.WriteFile(dir+"/job.py", []byte("#!/usr/bin/python3 -S\n"+text), 0o755), os.WriteFile(dir+"/data", []byte("data"), 0o644), os.Symlink("data", dir+"/link"))
	if err != nil {
		t.Fatal(err)
	}
	role := jobspec.RoleExecutable // what runs an embedded script
	if supervised {
		role = jobspec.RoleInterpreter
	}
	set, err := pin.Open(t.Context(), pin.Account{UID: a.UID, GID: a.GID, Drop: a.Drop}, []pin.Request{
		{Use: jobspec.UseBound, Role: role, Path: python}, {Use: jobspec.UseCwd, Path: dir},
		{Use: jobspec.UseBound, Role: jobspec.RoleExecutable, Path: dir + "/job.py"}}, pin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	bind := func(role jobspec.Role, typed string, i int) jobspec.Bound {
		o := set.Observation(i)
		return jobspec.Bound{Role: role, Typed: typed, Real: o.Real, Size: o.Size, SHA256: o.SHA256}
	}
	spec := &jobspec.Spec{Cwd: jobspec.Place{Path: dir}, Bound: []jobspec.Bound{bind(role, "/usr/bin/python3", 0)},
		Script:  jobspec.Script{Interpreter: "/usr/bin/python3", Body: text},
		Denials: jobspec.DenialRules{Expected: []jobspec.ExpectedDenial{{Code: jobspec.CodeEscUserns, Target: "unshare user"}}},
		Limits:  jobspec.Limits{TimeoutSeconds: 120, PIDs: 64, OpenFiles: 64, TmpBytes: 1 << 20, OutputBytes: 1 << 16}}
	if supervised {
		spec.Script, spec.Argv = jobspec.Script{}, []string{"./job.py"}
		spec.Bound = append(spec.Bound, bind(jobspec.RoleExecutable, "./job.py", 2))
	}
	out = fileOutputs{t.TempDir()}
	plan, err = runner.PlanUnsigned(permit.New(), runner.Order{Job: "opens", Tier: jobspec.Workspace, Net: jobspec.NetNone, Spec: spec,
		Pins: set, Run: "r", Account: a, Outputs: out, Host: b.Host()})
	if err != nil {
		t.Fatal(err)
	}
	return plan, out
}

// pythonRun runs it and wants success.
func pythonRun(t testing.TB, b *Backend, text string, supervised bool) string {
	t.Helper()
	plan, out := pythonJob(t, b, text, supervised)
	armed, err := b.Prepare(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	proc, err := armed.Release()
	if err != nil {
		t.Fatal(err)
	}
	end := proc.Wait()
	text1, err := keptText(out.dir, "out")
	if t2, _ := keptText(out.dir, "err"); len(t2) > 0 {
		t.Logf("stderr: %s", t2)
	}
	text2, err2 := keptText(out.dir, "err")
	if end.Outcome != record.OutcomeSucceeded || err != nil || err2 != nil {
		t.Fatalf("ended as %+v: %s%s", end, text1, text2)
	}
	return string(text1)
}

const opensText = `
import os, time, ctypes
libc = ctypes.CDLL(None)
def measure(name, n, f):
    begun = time.perf_counter()
    for i in range(n): f()
    print(name, (time.perf_counter() - begun) / n * 1e6)
for name in ("data", "/usr/bin/env", "link", "job.py"):
    if os.path.exists(name): measure(name, %[1]d, lambda: os.close(os.open(name, os.O_RDONLY)))
measure("write", %[1]d, lambda: os.close(os.open("/tmp/f", os.O_WRONLY | os.O_CREAT)))
measure("unshare", %[1]d, lambda: libc.unshare(0x10000000))
measure("exec", %[1]d // 40, lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0))
`

// BenchmarkOpens tells what an open costs a job, in microseconds, by the name
// that it opens, with and without a listener.
func BenchmarkOpens(b *testing.B) {
	backend, err := New(Options{RunDir: b.TempDir(), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer backend.Close()
	for _, supervised := range []bool{false, true} {
		b.Run(fmt.Sprintf("supervised=%t", supervised), func(b *testing.B) {
			for b.Loop() {
				for line := range strings.Lines(pythonRun(b, backend, fmt.Sprintf(opensText, 20000), supervised)) {
					var name string
					var micros float64
					if _, err := fmt.Sscan(line, &name, &micros); err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(micros, "us/"+filepath.Base(name))
				}
			}
		})
	}
}

const stormText = `
import ctypes, errno, os, signal, threading
libc = ctypes.CDLL(None, use_errno=True)
storms, interrupted, wrong = [0], [0], []
def hit(*_): storms[0] += 1
signal.signal(signal.SIGCHLD, hit)
signal.signal(signal.SIGALRM, hit)
signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
with open("job.py") as f: whole = f.read()
def opens(name):
    for i in range(1500):
        fd = libc.open(name, os.O_RDONLY | os.O_CLOEXEC)
        if fd < 0:
            if ctypes.get_errno() == errno.EINTR: interrupted[0] += 1
            else: wrong.append(os.strerror(ctypes.get_errno()))
            continue
        if name == b"job.py" and os.pread(fd, 1 << 16, 0).decode() != whole: wrong.append("other bytes")
        os.close(fd)
def children():
    for i in range(60):
        code = os.spawnv(os.P_WAIT, "/bin/sh", ["sh", "-c", "read -r x <job.py && exec true <data"])
        if code != 0: wrong.append(f"child {code}")
all = [threading.Thread(target=opens, args=(n,)) for n in (b"job.py", b"data", b"job.py", b"link")] + [threading.Thread(target=children) for _ in range(2)]
for t in all: t.start()
for t in all:
    while t.is_alive(): t.join(0.01)
signal.setitimer(signal.ITIMER_REAL, 0)
print("storms", storms[0] > 100, "wrong", wrong, "interrupted", interrupted[0] * 100 // 6000, "%")
print(storms[0], interrupted[0])
`

// Many threads and children open at once while signals rain on them: everybody
// gets the right bytes. A call that nobody has seen yet can be interrupted by a
// signal with a handler that does not restart calls (seccomp_unotify(2)); that
// must stay rare.
func TestOpensFromThreadsAndChildrenUnderStormsOfSignals(t *testing.T) {
	said := pythonRun(t, open(t), stormText, true)
	if !strings.HasPrefix(said, "storms True wrong [] interrupted 0 %\n") {
		t.Error(said)
	}
	t.Log(said)
}

// BenchmarkSupervisor tells what a supervisor adds to the building of a sandbox.
func BenchmarkSupervisor(b *testing.B) {
	backend, err := New(Options{RunDir: b.TempDir(), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer backend.Close()
	for _, supervised := range []bool{false, true} {
		plan, _ := pythonJob(b, backend, "pass\n", supervised)
		b.Run(fmt.Sprintf("supervised=%t", supervised), func(b *testing.B) {
			for b.Loop() {
				armed, err := backend.Prepare(b.Context(), plan)
				if err != nil {
					b.Fatal(err)
				}
				armed.Discard()
			}
		})
	}
}

// What is answered counts against the job's own limit of open files.
func TestTheLimitOfOpenFilesHoldsForAnswers(t *testing.T) {
	said := pythonRun(t, open(t), `
import errno, os
held = []
try:
    while True: held.append(os.open("job.py", os.O_RDONLY | os.O_CLOEXEC))
except OSError as e: print(errno.errorcode[e.errno], len(held) + 3)
os.close(held.pop())
print(os.get_inheritable(os.open("job.py", os.O_RDONLY | os.O_CLOEXEC)))
`, true)
	if said != "EMFILE 64\nFalse\n" {
		t.Error(said)
	}
}
