//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Sandboxes of five jobs stand before their common slot. What is changed then is
// obeyed at the slot, and the jobs that nobody touched start in time.
func TestWhatIsChangedWhileASandboxIsArmedDoesNotStart(t *testing.T) {
	h, clock := clockHouse(t, nextMinute(time.Now()).Add(-30*time.Second))
	h.permit(nil)
	h.args = []string{"--max-parallel", "8"}
	dirs := map[string]string{}
	for _, job := range []string{"good", "swapped", "held", "removed", "denied"} {
		dirs[job] = h.script(job, canary)
		h.put(filepath.Join(dirs[job], job+".sh"), "#!/bin/sh\n"+canary+"\n", 0o755)
		h.must("add", job, "--schedule", "* * * * *", "--timezone", "UTC", "--cwd", dirs[job], "--tier", "workspace", "--yes", "--", "./"+job+".sh")
	}
	slot := nextMinute(clock.now())
	time.Sleep(2100 * time.Millisecond) // younger files are never trusted to be unchanged
	clock.set(slot.Add(-20 * time.Second))
	steps := filepath.Join(h.dir, "steps")
	s := h.launch(envSteps + "=" + steps)
	s.ready()
	wait := func() { clock.set(slot.Add(-1500 * time.Millisecond)) } // and again, so that a slow machine has the time
	wait()
	eventually(t, 20*time.Second, func() bool {
		wait()
		b, _ := os.ReadFile(steps) // not there yet
		return strings.Count(string(b), "after prepare") == len(dirs)
	}, s.log.String)

	for _, change := range []func(){
		func() { h.put(filepath.Join(dirs["swapped"], "swapped.sh"), "#!/bin/sh\necho other >> ran\n", 0o755) },
		func() { h.must("hold", "held", "--reason", "not now") },
		func() { h.must("remove", "removed", "--yes") },
		func() {
			h.permit(func(top, _ map[string]any) { top["rules"] = rules([3]string{"deny", "no", "denied.sh"}) })
		},
	} {
		wait()
		change()
	}
	eventually(t, 30*time.Second, func() bool { return h.finalsOf(slot) == 4 }, s.log.String)

	if r := h.run("audit", "verify"); r.code != 0 {
		t.Errorf("audit verify: exit %d\n%s%s", r.code, r.out, r.err)
	}
	want := map[string]string{"good": "claimed,finished succeeded", "swapped": "drift_exec_hash", "held": "held job_held", "denied": "cmd_denied_rule"}
	got := map[string]string{}
	for _, l := range h.ledger() {
		if l.Slot == nil || l.Slot.Civil != slot.Format("2006-01-02T15:04") {
			continue
		}
		word := l.Kind
		if l.Outcome != "" {
			word += " " + l.Outcome
		}
		if len(l.Reasons) > 0 {
			word += " " + string(l.Reasons[0].Code)
		}
		got[l.Job] += word + ","
	}
	for job, w := range want {
		if !strings.Contains(got[job], w) {
			t.Errorf("%s: %q, want %q", job, got[job], w)
		}
	}
	if got["removed"] != "" {
		t.Errorf("removed: %q", got["removed"])
	}
	for job, dir := range dirs {
		if n := h.starts(dir); n > 0 != (job == "good") {
			t.Errorf("%s started %d times", job, n)
		}
	}
	if code := s.stop(); code != 0 {
		t.Errorf("the service ended with %d\n%s", code, s.log)
	}
}

// finalsOf counts the final lines of one slot.
func (h *house) finalsOf(slot time.Time) int {
	n := 0
	for _, l := range h.ledger() {
		if l.Slot != nil && l.Slot.Civil == slot.Format("2006-01-02T15:04") && l.final() {
			n++
		}
	}
	return n
}
