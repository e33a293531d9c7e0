//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// addAt adds a job of a workspace with a schedule and more flags.
func (h *house) addAt(name, dir, schedule string, flags ...string) {
	h.t.Helper()
	args := []string{"add", name, "--schedule", schedule, "--cwd", dir, "--tier", "workspace", "--yes"}
	if !slices.Contains(flags, "--timezone") {
		args = append(args, "--timezone", "UTC")
	}
	h.must(append(append(args, flags...), "--", "./job.sh")...)
}

// rows are a job's rows of history, oldest first.
func (h *house) rows(job string) []api.Run {
	h.t.Helper()
	rows, err := h.service().History(h.t.Context(), api.HistoryQuery{Job: jobspec.Name(job), Limit: 1000})
	must(h.t, err)
	slices.Reverse(rows)
	return rows
}

// await waits for the newest row of a job to be as wanted.
func (h *house) await(job string, want func(api.Run) bool) api.Run {
	h.t.Helper()
	var rows []api.Run
	eventually(h.t, 30*time.Second, func() bool {
		rows = h.rows(job)
		return len(rows) > 0 && want(rows[len(rows)-1])
	}, func() string { return fmt.Sprintf("history of %s: %+v", job, rows) })
	return rows[len(rows)-1]
}

func is(outcome string) func(api.Run) bool {
	return func(r api.Run) bool { return r.Outcome == outcome }
}

// some waits until a job has a row with this outcome.
func (h *house) some(job, outcome string) (found api.Run) {
	h.t.Helper()
	var rows []api.Run
	eventually(h.t, 30*time.Second, func() bool {
		rows = h.rows(job)
		i := slices.IndexFunc(rows, is(outcome))
		if i >= 0 {
			found = rows[i]
		}
		return i >= 0
	}, func() string { return fmt.Sprintf("history of %s: %+v", job, rows) })
	return found
}

func reasonIs(t *testing.T, r api.Run, code jobspec.Code) {
	t.Helper()
	if !slices.ContainsFunc(r.Reasons, func(x api.Reason) bool { return x.Code == code }) {
		t.Errorf("%s of %s for %+v, want %s", r.Outcome, r.Job, r.Reasons, code)
	}
}

// quarterPast is a time 15 seconds into a minute that lies ahead.
func quarterPast() time.Time { return nextMinute(time.Now()).Add(15 * time.Second) }

// strike lets the minute of a time begin.
func (d *dial) strike(at time.Time) {
	d.t.Helper()
	d.set(at.Truncate(time.Minute).Add(100 * time.Millisecond))
}

// TestAJobStartsWithinTwoSecondsOfItsSlot runs on the service's own timer: only
// the machine's minute is moved.
func TestAJobStartsWithinTwoSecondsOfItsSlot(t *testing.T) {
	h := newHouse(t)
	h.addAt("job", h.script("ws", "echo -n x >>"+mark), "* * * * *")
	offset := (60 + 55 - time.Now().Second()) % 60
	begun := time.Now().Add(time.Duration(offset) * time.Second)
	h.start(fmt.Sprintf("%s=%d", envOffset, offset))
	// The jump to the 55th second may pass a slot, which starts late and rightly so.
	r := h.await("job", func(r api.Run) bool { return is("succeeded")(r) && r.ScheduledFor.After(begun) })
	late := r.StartedAt.Sub(*r.ScheduledFor)
	if r.Trigger != "schedule" || late < 0 || late > 2*time.Second {
		t.Errorf("trigger %s, %s after its slot", r.Trigger, late)
	}
}

func TestSlotsOfADowntimeAreOneRow(t *testing.T) {
	h, clock := clockHouse(t, quarterPast())
	h.addAt("job", h.script("ws", "echo -n x >>"+mark), "* * * * *")
	first := nextMinute(clock.now())
	clock.set(first.Add(10*time.Minute + 30*time.Second))
	h.start()
	h.some("job", "succeeded") // the last slots are not too old to start late
	clock.strike(first.Add(11 * time.Minute))
	h.await("job", func(r api.Run) bool {
		return r.Outcome == "succeeded" && r.ScheduledFor.Equal(first.Add(11*time.Minute))
	})
	missed := 0
	for _, r := range h.rows("job") {
		if r.Outcome == "missed" {
			missed++
			reasonIs(t, r, jobspec.CodeMissedSkipped)
			if r.SlotCount < 8 {
				t.Errorf("the missed row covers %d slots, want at least 8", r.SlotCount)
			}
		}
	}
	if missed != 1 {
		t.Errorf("%d missed rows, want 1", missed)
	}
	eachOnce(t, h.ledger(), "job", first, first.Add(11*time.Minute))
}

func TestASlotDuringARunIsSkipped(t *testing.T) {
	h, clock := clockHouse(t, quarterPast())
	h.addAt("job", h.script("ws", "sleep 600"), "* * * * *")
	first := nextMinute(clock.now())
	h.start()
	clock.strike(first)
	run := h.await("job", is("running"))
	clock.strike(first.Add(time.Minute))
	reasonIs(t, h.some("job", "skipped"), jobspec.CodeOverlapSkipped)
	h.must("cancel", run.Run)
	h.some("job", "killed")
	eachOnce(t, h.ledger(), "job", first, first.Add(time.Minute))
}

func TestAnExpiredApprovalRunsNothing(t *testing.T) {
	h, clock := clockHouse(t, quarterPast())
	dir := h.script("ws", "echo -n x >>"+mark)
	h.addAt("job", dir, "* * * * *", "--expires", "1h")
	first := nextMinute(clock.now())
	h.start()
	clock.strike(first)
	h.await("job", is("succeeded"))
	clock.strike(first.Add(time.Hour))
	reasonIs(t, h.some("job", "refused"), jobspec.CodeExpired)
	if n := ran(t, dir); n != 1 {
		t.Errorf("the payload ran %d times, want 1", n)
	}
	eachOnce(t, h.ledger(), "job", first, first.Add(time.Hour))
}

