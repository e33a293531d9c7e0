//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/client"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
)

var addNew = []string{"add", "new", "--yes", "--schedule", never, "--", "/bin/true"}

// TestKillOfACommandAtEachStepOfACommitLeavesTheOpOutOrInForce kills a command
// that commits by itself.
func TestKillOfACommandAtEachStepOfACommitLeavesTheOpOutOrInForce(t *testing.T) {
	h := newHouse(t)
	in := newInsider(t)
	counted := h.twin(t)
	log := filepath.Join(t.TempDir(), "steps")
	if r := counted.runEnv([]string{envSteps + "=" + log}, addNew...); r.code != 0 {
		t.Fatalf("add: exit %d\n%s", r.code, r.err)
	}
	steps := lines(t, log)
	seen := map[string]int{}
	for step := 1; step <= steps; step++ {
		killed := h.twin(t)
		r := killed.runEnv([]string{fmt.Sprintf("%s=%d", envKill, step)}, addNew...)
		if r.code != 128+9 {
			t.Fatalf("step %d of %d: exit %d, want to be killed\n%s", step, steps, r.code, r.err)
		}
		seen[killed.outOrInForce(t, in, fmt.Sprintf("step %d", step), false)]++
	}
	if seen["out"] == 0 || seen["beyond"] == 0 || seen["pinned"] == 0 {
		t.Errorf("kills before the append, between append and pin, and after: %v; each must have happened", seen)
	}
	t.Logf("%d steps: %v", steps, seen)
}

// TestKillOfTheServiceAtEachStepOfACommitLeavesTheOpOutOrInForce kills the
// service that commits for a command.
func TestKillOfTheServiceAtEachStepOfACommitLeavesTheOpOutOrInForce(t *testing.T) {
	h := newHouse(t)
	in := newInsider(t)
	first, last := h.countServiceSteps(t)
	seen := map[string]int{}
	for step := first + 1; step <= last; step++ {
		killed := h.twin(t)
		s := killed.launch(fmt.Sprintf("%s=%d", envKill, step))
		killed.answersOrEnded(t, s)
		r := killed.run(addNew...)
		s.kill()
		seen[killed.outOrInForce(t, in, fmt.Sprintf("step %d", step), r.code == 0)]++
	}
	if seen["out"] == 0 || seen["beyond"] == 0 || seen["pinned"] == 0 {
		t.Errorf("kills before the append, between append and pin, and after: %v; each must have happened", seen)
	}
	t.Logf("steps %d to %d: %v", first+1, last, seen)
}

func (h *house) countServiceSteps(t *testing.T) (first, last int) {
	t.Helper()
	counted := h.twin(t)
	log := filepath.Join(t.TempDir(), "steps")
	s := counted.start(envSteps + "=" + log)
	first = lines(t, log)
	counted.must(addNew...)
	last = lines(t, log)
	s.kill()
	return first, last
}

// answersOrEnded waits until the service answers or has been killed.
func (h *house) answersOrEnded(t *testing.T, s *service) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		c, err := client.Dial(context.Background(), h.dirs().Socket(), os.Getuid())
		if err == nil {
			c.Close()
			return
		}
		if s.ended() {
			return
		}
	}
	t.Fatalf("the service neither answers nor ends: %s", s.log)
}

// outOrInForce says where the kill left the op, settles as the next service
// does, and wants the op either not there, so that it can be added again, or in
// force and pinned. promised: the command has said that it is in force.
func (h *house) outOrInForce(t *testing.T, in *insider, what string, promised bool) string {
	t.Helper()
	found := h.whereIsNew(t, what)
	e, err := in.open(t, h, true)
	if err != nil {
		t.Fatal(err)
	}
	provenErr := e.Proven()
	head, headErr := e.Head(context.Background())
	v, currentErr := e.Current("new")
	e.Close()
	if provenErr != nil || headErr != nil {
		t.Fatalf("%s (%s): %v, %v", what, found, provenErr, headErr)
	}
	pin, err := store.ReadPin(h.dirs())
	if err != nil {
		t.Fatal(err)
	}
	switch found {
	case "out":
		if pin.Seq != 0 || head.Seq != 1 || currentErr == nil || promised {
			t.Errorf("%s: out, but pin %d, head %d, %v, promised %v", what, pin.Seq, head.Seq, currentErr, promised)
		}
		h.must(addNew...)
	default:
		if pin.Seq != 1 || pin.Digest != head.Prev || currentErr != nil || v.Refused != "" || promised && found != "pinned" {
			t.Errorf("%s: %s, but pin %d, %v, %q, promised %v", what, found, pin.Seq, currentErr, v.Refused, promised)
		}
	}
	return found
}

// whereIsNew looks at the files alone, before anything settles.
func (h *house) whereIsNew(t *testing.T, what string) string {
	t.Helper()
	state, err := store.Load(h.dirs())
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	switch {
	case len(state.Pending) == 1:
		return "beyond"
	case state.Len() == 2:
		if j, ok := state.View.Job("new"); !ok || j.State != jobspec.JobActive {
			t.Fatalf("%s: pinned op 1 is not the job", what)
		}
		return "pinned"
	case state.Len() == 1 && len(state.Pending) == 0:
		return "out"
	}
	t.Fatalf("%s: %d ops pinned, %d beyond", what, state.Len(), len(state.Pending))
	return ""
}

// TestInterruptedInitSaysSoAndResumes takes away what init writes last, one
// after the other, as a crash leaves it.
func TestInterruptedInitSaysSoAndResumes(t *testing.T) {
	h := newHouse(t)
	d := h.dirs()
	written := []string{d.Pin(), d.ChainDB(), filepath.Join(d.Conf, "key"), d.Policy(), d.RevokedKeys(), d.AllowedSigners()}
	for n := range written {
		crashed := h.twin(t)
		for _, path := range written[:n+1] {
			if err := os.Remove(strings.Replace(path, h.root, crashed.root, 1)); err != nil {
				t.Fatal(err)
			}
		}
		args := []string{"init", "--principal", "alice", "--key", h.key}
		if os.Getuid() == 0 {
			args = append(args, "--run-as", jobUser)
		}
		for _, refused := range [][]string{args, addNew, {"daemon"}} {
			if r := crashed.run(refused...); r.code != 78 || !strings.Contains(r.err, "init_incomplete") || !strings.Contains(r.err, "--resume") {
				t.Errorf("without %d files: %s: exit %d\n%s", n+1, refused[0], r.code, r.err)
			}
		}
		crashed.must(append(args, "--resume")...)
		crashed.must(addNew...)
	}
}
