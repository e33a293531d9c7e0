package landlock

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/permit"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/seccomp"
)

// folderOutputs keeps what a run says in a folder.
type folderOutputs struct{ dir string }

func (f folderOutputs) Create(stream string) (*os.File, error) {
	return os.Create(filepath.Join(f.dir, stream))
}

func (f folderOutputs) text() string {
	out, _ := os.ReadFile(filepath.Join(f.dir, "out"))
	errs, _ := os.ReadFile(filepath.Join(f.dir, "err"))
	return string(out) + string(errs)
}

// planned plans an embedded script; with a cwd in tier workspace. change edits the
// spec first.
func planned(t *testing.T, b *Backend, cwd, body string, change func(*jobspec.Spec, *[]pin.Request)) (*runner.Plan, folderOutputs, error) {
	t.Helper()
	real, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	a := runner.Account{UID: os.Geteuid(), GID: os.Getegid()}
	tier, requests := jobspec.Scratch, []pin.Request{{Use: jobspec.UseBound, Role: jobspec.RoleExecutable, Path: real}}
	if cwd != "" {
		tier, requests = jobspec.Workspace, append(requests, pin.Request{Use: jobspec.UseCwd, Path: cwd})
	}
	spec := &jobspec.Spec{Script: jobspec.Script{Interpreter: "/bin/sh", Body: body}, Cwd: jobspec.Place{Path: cwd},
		Weaker: []string{jobspec.WeakerBackendLandlock},
		Limits: jobspec.Limits{TimeoutSeconds: 20, PIDs: 64, OpenFiles: 64, TmpBytes: 1 << 20, OutputBytes: 1 << 16}}
	if change != nil {
		change(spec, &requests)
	}
	set, err := pin.Open(t.Context(), pin.Account{UID: a.UID, GID: a.GID}, requests, pin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	seen := set.Observation(0)
	spec.Bound = append([]jobspec.Bound{{Role: jobspec.RoleExecutable, Typed: "/bin/sh", Real: real, Size: seen.Size, SHA256: seen.SHA256}}, spec.Bound...)
	out := folderOutputs{t.TempDir()}
	plan, err := runner.PlanUnsigned(permit.New(), runner.Order{Job: "held", Tier: tier, Net: jobspec.NetNone, Spec: spec, Pins: set,
		Run: "r", Account: a, Outputs: out, Host: b.Host()})
	return plan, out, err
}

func held(t *testing.T, b *Backend, cwd, body string) (record.Facts, record.End, string) {
	t.Helper()
	plan, out, err := planned(t, b, cwd, body, nil)
	if err != nil {
		t.Fatal(err)
	}
	armed, err := b.Prepare(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	p, err := armed.Release()
	if err != nil {
		t.Fatal(err)
	}
	return armed.Facts(), p.Wait(), out.text()
}

func user(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("needs an ordinary user")
	}
}

func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	return path
}

// The job has the account of the file, the process and the shared memory.
func TestWhatTheAccountMayTheJobMayNot(t *testing.T) {
	user(t)
	b, secret := open(t), put(t, folder(t)+"/secret", "unchanged")
	before, err := os.Stat(secret)
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "300")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { other.Process.Kill(); other.Wait() }()
	pid := other.Process.Pid
	facts, end, text := held(t, b, "", fmt.Sprintf(`f=%s; p=%d
try() { "$@" >/dev/null 2>&1 && echo "DID: $*"; }
try cat $f; try sh -c "echo x > $f"; try sh -c "echo x >> $f"; try truncate -s 0 $f; try rm $f; try mv $f $f.x; try ln $f l; try ls $(dirname $f)
try chmod 777 $f; try touch -d 2001-01-01 $f; try chgrp $(id -g) $f; try perl -e 'exit !utime(1, 1, $ARGV[0])' $f
try kill $p; try kill -0 $p; try renice -n 5 $p; try prlimit --pid $p --nofile=1; try taskset -p 1 $p; try ionice -c 3 -p $p
try cat /proc/$p/cmdline; try cat /proc/$p/environ; try ls /proc/$p/fd; try ls /proc; try readlink /proc/$p/exe
try ipcmk -M 4096; try sh -c "echo x > /tmp/x"; try sh -c "echo x > /dev/shm/x"; try ls /tmp; try ls $HOME/../..; try cat $HOME/../canary
try sh -c "echo x > $HOME/../shim"; try rm $HOME/../canary; try unshare -U true
echo x > $HOME/mine && echo x > $TMPDIR/mine && echo x > mine && touch mine && echo fine
`, secret, pid))
	if end.Outcome == record.OutcomeSucceeded && text != "fine\n" || strings.Contains(text, "DID") || !strings.Contains(text, "fine") {
		t.Errorf("%+v, output %q", end, text)
	}
	after, err := os.Stat(secret)
	if err != nil || !after.ModTime().Equal(before.ModTime()) || after.Mode() != before.Mode() || after.Size() != before.Size() {
		t.Errorf("the file changed: %v, %v", after, err)
	}
	for _, layer := range []string{"uid", "capabilities", "seccomp", "no_new_privs", "scope", "closed_proc", "fds", "cwd", "executable", "rlimits", "no_tty"} {
		if !slices.Contains(facts.Layers, layer) {
			t.Errorf("layer %s is not among %q", layer, facts.Layers)
		}
	}
	if left, _ := os.ReadDir(b.folder); len(left) != 0 {
		t.Errorf("%d folders of runs are left", len(left))
	}
}

