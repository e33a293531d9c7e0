//go:build unix

package throwaway

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// machine lays out the files that a pool reads, with one process of uid 0.
func machine(t *testing.T) Sources {
	t.Helper()
	dir := t.TempDir()
	s := Sources{Passwd: dir + "/passwd", Group: dir + "/group", Proc: dir + "/proc", Systemd: dir + "/dynamic"}
	put(t, s.Passwd, "root:x:0:0::/root:/bin/sh\n")
	put(t, s.Group, "root:x:0:\n")
	put(t, s.Proc+"/1/status", "Name:\tinit\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\n")
	return s
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func take(t *testing.T, p *Pool) *Lease {
	t.Helper()
	l, err := p.Take()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTakenUidsAreNotLent(t *testing.T) {
	s := machine(t)
	put(t, s.Passwd, "a:x:61184:1::/:/bin/sh\nb:x:5:61185::/:/bin/sh\n")
	put(t, s.Group, "g:x:61186:a,b\n")
	put(t, s.Systemd+"/61187", "")
	put(t, s.Systemd+"/direct:61188", "")
	put(t, s.Proc+"/7/status", "Uid:\t61188\t5\t5\t5\nGid:\t5\t5\t61189\t5\nGroups:\t4 61190 \n")
	put(t, s.Proc+"/8/status", "Uid:\t5\t61191\t5\t61192\n")
	put(t, s.Proc+"/self/other", "")
	if got := take(t, New(s, 0)).UID(); got != 61193 {
		t.Errorf("lent %d", got)
	}
}

func TestUidIsLentToOneRunAndComesBackLast(t *testing.T) {
	p := New(machine(t), 3)
	first := take(t, p)
	if first.UID() != First+3 {
		t.Errorf("lent %d", first.UID())
	}
	seen := map[int]bool{first.UID(): true}
	for range count - 1 {
		uid := take(t, p).UID()
		if seen[uid] || uid < First || uid > Last {
			t.Fatalf("lent %d again, or out of range", uid)
		}
		seen[uid] = true
	}
	if l, err := p.Take(); !errors.Is(err, ErrNone) || l != nil {
		t.Errorf("one more: %v, %v", l, err)
	}
	first.Release()
	first.Release()
	again := take(t, p)
	if again.UID() != First+3 {
		t.Errorf("lent %d", again.UID())
	}
	first.Release() // an old lease does not give away the new one
	if _, err := p.Take(); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
}

func TestConcurrentRunsGetDifferentUids(t *testing.T) {
	p := New(machine(t), 1<<63)
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[int]bool{}
	for range 50 {
		wg.Go(func() {
			l, err := p.Take()
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if seen[l.UID()] {
				t.Errorf("%d lent twice", l.UID())
			}
			seen[l.UID()] = true
		})
	}
	wg.Wait()
}

func TestWhatCannotBeReadLendsNothing(t *testing.T) {
	for name, spoil := range map[string]func(*Sources){
		"passwd":  func(s *Sources) { s.Passwd += "-none" },
		"group":   func(s *Sources) { s.Group += "-none" },
		"proc":    func(s *Sources) { s.Proc += "-none" },
		"no proc": func(s *Sources) { s.Proc = filepath.Dir(s.Proc) + "/proc/1" },
		"systemd": func(s *Sources) { s.Systemd = s.Passwd },
	} {
		s := machine(t)
		spoil(&s)
		if l, err := New(s, 0).Take(); err == nil || l != nil {
			t.Errorf("%s: lent %d", name, l.UID())
		}
	}
}

func TestUidOfARunningProcessIsNotLent(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: a process with another uid is started")
	}
	own := Sources{}
	uid := take(t, New(own, 77)).UID()
	cmd := exec.Command("/bin/cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if again := take(t, New(own, 77)).UID(); again == uid {
		t.Errorf("%d lent while process %d runs under it", uid, cmd.Process.Pid)
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestOwnMachineLendsFromTheRange(t *testing.T) {
	l := take(t, New(Sources{}, 0))
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(passwd), fmt.Sprintf(":%d:", l.UID())) {
		t.Errorf("%d is in the passwd file", l.UID())
	}
}
