package pin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec"
)

const canary = "canary-7d1f9e: bytes of somebody else"

// secrets lays out files that the job's account must not reach, and a symbolic
// link to each. All hold the canary, but /etc/shadow.
func secrets(t *testing.T) []string {
	t.Helper()
	dir := folder(t)
	private := put(t, dir+"/root-0600", canary, 0o600)
	below := put(t, dir+"/theirs/public", canary, 0o644)
	owner(t, dir+"/theirs", otherUID)
	mode(t, dir+"/theirs", 0o700)
	theirs := put(t, dir+"/their-file", canary, 0o600)
	owner(t, theirs, otherUID)
	var all []string
	for i, path := range []string{private, below, theirs, "/etc/shadow"} {
		all = append(all, path, link(t, path, fmt.Sprintf("%s/link-%d", dir, i)))
	}
	return all
}

func TestWhatTheAccountCannotReachIsUnreachableAndNoByteOfItIsHeld(t *testing.T) {
	asRoot(t)
	for _, path := range secrets(t) {
		for _, r := range everyUse(path) {
			s := open(t, dropped(), Options{}, r)
			seen := s.Observation(0)
			want := jobspec.CodePathUnreachable
			if r.Use == jobspec.UseCwd && seen.Problem == jobspec.CodeDriftCwd {
				want = seen.Problem // its folder can be entered, and it is a file
			}
			if seen.Problem != want || s.File(0) != nil || !seen.SHA256.IsZero() || seen.Size != 0 {
				t.Errorf("%s %s %q: %+v", r.Use, r.Role, path, seen)
			}
			if strings.Contains(fmt.Sprintf("%+v", seen), "canary-") {
				t.Errorf("%s %q: the observation repeats the file", r.Use, path)
			}
		}
	}
	noMemfdHolds(t, canary)
}

// noMemfdHolds looks through every memfd of this process.
func noMemfdHolds(t *testing.T, text string) {
	t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		to, _ := os.Readlink(fd)
		if !strings.HasPrefix(to, "/memfd:") {
			continue
		}
		raw, err := os.ReadFile(fd)
		if err != nil || bytes.Contains(raw, []byte(text)) {
			t.Errorf("%s: holds it, or cannot be read: %v", to, err)
		}
	}
}

func TestFolderOfAnotherUserIsNoCwd(t *testing.T) {
	asRoot(t)
	dir := folder(t)
	put(t, dir+"/theirs/in/f", "x", 0o644)
	owner(t, dir+"/theirs", otherUID)
	mode(t, dir+"/theirs", 0o700)
	for _, path := range []string{dir + "/theirs", dir + "/theirs/in", link(t, dir+"/theirs", dir+"/l")} {
		for _, use := range []jobspec.Use{jobspec.UseCwd, jobspec.UseRead, jobspec.UseWrite} {
			s := open(t, dropped(), Options{}, Request{Use: use, Path: path})
			if p := s.Observation(0).Problem; p != jobspec.CodePathUnreachable || s.File(0) != nil {
				t.Errorf("%s %q: problem %q", use, path, p)
			}
		}
	}
}

func TestAccountReachesItsOwnFilesThatOthersCannot(t *testing.T) {
	asRoot(t)
	dir := folder(t)
	path := put(t, dir+"/mine/job.sh", "#!/bin/sh\n", 0o700)
	for _, p := range []string{dir + "/mine", path} {
		owner(t, p, jobUID)
	}
	mode(t, dir+"/mine", 0o700)
	s := open(t, dropped(), Options{}, script(path), Request{Use: jobspec.UseCwd, Path: dir + "/mine"})
	for i, seen := range s.Observations() {
		if seen.Problem != "" || seen.UID != jobUID || seen.Mode != 0o700 {
			t.Fatalf("%d: %+v", i, seen)
		}
		at, err := located(seen.Real)
		if err != nil {
			t.Fatal(err)
		}
		if at.Self != seen.Places.Self || at.Device != seen.Places.Device || len(at.Ancestors) != len(seen.Places.Ancestors) {
			t.Errorf("%d: place %+v, want %+v", i, seen.Places, at)
		}
	}
	if got := content(t, s, 0); string(got) != "#!/bin/sh\n" || !s.Sealed(0) {
		t.Errorf("content %q, sealed %v", got, s.Sealed(0))
	}
}