func TestProtectedNamesAreNotGranted(t *testing.T) {
	user(t)
	b, cwd := open(t), folder(t)
	put(t, cwd+"/.git/config", "[core]\n")
	put(t, cwd+"/src/a", "a")
	put(t, cwd+"/file", "old")
	_, end, text := held(t, b, cwd, `cat .git/config
echo x > .git/hooks && echo DID; echo x >> .git/config && echo DID; mv .git g && echo DID; rm -r .git && echo DID; echo x > .envrc && echo DID
echo new > file; echo b > src/b; mv src/b src/c; cat file src/c`)
	if strings.Contains(text, "DID") || !strings.HasPrefix(text, "[core]\nnew\nb\n") {
		t.Errorf("%+v, output %q", end, text)
	}
	if got, err := os.ReadFile(cwd + "/.git/config"); err != nil || string(got) != "[core]\n" {
		t.Errorf("config is %q, %v", got, err)
	}
	plain := folder(t)
	_, end, _ = held(t, b, plain, "echo new > made; mkdir .git; exit 0")
	if end.Outcome != record.OutcomeDenied || len(end.Denials) != 1 || end.Denials[0].Code != jobspec.CodeFsProtectedCreated {
		t.Errorf("a protected name was made: %+v", end)
	}
}

func TestPlansThatNeedMoreAreRefusedByName(t *testing.T) {
	user(t)
	b, cwd := open(t), folder(t)
	put(t, cwd+"/part/f", "f")
	for name, c := range map[string]struct {
		change func(*jobspec.Spec, *[]pin.Request)
		target string
	}{
		"deny": {func(s *jobspec.Spec, r *[]pin.Request) {
			s.Deny = []string{cwd + "/part"}
			*r = append(*r, pin.Request{Use: jobspec.UseDeny, Path: cwd + "/part"})
		}, "mounts"},
		"read below write": {func(s *jobspec.Spec, r *[]pin.Request) {
			s.Read = []string{cwd + "/part"}
			*r = append(*r, pin.Request{Use: jobspec.UseRead, Path: cwd + "/part"})
		}, "mounts"},
		"growth":     {func(s *jobspec.Spec, _ *[]pin.Request) { s.Limits.WorkspaceGrowthBytes = 1 << 20 }, "growth"},
		"capability": {func(s *jobspec.Spec, _ *[]pin.Request) { s.Backend.Require = []string{"userns"} }, "userns"},
		"memory":     {func(s *jobspec.Spec, _ *[]pin.Request) { s.Limits.MemoryBytes = 99 << 20 }, "limits.memory"},
	} {
		plan, _, err := planned(t, b, cwd, "echo ran", c.change)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		armed, err := b.Prepare(t.Context(), plan)
		var no *runner.Refusal
		if armed != nil || !errors.As(err, &no) || no.Reason != jobspec.CodeSbxFeatureMissing || no.Target != c.target {
			t.Errorf("%s: %v", name, err)
		}
	}
	plan, _, err := planned(t, b, cwd, "echo ran", func(s *jobspec.Spec, _ *[]pin.Request) { s.Weaker = nil })
	if err != nil {
		t.Fatal(err)
	}
	if armed, err := b.Prepare(t.Context(), plan); armed != nil || err == nil || !strings.Contains(err.Error(), string(jobspec.CodeWeakerForbidden)) {
		t.Errorf("a plan that accepts nothing: %v", err)
	}
}

// Nothing here holds a job on an older kernel: no table is made for it.
func TestAnOlderLandlockHoldsNoJobAlone(t *testing.T) {
	user(t)
	plan, _, err := planned(t, open(t), "", "true", nil)
	if err != nil {
		t.Fatal(err)
	}
	l := runner.Local{Files: 2, Canary: "/c", Beside: "/d", Peer: 2}
	for abi := range runner.LandlockAlone {
		if _, err := plan.StepsAlone(runner.Machine{Arch: seccomp.AMD64, LandlockABI: abi}, l); err == nil {
			t.Errorf("ABI %d", abi)
		}
	}
}

// A service that is killed leaves a keeper that ends the run.
func TestARunEndsWithItsService(t *testing.T) {
	user(t)
	const mark = "300.0417"
	if os.Getenv("SBXCRON_TEST_SERVICE") != "" {
		b, err := New(Options{RunDir: os.Getenv("SBXCRON_TEST_SERVICE"), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		plan, _, err := planned(t, b, "", "setsid sleep "+mark+" & sleep "+mark+"9", nil)
		if err != nil {
			t.Fatal(err)
		}
		armed, err := b.Prepare(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := armed.Release(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestARunEndsWithItsService$")
	cmd.Env = append(os.Environ(), "SBXCRON_TEST_SERVICE="+t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "start", func() bool { return marked(mark) >= 2 })
	cmd.Process.Kill()
	cmd.Wait()
	waitFor(t, "end", func() bool { return marked(mark) == 0 })
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("no %s", what)
		}
	}
}

// marked counts the processes that have a word among their arguments.
func marked(word string) int {
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	n := 0
	for _, name := range list {
		if b, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(b), "sleep\x00"+word) {
			n++
		}
	}
	return n
}
