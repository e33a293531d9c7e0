//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// An approval for one instant runs once, with the jitter that its op gives it a job
// starts later than its slot, and an approval that is renewed goes on.
func TestOneShotsJitterAndRenewedApprovals(t *testing.T) {
	h, clock := clockHouse(t, quarterPast())
	first := nextMinute(clock.now())
	dir := h.script("ws", "echo ran")
	h.must("add", "once", "--at", first.Format(time.RFC3339), "--cwd", dir, "--tier", "workspace", "--yes", "--", "./job.sh")
	h.addAt("shifted", dir, "* * * * *", "--jitter", "40s")
	h.addAt("short", dir, "0 0 1 1 *", "--expires", "2d")
	h.start()
	svc := h.service()
	before, err := svc.Job(t.Context(), "short")
	must(t, err)
	h.must("renew", "short", "--expires", "30d", "--yes")
	after, err := svc.Job(t.Context(), "short")
	must(t, err)
	if after.Revision != before.Revision+1 || after.ExpiresAt.Time().Sub(before.ExpiresAt.Time()) < 27*24*time.Hour {
		t.Errorf("renewed from %+v to %+v", before, after)
	}
	clock.strike(first)
	if r := h.some("once", "succeeded"); !r.ScheduledFor.Equal(first) {
		t.Errorf("%+v", r)
	}
	shifted, err := svc.Job(t.Context(), "shifted")
	must(t, err)
	start := *shifted.Next
	if shift := start.Sub(start.Truncate(time.Minute)); shift <= 0 || shift > 40*time.Second {
		t.Errorf("the jitter is %s", shift)
	}
	clock.set(start.Add(100 * time.Millisecond))
	if r := h.some("shifted", "succeeded"); r.StartedAt.Before(start) || r.Slot != jobspec.SlotAt(start.Truncate(time.Minute), "UTC", 0).String() {
		t.Errorf("slot %s, started %s, want at %s or later", r.Slot, r.StartedAt, start)
	}
	clock.set(first.Add(2 * time.Hour))
	h.await("shifted", is("succeeded"))
	if rows := h.rows("once"); len(rows) != 1 {
		t.Errorf("a one-shot has %d rows: %+v", len(rows), rows)
	}
	h.must("audit", "verify")
}

// A plan of several ops goes over the socket and is in force as a whole, or not at all.
func TestAPlanOfManyIsInForceAsAWholeOrNotAtAll(t *testing.T) {
	h := newHouse(t)
	ws := h.script("ws", "echo ran")
	jobs := h.mkdir("jobs")
	job := func(name, schedule string) {
		h.put(filepath.Join(jobs, name+".toml"), fmt.Sprintf("name = %q\nschedule = %q\ntimezone = \"UTC\"\ncwd = %q\ntier = \"workspace\"\ncommand = [\"./job.sh\"]\n", name, schedule, ws), 0o644)
	}
	for _, name := range []string{"a", "b", "c"} {
		job(name, "0 5 * * *")
	}
	h.start()
	plan := func(n int) (file, sig string) {
		file = filepath.Join(h.dir, fmt.Sprintf("plan%d.json", n))
		h.must("plan", "-f", jobs, "--prune", "--out", file)
		h.must("sign", file, "--yes")
		return file, file + ".sig"
	}
	file, sig := plan(1)
	h.must("apply", file, sig)
	job("b", "0 6 * * *")
	job("d", "*/10 7 * * *")
	must(t, os.Remove(filepath.Join(jobs, "a.toml")))
	file, sig = plan(2)
	jobsOf := func() string {
		var all []string
		list, err := h.service().Jobs(t.Context())
		must(t, err)
		for _, j := range list {
			all = append(all, fmt.Sprintf("%s/%d", j.Job, j.Revision))
		}
		return strings.Join(all, " ")
	}
	before := jobsOf()
	policy, err := os.ReadFile(h.dirs().Policy())
	must(t, err)
	narrow := regexp.MustCompile(`(?m)^min_interval = .*$`).ReplaceAllString(string(policy), "min_interval = \"1h\"")
	must(t, os.WriteFile(h.dirs().Policy(), []byte(narrow), h.dirs().ConfMode()))
	var refused api.Error
	if refused = h.failure("apply", file, sig); refused.Exit != 13 || !strings.Contains(refused.Message, "d") {
		t.Errorf("a plan whose last op the policy refuses by now: %+v", refused)
	}
	if now := jobsOf(); now != before {
		t.Errorf("jobs were %s, are %s", before, now)
	}
	must(t, os.WriteFile(h.dirs().Policy(), policy, h.dirs().ConfMode()))
	h.must("apply", file, sig)
	if now := jobsOf(); now != "b/2 c/1 d/1" {
		t.Errorf("jobs are %s, and were %s", now, before)
	}
	if r := h.run("apply", file, sig); r.code != 5 {
		t.Errorf("applied twice: exit %d", r.code)
	}
	if r := h.run("plan", "-f", jobs, "--prune", "--dry-run"); r.code != 0 {
		t.Errorf("there is still a difference: exit %d\n%s", r.code, r.out)
	}
	h.must("audit", "verify")
}
