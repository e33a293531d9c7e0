//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
)

// TestOfTwoOwnersAtOnceOneWins lets two owners sign for the same head and submit
// at the same time.
func TestOfTwoOwnersAtOnceOneWins(t *testing.T) {
	for _, up := range []bool{false, true} {
		t.Run(map[bool]string{false: "service down", true: "service up"}[up], func(t *testing.T) {
			h := newHouse(t)
			if up {
				h.start()
			}
			for round := range bounded(3, 40) {
				h.race(t, int64(round+1))
			}
			if r := h.run("audit", "verify"); r.code != 0 {
				t.Errorf("audit verify: exit %d\n%s%s", r.code, r.out, r.err)
			}
		})
	}
}

// race has two ops for position seq applied at once.
func (h *house) race(t *testing.T, seq int64) {
	t.Helper()
	files := [2]string{}
	for i := range files {
		files[i] = filepath.Join(h.dir, fmt.Sprintf("op-%d-%d.json", seq, i))
		h.must("plan", "add", fmt.Sprintf("j%d-%d", seq, i), "--out", files[i], "--schedule", never, "--", "/bin/true")
		h.must("sign", files[i], "--yes")
	}
	results := [2]result{}
	var both sync.WaitGroup
	for i := range files {
		both.Go(func() { results[i] = h.run("apply", files[i], files[i]+".sig", "--json") })
	}
	both.Wait()
	winner := 0
	if results[1].code == 0 {
		winner = 1
	}
	won, lost := results[winner], results[1-winner]
	if won.code != 0 || lost.code != 5 {
		t.Fatalf("op %d: exits %d and %d, want 0 and 5\n%s%s", seq, won.code, lost.code, won.err, lost.err)
	}
	var done struct{ Item api.Accepted }
	var refused api.Error
	h.decode(won.out, &done)
	h.decode(lost.err, &refused)
	if refused.Head == nil || refused.Head.Prev != done.Item.Op || refused.Head.Seq != seq+1 {
		t.Errorf("op %d: the loser was given the head %+v, want the winner's op %s", seq, refused.Head, done.Item.Op)
	}
	if refused.ErrCode != jobspec.CodeHeadMoved {
		t.Errorf("op %d: code %s", seq, refused.ErrCode)
	}
}

func TestHeldLockIsAnsweredWithTheHolderWithinASecond(t *testing.T) {
	h := newHouse(t)
	lock, err := store.TryLock(h.dirs(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	h.heldBy(t, os.Getpid(), addNew, store.LockWait)
	h.heldBy(t, os.Getpid(), []string{"daemon"}, store.LockWait)
	if r := h.run("list"); r.code != 0 {
		t.Errorf("list: exit %d\n%s", r.code, r.err)
	}
	lock.Close()
	h.must(addNew...)
}

// heldBy wants 75 with the pid, not before the wait and not long after it.
func (h *house) heldBy(t *testing.T, pid int, args []string, wait time.Duration) {
	t.Helper()
	begun := time.Now()
	r := h.run(args...)
	took := time.Since(begun)
	if r.code != 75 || !strings.Contains(r.err, fmt.Sprintf("process %d", pid)) {
		t.Errorf("%q: exit %d, want 75 and pid %d\n%s", args, r.code, pid, r.err)
	}
	if took < wait || took > wait+4*time.Second {
		t.Errorf("%q: answered after %s", args, took)
	}
}

func TestSecondServiceIsRefusedWithTheFirstOnesPid(t *testing.T) {
	h := newHouse(t)
	s := h.start()
	h.heldBy(t, s.cmd.Process.Pid, []string{"daemon"}, 0)
	h.must(addNew...)
	if s.ended() {
		t.Errorf("the first service ended: %s", s.log)
	}
	h.must("run", "new", "--wait") // and has all that a run needs
}

// TestOwnerWhoReadsASummaryKeepsNobodyWaiting commits while another command
// waits for an answer from its terminal.
func TestOwnerWhoReadsASummaryKeepsNobodyWaiting(t *testing.T) {
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("needs script")
	}
	h := newHouse(t)
	asking := h.command(nil, "add", "asking", "--schedule", never, "--", "/bin/true")
	line := fmt.Sprintf("/proc/%d/exe --root %s add asking --schedule '%s' -- /bin/true", os.Getpid(), h.root, never)
	cmd := exec.Command(script, "-qec", line, "/dev/null")
	cmd.Env, cmd.Dir = asking.Env, h.dir
	answer, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(out.String(), "Sign with"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			cmd.Process.Kill()
			t.Fatalf("nothing is asked: %s", out)
		}
	}
	h.must(addNew...)
	h.must("list")
	io.WriteString(answer, "y\n")
	if err := cmd.Wait(); exitCode(err) != 5 || !strings.Contains(out.String(), "head_moved") {
		t.Errorf("the one who waited: %v, want exit 5\n%s", err, out)
	}
}

// lockedBuffer may be read while a process writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