func TestChildHasNothingButTheAccountsIDs(t *testing.T) {
	asRoot(t)
	stray, err := unix.Open("/etc/shadow", unix.O_RDONLY, 0) // not close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(stray)
	s, err := startSession(soon(t), dropped())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	p, err := s.open(soon(t), Request{Use: jobspec.UseRead, Path: "/usr"}, room{})
	if err != nil || p.Why != whyNone {
		t.Fatal(err, p.trouble)
	}
	p.close()
	// The child closes what it sent before it hears the next question.
	if _, _, err := s.find(soon(t), search{Name: "/usr"}); err != nil {
		t.Fatal(err)
	}
	proc := fmt.Sprintf("/proc/%d/", s.cmd.Process.Pid)
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		t.Fatal(err)
	}
	ids := fmt.Sprintf("\t%d\t%d\t%d\t%d\n", jobUID, jobUID, jobUID, jobUID)
	for _, want := range []string{
		"Uid:" + ids, "Gid:" + ids, "Groups:\t \n", "NoNewPrivs:\t1\n",
		"CapPrm:\t0000000000000000\n", "CapEff:\t0000000000000000\n",
		"CapBnd:\t0000000000000000\n", "CapAmb:\t0000000000000000\n",
	} {
		if !strings.Contains(string(status), want) {
			t.Errorf("status lacks %q:\n%s", want, status)
		}
	}
	if env, err := os.ReadFile(proc + "environ"); err != nil || len(env) != 0 {
		t.Errorf("environment %q, %v", env, err)
	}
	fds, err := filepath.Glob(proc + "fd/*")
	if err != nil || len(fds) == 0 {
		t.Fatal(fds, err)
	}
	for _, fd := range fds {
		to, _ := os.Readlink(fd)
		// The runtime of Go keeps its epoll descriptors and the CPU quota's files.
		ours := strings.HasPrefix(to, "anon_inode:") || strings.HasPrefix(to, "/sys/fs/cgroup/")
		if to != "/dev/null" && !strings.HasPrefix(to, "socket:") && !ours {
			t.Errorf("the child holds %s", to)
		}
	}
}

// closedName is argv[0] of a test binary that lies below a folder of mode 0700.
const closedName = "pin-test-closed"

// closedChild opens as the account of a job and says what it got.
func closedChild() {
	if os.Args[0] != closedName {
		return
	}
	s, err := Open(context.Background(), dropped(), []Request{{Use: jobspec.UseRead, Path: "/usr"}}, Options{})
	if err != nil || s.Observation(0).Problem != "" {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func TestChildStartsFromAFolderThatTheAccountCannotEnter(t *testing.T) {
	asRoot(t)
	raw, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []os.FileMode{0o755, 0o700} {
		exe := put(t, folder(t)+"/closed/bin", string(raw), m)
		mode(t, filepath.Dir(exe), 0o700)
		cmd := exec.Command(exe)
		cmd.Args = []string{closedName}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("mode %o: %v: %s", m, err, out)
		}
	}
}

func TestFirstThreadKeepsItsRights(t *testing.T) {
	asRoot(t)
	before, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		open(t, dropped(), Options{}, Request{Use: jobspec.UseRead, Path: "/usr"})
	}
	after, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"CapBnd:", "NoNewPrivs:"} {
		if a, b := line(before, field), line(after, field); a != b {
			t.Errorf("%s became %s", a, b)
		}
	}
}

func line(status []byte, field string) string {
	_, rest, _ := strings.Cut(string(status), field)
	l, _, _ := strings.Cut(rest, "\n")
	return field + l
}

func TestAccountsThatMayNotOpenAreRefused(t *testing.T) {
	const self = 1000
	for _, a := range []Account{
		{}, {UID: self + 1}, {UID: -1}, {UID: 1<<32 - 1},
		{Drop: true}, {UID: 0, GID: 5, Drop: true}, {UID: 5, GID: 0, Drop: true}, {UID: -1, GID: 5, Drop: true},
		{UID: 1<<32 - 1, GID: 5, Drop: true}, {UID: 5, GID: 1<<32 - 1, Drop: true}, {UID: 1 << 32, GID: 5, Drop: true},
	} {
		if a.check(self) == nil {
			t.Errorf("%+v passes", a)
		}
	}
	for _, a := range []Account{{UID: self}, {UID: self, GID: 7}, {UID: 5, GID: 5, Drop: true}} {
		if err := a.check(self); err != nil {
			t.Errorf("%+v: %v", a, err)
		}
	}
	if (Account{UID: 0}).check(0) == nil {
		t.Error("root opens with its own rights")
	}
}

func TestZeroAccountOpensNothing(t *testing.T) {
	if s, err := Open(soon(t), Account{}, []Request{{Use: jobspec.UseRead, Path: "/usr"}}, Options{}); err == nil || s != nil {
		t.Error("opened")
	}
	if real, err := Resolve(soon(t), Account{}, "/usr/bin/env", "", nil); err == nil || real != "" {
		t.Errorf("resolved to %q", real)
	}
}

func TestOrdinaryUserOpensAsItselfAlone(t *testing.T) {
	asUser(t)
	reqs := []Request{{Use: jobspec.UseRead, Path: "/usr"}}
	if s, err := Open(soon(t), dropped(), reqs, Options{}); err == nil || s != nil {
		t.Error("opened as another user")
	}
	s, err := Open(soon(t), Account{UID: os.Getuid()}, reqs, Options{})
	if err != nil || s.Observation(0).Problem != "" {
		t.Fatal(err)
	}
	s.Close()
}

func TestEndOfContextEndsAStoppedChild(t *testing.T) {
	asRoot(t)
	ctx, stop := context.WithCancel(context.Background())
	s, err := startSession(ctx, dropped())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := s.open(ctx, Request{Use: jobspec.UseRead, Path: "/usr"}, room{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}
