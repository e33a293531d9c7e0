//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

func TestWaitEndsWithTheStatusOfTheJob(t *testing.T) {
	h := newHouse(t)
	h.offer("good", nil, "/bin/true")
	h.offer("late", []string{"--timeout", "1s", "--limit", "grace=1s"}, "/bin/sleep", "300")
	for name, body := range map[string]string{"own": "exit 42", "kill": "kill -KILL $$", "term": "kill -TERM $$", "drift": "true"} {
		h.add(name, h.script(name, body), "read-only", "./job.sh")
	}
	h.put(filepath.Join(h.work, "drift", "job.sh"), "#!/bin/sh\nexit 0\n", 0o755)
	h.start()
	for name, want := range map[string]int{"good": 0, "own": 42, "late": 124, "drift": 125, "kill": 137, "term": 143} {
		if r := h.run("run", name, "--wait"); r.code != want {
			t.Errorf("%s: exit %d, want %d\n%s%s", name, r.code, want, r.out, r.err)
		}
	}
}

// sleeper is a job that says that it is up and does not obey TERM.
const sleeper = "trap '' TERM; echo up > up; while :; do sleep 0.05; done"

// busy starts the service with a job that is running.
func busy(t *testing.T, body string, flags ...string) (*house, *service) {
	h := newHouse(t)
	h.offer("job", []string{"--cwd", h.script("ws", body), "--tier", "workspace", "--limit", "grace=1s"}, "./job.sh")
	h.args = flags
	s := h.start()
	h.must("run", "job")
	h.waitFor(filepath.Join(h.work, "ws", "up"))
	return h, s
}

func (h *house) waitFor(path string) {
	h.t.Helper()
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	h.t.Fatalf("%s does not come", path)
}

// shutDown reports whether the last row says that the service ended the job.
func (h *house) shutDown() bool {
	h.t.Helper()
	row := h.last("job")
	return row.Outcome == "killed" && len(row.Reasons) > 0 && row.Reasons[0].Code == jobspec.CodeShutdown && row.EndedAt != nil
}

func TestTermDrainsThenTermsThenKills(t *testing.T) {
	h, s := busy(t, sleeper, "--drain", "1s")
	begun := time.Now()
	if code := s.stop(); code != 0 {
		t.Errorf("the service ended with %d: %s", code, s.log)
	}
	if took := time.Since(begun); took < 2*time.Second || took > 20*time.Second {
		t.Errorf("drain and grace took %s, want a second each", took)
	}
	if !h.shutDown() {
		t.Errorf("row %+v, want killed, shutdown", h.last("job"))
	}
}

func TestWhatEndsWithinTheDrainIsNotKilled(t *testing.T) {
	h, s := busy(t, "echo up > up; sleep 1", "--drain", "30s")
	if code := s.stop(); code != 0 {
		t.Errorf("the service ended with %d: %s", code, s.log)
	}
	if row := h.last("job"); row.Outcome != "succeeded" {
		t.Errorf("row %+v, want succeeded", row)
	}
}

func TestAJobThatObeysTermMayFinish(t *testing.T) {
	h, s := busy(t, "trap 'echo bye > bye; exit 0' TERM; echo up > up; while :; do sleep 0.05; done", "--drain", "0s")
	s.stop()
	h.waitFor(filepath.Join(h.work, "ws", "bye"))
	if !h.shutDown() {
		t.Errorf("row %+v, want killed, shutdown", h.last("job"))
	}
}

func TestNothingStartsWhileTheServiceDrains(t *testing.T) {
	t.Parallel() // it waits most of its time
	h, s := busy(t, sleeper, "--drain", "30s")
	h.offer("other", nil, "/bin/true")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(10 * time.Second); h.run("run", "other", "--wait").code == 0; {
		if time.Now().After(limit) {
			t.Fatal("a job started while the service was ending")
		}
	}
	if s.ended() {
		t.Error("the service did not wait for its job")
	}
}

func TestASecondTermEndsAtOnce(t *testing.T) {
	t.Parallel() // it waits most of its time
	h, s := busy(t, sleeper, "--drain", "60s")
	for range 2 {
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
	}
	begun := time.Now()
	s.wait(20 * time.Second)
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the end took %s", took)
	}
	if !h.shutDown() {
		t.Errorf("row %+v, want killed, shutdown", h.last("job"))
	}
}

// leaves reads the ledger as it lies on disk.
func (h *house) leaves() []record.Leaf {
	h.t.Helper()
	names, err := filepath.Glob(filepath.Join(h.root, "state", "ledger", "*.jsonl"))
	if err != nil || len(names) == 0 {
		h.t.Fatalf("no ledger: %v", err)
	}
	var all []record.Leaf
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			h.t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var l record.Leaf
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				h.t.Fatalf("%s: %v", name, err)
			}
			all = append(all, l)
		}
	}
	return all
}

// actOf finds the newest leaf of a kind.
func (h *house) actOf(kind record.Kind) record.Leaf {
	h.t.Helper()
	var found record.Leaf
	for _, l := range h.leaves() {
		if l.Kind == kind {
			found = l
		}
	}
	return found
}

func TestHoldReleaseAndCancelNameWhoAsked(t *testing.T) {
	h, _ := busy(t, sleeper)
	h.must("cancel", h.last("job").Run)
	for limit := time.Now().Add(20 * time.Second); h.last("job").EndedAt == nil && time.Now().Before(limit); {
		time.Sleep(50 * time.Millisecond)
	}
	if row := h.last("job"); row.Outcome != "killed" || row.Reasons[0].Code != jobspec.CodeCanceled {
		t.Errorf("row %+v, want killed, canceled", row)
	}
	h.must("hold", "job", "--reason", "looking at it")
	if e := h.failure("run", "job"); e.ErrCode != jobspec.CodeJobHeld {
		t.Errorf("run of a held job: %+v", e)
	}
	h.must("release", "job")
	for _, kind := range []record.Kind{record.Started, record.Finished, record.Held, record.Released} {
		by := h.actOf(kind).RequestedBy
		if by == nil || by.UID != int64(os.Getuid()) || by.Root != (os.Getuid() == 0) {
			t.Errorf("%s was asked for by %+v, want uid %d", kind, by, os.Getuid())
		}
	}
}

// A service that was killed accounts for the past before it starts anything. Who
// asks meanwhile waits, and is not told that there is no service.
func TestWhoAsksWhileTheServiceOpensWaits(t *testing.T) {
	t.Parallel() // it waits most of its time
	h, s := busy(t, sleeper)
	h.offer("other", nil, "/bin/true")
	s.kill()
	socket := filepath.Join(h.root, "run", "socket")
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	halt := filepath.Join(t.TempDir(), "before-leaf-lost")
	if err := os.WriteFile(halt, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.launch(envHalt + "=" + filepath.Dir(halt))
	h.waitFor(socket)
	h.waitFor(halt + ".reached")
	asked := make(chan result, 1)
	go func() { asked <- h.run("run", "other", "--wait") }()
	select {
	case r := <-asked:
		t.Errorf("answered before the service was open: exit %d\n%s%s", r.code, r.out, r.err)
		asked <- r
	case <-time.After(500 * time.Millisecond):
	}
	if err := os.Remove(halt); err != nil {
		t.Fatal(err)
	}
	if r := <-asked; r.code != 0 {
		t.Errorf("exit %d, want 0\n%s%s", r.code, r.out, r.err)
	}
}
