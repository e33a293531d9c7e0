//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/client"
	"github.com/sbxcron/sbxcron/cmd/internal/config"
)

// firstStep is where the road of a run begins: its files are open and hashed.
const firstStep = "before probe"

// TestKillAtEachStepOfARun kills the service at one step of a scheduled run
// after the other, and recounts at the end.
func TestKillAtEachStepOfARun(t *testing.T) {
	killAtEachStep(t, -200*time.Millisecond, 2, "before leaf started")
}

// The same for runs whose sandbox is built and whose slot is claimed before it
// comes.
func TestKillAtEachStepOfAnArmedRun(t *testing.T) {
	killAtEachStep(t, time.Second, 1, "before leaf claimed")
}

// killAtEachStep drives a job whose slots the service sees that long before they
// come, so many times through all steps.
func killAtEachStep(t *testing.T, ahead time.Duration, turns int, leaf string) {
	base := nextMinute(time.Now()).Add(-20 * time.Second)
	h, clock := clockHouse(t, base)
	dir := h.script("ws", `echo "$SBXCRON_RUN" >>runs; sleep 0.05`)
	h.must("add", "job", "--schedule", "* * * * *", "--timezone", "UTC", "--cwd", dir, "--tier", "workspace", "--yes", "--", "./job.sh")
	first := nextMinute(clock.now())
	k := &killer{h: h, clock: clock, slot: first, dir: dir, ahead: ahead}

	k.settle()
	names := k.calibrate(leaf)
	k.settle()
	begun, rounds := time.Now(), bounded(turns*len(names), 200)
	for i := range rounds {
		if i > len(names) && !soak() && time.Since(begun) > 75*time.Second {
			t.Logf("a slow machine: %d of %d kills, every step had one", i, rounds)
			break
		}
		k.round(1 + i%len(names))
	}
	k.last()

	all := h.ledger()
	eachOnce(t, all, "job", first, nextMinute(clock.now()).Add(-time.Minute))
	k.judgeRuns(all)
	if r := h.run("audit", "verify"); r.code != 0 {
		t.Errorf("audit verify: exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// killer drives the service from slot to slot.
type killer struct {
	h     *house
	clock *dial
	slot  time.Time
	dir   string
	ahead time.Duration
}

// settle lets files grow old enough that a sandbox built ahead may be trusted to
// hold what would be found at the slot.
func (k *killer) settle() {
	if k.ahead > 0 {
		time.Sleep(2100 * time.Millisecond)
	}
}

// calibrate lets one run go through and returns the names of its steps.
func (k *killer) calibrate(leaf string) []string {
	k.h.t.Helper()
	file := filepath.Join(k.h.dir, "steps")
	var b []byte
	for try := 1; ; try++ { // a busy machine does not always build a sandbox before its slot
		before := k.finals()
		s := k.due(envSteps+"="+file, envFrom+"="+firstStep)
		eventually(k.h.t, 30*time.Second, func() bool { return k.finals() > before }, s.log.String)
		s.kill()
		var err error
		b, err = os.ReadFile(file)
		must(k.h.t, err)
		if strings.Contains(string(b), leaf) || try == 4 {
			break
		}
		must(k.h.t, os.Remove(file))
		k.settle()
	}
	var names []string
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		_, name, _ := strings.Cut(l, " ")
		names = append(names, name)
	}
	k.h.t.Logf("%d steps: %s", len(names), strings.Join(names, ", "))
	for _, want := range []string{"before prepare", "after prepare", leaf, "after leaf", "before release", "after release", "after wait", "before leaf finished"} {
		if !strings.Contains(string(b), want) {
			k.h.t.Fatalf("no step %q", want)
		}
	}
	return names
}

// due starts the service before a slot, lets the slot come, and moves on to the
// slot after the next: one is missed in between.
func (k *killer) due(env ...string) *service {
	k.h.t.Helper()
	k.clock.set(k.slot.Add(-20 * time.Second))
	s := k.h.launch(env...)
	eventually(k.h.t, 30*time.Second, func() bool { return s.ended() || k.answers() }, s.log.String)
	k.clock.set(k.slot.Add(-k.ahead))
	k.slot = k.slot.Add(2 * time.Minute)
	return s
}

func (k *killer) answers() bool {
	site, err := config.Find(k.h.root)
	must(k.h.t, err)
	c, err := client.Dial(k.h.t.Context(), site.Socket(), site.UID)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// round kills the service at the step with this number.
func (k *killer) round(step int) {
	k.h.t.Helper()
	s := k.due(envFrom+"="+firstStep, fmt.Sprintf("%s=%d", envKill, step))
	eventually(k.h.t, 30*time.Second, s.ended, func() string { return fmt.Sprintf("step %d was not reached\n%s", step, s.log) })
	if code := s.wait(time.Second); code != 128+9 {
		k.h.t.Fatalf("the service ended by itself: %d\n%s", code, s.log)
	}
}

// last lets the service settle what is open, and ends it properly.
func (k *killer) last() {
	k.h.t.Helper()
	s := k.due()
	want := nextMinute(k.clock.now()).Add(-time.Minute)
	eventually(k.h.t, 30*time.Second, func() bool { return covered(k.h.t, k.h.ledger(), "job")[want] > 0 }, s.log.String)
	if code := s.stop(); code != 0 {
		k.h.t.Errorf("the service ended with %d\n%s", code, s.log)
	}
}

func (k *killer) finals() int {
	n := 0
	for _, l := range k.h.ledger() {
		if l.Run != "" && l.final() {
			n++
		}
	}
	return n
}

// judgeRuns pairs starts with ends and with what the payloads wrote.
func (k *killer) judgeRuns(all []line) {
	t := k.h.t
	t.Helper()
	started, ended, slots := map[string]int{}, map[string]string{}, map[string]int{}
	for _, l := range all {
		switch {
		case l.Kind == "started" || l.Kind == "claimed":
			started[l.Run]++
			slots[l.Slot.Civil]++
		case l.Run != "" && l.final():
			if ended[l.Run] != "" {
				t.Errorf("run %s ended twice: %s, %s", l.Run, ended[l.Run], l.Outcome)
			}
			ended[l.Run] = l.Outcome
		}
	}
	outcomes := map[string]int{}
	for run, n := range started {
		if n != 1 || ended[run] == "" {
			t.Errorf("run %s: %d started lines, end %q", run, n, ended[run])
		}
		outcomes[ended[run]]++
	}
	for slot, n := range slots {
		if n != 1 {
			t.Errorf("slot %s was started %d times", slot, n)
		}
	}
	if outcomes["lost"] == 0 || outcomes["succeeded"] == 0 {
		t.Errorf("outcomes of started runs: %v, want lost ones and others", outcomes)
	}
	k.judgePayloads(started)
	t.Logf("%d started runs: %v", len(started), outcomes)
}

func (k *killer) judgePayloads(started map[string]int) {
	k.h.t.Helper()
	b, err := os.ReadFile(filepath.Join(k.dir, "runs"))
	must(k.h.t, err)
	lines := strings.Fields(string(b))
	seen := map[string]bool{}
	for _, run := range lines {
		if seen[run] {
			k.h.t.Errorf("run %s ran twice", run)
		}
		if started[run] == 0 {
			k.h.t.Errorf("run %s ran and has no started line", run)
		}
		seen[run] = true
	}
	if len(lines) == 0 || len(lines) > len(started) {
		k.h.t.Errorf("%s payloads ran, %d lines say started", strconv.Itoa(len(lines)), len(started))
	}
}
