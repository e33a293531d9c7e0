package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func openTree(t *testing.T) *Tree {
	t.Helper()
	tree := Open(Folder(t.TempDir()))
	t.Cleanup(tree.Close)
	return tree
}

// held opens a tree and skips where the machine holds nothing of what is needed.
func held(t *testing.T, need func(Held) bool) *Tree {
	t.Helper()
	tree := openTree(t)
	if !need(tree.Held()) {
		t.Skipf("needs root or a delegated cgroup: %s", tree.Why())
	}
	return tree
}

// in runs a shell script in a leaf until it ends, and returns its output.
func in(t *testing.T, l *Leaf, script string) (string, error) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var proc *os.Process
	err = onThread(func() error {
		attr := &syscall.SysProcAttr{}
		return l.Start(attr, func() error {
			var err error
			proc, err = os.StartProcess("/bin/sh", []string{"sh", "-c", script}, &os.ProcAttr{Sys: attr, Files: []*os.File{nil, out, out}, Env: os.Environ()})
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	state, err := proc.Wait()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	if !state.Success() {
		return string(text), errors.New(state.String())
	}
	return string(text), nil
}

func leaf(t *testing.T, tree *Tree, name string, w Want) *Leaf {
	t.Helper()
	l, err := tree.Leaf(name, w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(l.Kill(), l.Remove()); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestAProcessIsInItsLeafFromTheStartAndTheServiceIsNot(t *testing.T) {
	tree := held(t, func(h Held) bool { return h.Kill || h.Memory })
	l := leaf(t, tree, "r-1", Want{MemoryBytes: 64 << 20, PIDs: 32, CPUPercent: 100})
	text, err := in(t, l, "cat /proc/self/cgroup")
	if err != nil {
		t.Fatal(text, err)
	}
	if n := strings.Count(text, "/r-1\n"); n != len(tree.places) {
		t.Errorf("in %d of %d hierarchies: %s", n, len(tree.places), text)
	}
	list, err := filepath.Glob("/proc/self/task/*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), "r-1") {
			t.Errorf("a thread of the service stayed: %s", b)
		}
	}
}

func TestMemoryIsHeldForAllProcessesTogether(t *testing.T) {
	tree := held(t, func(h Held) bool { return h.Memory })
	l := leaf(t, tree, "r-1", Want{MemoryBytes: 32 << 20})
	// Ten processes of 8 MB each.
	text, err := in(t, l, `for i in 1 2 3 4 5 6 7 8 9 10; do (x=$(head -c 8000000 /dev/zero | tr '\0' x); sleep 0.5) & done; wait`)
	if e := l.Events(); e.OOMKills == 0 {
		t.Errorf("nothing was killed: %+v, %v, %s", e, err, text)
	}
}

func TestForksBeyondTheBoundAreRefusedAndCounted(t *testing.T) {
	tree := held(t, func(h Held) bool { return h.PIDs })
	l := leaf(t, tree, "r-1", Want{PIDs: 8})
	text, err := in(t, l, "i=0; while [ $i -lt 20 ]; do sleep 0.3 & i=$((i+1)); done; wait")
	if e := l.Events(); e.PIDsMax == 0 || err == nil && !strings.Contains(text, "fork") {
		t.Errorf("%+v, %v, %s", e, err, text)
	}
}

func TestCPUTimeIsHeldFromThrottleOn(t *testing.T) {
	tree := held(t, func(h Held) bool { return h.CPU })
	for name, throttled := range map[string]bool{"r-1": false, "r-2": true} {
		l := leaf(t, tree, name, Want{CPUPercent: 10})
		if throttled {
			if err := l.Throttle(); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := in(t, l, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"); err != nil {
			t.Fatal(text, err)
		}
		if e := l.Events(); e.Throttled > 0 != throttled { // how long depends on who else wants the processor
			t.Errorf("%s waited for its share: %+v, want %t", name, e, throttled)
		}
	}
}

func TestKillEndsWhatRanAwayAndReapFindsIt(t *testing.T) {
	tree := held(t, func(h Held) bool { return h.Kill || h.PIDs })
	l, err := tree.Leaf("r-left", Want{})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := in(t, l, "trap '' TERM HUP; for i in 1 2 3; do setsid sleep 300 >/dev/null 2>&1 & done"); err != nil {
		t.Fatal(text, err)
	}
	if n := len(l.processes()); n == 0 {
		t.Fatal("nothing was left to kill")
	}
	again := Open(filepath.Base(tree.places[0].dir)) // the next service of the same RUN
	names, err := again.Reap()
	if err != nil || !slices.Equal(names, []string{"r-left"}) {
		t.Errorf("reaped %q, %v", names, err)
	}
	for _, dir := range l.dirs {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
	l.Remove()
}

func TestKillWithoutTheKernelsHelpKillsAll(t *testing.T) {
	tree := held(t, func(h Held) bool { return h.Kill || h.PIDs })
	l := leaf(t, tree, "r-1", Want{})
	if text, err := in(t, l, "for i in 1 2 3; do setsid sleep 300 >/dev/null 2>&1 & done"); err != nil {
		t.Fatal(text, err)
	}
	if err := l.killEach(); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(5 * time.Second); len(l.processes()) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("left: %v", l.processes())
		}
	}
}

func TestFoldersOfDeadServicesAreSweptAndNoOthers(t *testing.T) {
	dead := held(t, func(h Held) bool { return h.Kill || h.Memory })
	living := held(t, func(h Held) bool { return h.Kill || h.Memory })
	if _, err := dead.Leaf("r-1", Want{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range dead.places {
		p.lock.Close() // as the kernel does when a process ends
	}
	openTree(t)
	for i, p := range dead.places {
		if exists(p.dir) || !exists(living.places[i].dir) {
			t.Errorf("%s is there: %t, %s: %t", p.dir, exists(p.dir), living.places[i].dir, exists(living.places[i].dir))
		}
	}
	// One whose folder was taken all the same makes it anew.
	l := leaf(t, dead, "r-2", Want{MemoryBytes: 64 << 20, PIDs: 8, CPUPercent: 100})
	if text, err := in(t, l, "cat /proc/self/cgroup"); err != nil || strings.Count(text, "/r-2\n") != len(dead.places) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestNamesThatLeadElsewhereMakeNoLeaf(t *testing.T) {
	tree := openTree(t)
	for _, name := range []string{"", ".", "..", "../x", "a/b", ".hidden", "a\nb"} {
		if _, err := tree.Leaf(name, Want{}); err == nil {
			t.Errorf("a leaf %q was made", name)
		}
	}
}

// The service of root keeps four capabilities; cgroups must work with these.
func TestItWorksWithTheCapabilitiesOfTheService(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give capabilities up")
	}
	if os.Getenv("SBXCRON_CGROUP_SHED") != "" {
		t.Skip("this is the child")
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip("setpriv is not installed")
	}
	Claim()
	want := openTree(t).Held()
	cmd := exec.Command(setpriv, "--bounding-set", "-all,+setuid,+setgid,+setpcap,+kill", "--inh-caps", "-all", os.Args[0], "-test.v",
		"-test.run", "TestAProcessIsIn|TestMemory|TestForks|TestKill")
	cmd.Env = append(os.Environ(), "SBXCRON_CGROUP_SHED=1")
	out, err := cmd.CombinedOutput()
	if err != nil || want.Memory && strings.Contains(string(out), "SKIP") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestAMachineWithoutCgroupsHoldsNothingAndSaysWhy(t *testing.T) {
	tree := &Tree{}
	l, err := tree.Leaf("r-1", Want{MemoryBytes: 1, PIDs: 1, CPUPercent: 1})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := in(t, l, "true"); err != nil {
		t.Error(text, err)
	}
	if err := errors.Join(l.Kill(), l.Remove()); err != nil || l.Events() != (Events{}) {
		t.Error(err, l.Events())
	}
	if got := openTree(t); got.Held() != (Held{Memory: true, PIDs: true, CPU: true, Kill: got.Held().Kill}) && got.Why() == "" {
		t.Errorf("%+v is not all, and nobody says why", got.Held())
	}
}

func TestMountsAreReadAsTheKernelWritesThem(t *testing.T) {
	got := parseMounts(`31 23 0:26 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
32 23 0:27 /docker/x /sys/fs/cgroup/cpu\040acct rw - cgroup cgroup rw,cpu,cpuacct
33 23 0:28 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw,nsdelegate
34 23 0:29 / /proc rw - proc proc rw
broken line
`)
	if len(got) != 3 || !got[0].has("memory") || got[1].point != "/sys/fs/cgroup/cpu acct" || !got[1].has("cpu") || !got[2].v2 {
		t.Fatalf("%+v", got)
	}
	for path, want := range map[string]string{"/docker/x": "/sys/fs/cgroup/cpu acct", "/docker/x/y": "/sys/fs/cgroup/cpu acct/y", "/docker": "", "/": "", "": "", "/docker/xy": ""} {
		if f := got[1].folder(path); f != want {
			t.Errorf("%q lies in %q, want %q", path, f, want)
		}
	}
	own := parseOwn("4:memory:/a:b\n1:cpu,cpuacct:/\n0::/user.slice/x\n")
	if own["memory"] != "/a:b" || own["cpu"] != "/" || own[""] != "/user.slice/x" {
		t.Errorf("%q", own)
	}
}

// The parts are medians: what a run waits for is one of many, and the machine
// does other things meanwhile.
func BenchmarkLeaf(b *testing.B) {
	tree := Open(Folder(b.TempDir()))
	defer tree.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	parts := []string{"make", "enter+leave", "throttle", "events", "remove"}
	took := make([][]time.Duration, len(parts))
	for b.Loop() {
		var l *Leaf
		for i, do := range []func() error{
			func() (err error) {
				l, err = tree.Leaf("bench", Want{MemoryBytes: 1 << 30, PIDs: 256, CPUPercent: 100})
				return err
			},
			func() error { return l.Start(&syscall.SysProcAttr{}, func() error { return nil }) },
			func() error { return l.Throttle() },
			func() error { l.Events(); return nil },
			func() error { return l.Remove() },
		} {
			begin := time.Now()
			if err := do(); err != nil {
				b.Fatal(err)
			}
			took[i] = append(took[i], time.Since(begin))
		}
	}
	for i, name := range parts {
		slices.Sort(took[i])
		b.ReportMetric(float64(took[i][len(took[i])/2].Nanoseconds())/1000, name+"-us")
	}
}

// Giving pids or cpu to the groups below one that holds processes makes it the
// root of a threaded part (cgroups(7)), and then no process can be put below it.
func TestAGroupThatHoldsOthersGivesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		procs string
		gives bool
	}{
		"with others": {fmt.Sprintf("1\n%d\n", os.Getpid()), false}, "somebody else's": {"1\n", false}, "nobody": {"", true},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{"cgroup.controllers": "cpuset cpu io memory pids", "cgroup.type": "domain", "cgroup.procs": c.procs, "cgroup.subtree_control": ""} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.Mkdir(filepath.Join(dir, serviceGroup), 0o755), os.WriteFile(filepath.Join(dir, serviceGroup, "cgroup.procs"), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		tree := &Tree{}
		tree.enable(dir)
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		if err != nil || (len(text) > 0) != c.gives {
			t.Errorf("%s: was told to give %q, %v, %q", name, text, err, tree.why)
		}
	}
}