// TestOpsDuringARunLeaveItAlone: what the owner signs counts for the next slot.
func TestOpsDuringARunLeaveItAlone(t *testing.T) {
	t.Parallel() // it waits most of its time
	h, clock := clockHouse(t, quarterPast())
	dir := h.script("ws", "until test -e go; do sleep 0.05; done; rm -f go; echo -n x >>"+mark)
	h.addAt("job", dir, "* * * * *")
	at := nextMinute(clock.now())
	h.start()
	for i, op := range [][]string{
		{"disable", "job", "--yes"},
		{"enable", "job", "--yes"},
		{"replace", "job", "--schedule", "* * * * *", "--timezone", "UTC", "--cwd", dir, "--tier", "workspace", "--yes", "--note", "second", "--", "./job.sh"},
		{"remove", "job", "--yes"},
	} {
		if op[0] != "enable" {
			clock.strike(at)
			h.await("job", is("running"))
			at = at.Add(time.Minute)
		}
		h.must(op...)
		if op[0] == "enable" {
			continue
		}
		h.put(filepath.Join(dir, "soon"), "", 0o644)
		if err := os.Rename(filepath.Join(dir, "soon"), filepath.Join(dir, "go")); err != nil { // whole at once: the job removes it
			t.Fatal(err)
		}
		h.await("job", is("succeeded"))
		if op[0] != "replace" { // out of force: nothing is due
			clock.strike(at)
			time.Sleep(300 * time.Millisecond)
			at = at.Add(time.Minute)
		}
		if n := ran(t, dir); n != []int{1, 1, 2, 3}[i] {
			t.Errorf("%d runs after %s", n, op[0])
		}
	}
	for _, r := range h.rows("job") {
		if r.Outcome != "succeeded" {
			t.Errorf("%+v", r)
		}
	}
}

func TestJobsOverTheLimitRunOneAfterTheOther(t *testing.T) {
	t.Parallel() // it waits most of its time
	h, clock := clockHouse(t, quarterPast())
	h.args = []string{"--max-parallel", "1"}
	names := []string{"a", "b", "c"}
	for _, name := range names {
		h.addAt(name, h.script(name, "sleep 0.2"), "* * * * *")
	}
	h.start()
	clock.strike(nextMinute(clock.now()))
	var end time.Time
	for _, name := range names {
		r := h.await(name, is("succeeded"))
		if r.StartedAt.Before(end) {
			t.Errorf("%s started at %s, before the run before it ended at %s", name, r.StartedAt, end)
		}
		end = *r.EndedAt
	}
}

// TestNoJobDelaysAnother: a slow one, one that floods its output, one that
// crashes and one that cannot start, all due with a quick one.
func TestNoJobDelaysAnother(t *testing.T) {
	h, clock := clockHouse(t, quarterPast())
	h.args = []string{"--max-parallel", "8"}
	bodies := map[string]string{
		"broken": "true", "crash": "kill -SEGV $$", "flood": "while :; do echo flood flood flood; done",
		"slow": "sleep 600", "quick": "true",
	}
	for name, body := range bodies {
		h.addAt(name, h.script(name, body), "* * * * *")
	}
	must(t, os.Remove(filepath.Join(h.work, "broken", "job.sh")))
	h.start()
	begun := time.Now()
	clock.strike(nextMinute(clock.now()))
	h.await("quick", is("succeeded"))
	h.await("broken", is("refused"))
	if r := h.await("crash", is("failed")); r.Signal == "" && (r.ExitCode == nil || *r.ExitCode != 128+11) {
		t.Errorf("crash: %+v", r)
	}
	t.Logf("all short ones have their rows after %s", time.Since(begun))
	for _, name := range []string{"slow", "flood"} {
		r := h.await(name, is("running"))
		h.must("cancel", r.Run)
		h.await(name, is("killed"))
	}
}

func TestSlotsOfAGapAreOneRunAndOneSkippedRow(t *testing.T) {
	h, clock := clockHouse(t, time.Date(2027, 3, 28, 0, 59, 15, 0, time.UTC))
	h.addAt("job", h.script("ws", "true"), "0,30 2 * * *", "--timezone", "Europe/Berlin")
	h.start()
	clock.set(time.Date(2027, 3, 28, 1, 0, 0, 5e8, time.UTC)) // 01:59:59 is followed by 03:00:00
	reasonIs(t, h.some("job", "skipped"), jobspec.CodeCoalesced)
	h.some("job", "succeeded")
	if rows := h.rows("job"); len(rows) != 2 {
		t.Errorf("rows: %+v", rows)
	}
}

func TestAFixedTimeRunsOnceInARepeatedHour(t *testing.T) {
	h, clock := clockHouse(t, time.Date(2027, 10, 31, 0, 29, 15, 0, time.UTC))
	dir := h.script("ws", "echo -n x >>"+mark)
	h.addAt("job", dir, "30 2 * * *", "--timezone", "Europe/Berlin")
	h.start()
	clock.set(time.Date(2027, 10, 31, 0, 30, 0, 5e8, time.UTC))
	r := h.await("job", is("succeeded"))
	clock.set(time.Date(2027, 10, 31, 1, 30, 0, 5e8, time.UTC)) // 02:30 once more
	time.Sleep(500 * time.Millisecond)
	if rows := h.rows("job"); len(rows) != 1 || ran(t, dir) != 1 || r.Slot != "2027-10-31T02:30/Europe/Berlin#0" {
		t.Errorf("rows: %+v", rows)
	}
}
