//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
)

// canary is what the payloads of these tests do first. A file of the workspace
// tells of it, whatever the program records.
const canary = "echo ran >> ran"

// starts counts from outside how often the payload of a folder began.
func (h *house) starts(dir string) int {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "ran"))
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

func TestTheCanaryCountsWhereTheSandboxHolds(t *testing.T) {
	h := newHouse(t)
	dir := h.script("ws", canary)
	h.add("job", dir, "workspace", "./job.sh")
	h.start()
	h.must("run", "job", "--wait")
	if n := h.starts(dir); n != 1 {
		t.Errorf("the payload began %d times, want 1", n)
	}
}

func TestNothingStartsWithoutASandbox(t *testing.T) {
	h := newHouse(t)
	dir := h.script("ws", canary)
	h.add("byhand", dir, "workspace", "./job.sh")
	for _, c := range conditions() {
		t.Run(c.name, func(t *testing.T) {
			c.need(t)
			h := h.under(t)
			s := h.start(c.env())
			c.refusesByHand(h)
			s.stop()
			c.refusesToAdd(h, dir)
			if n := h.starts(dir); n != 0 {
				t.Errorf("the payload began %d times", n)
			}
		})
	}
}

func TestNoSlotStartsWithoutASandbox(t *testing.T) {
	for _, c := range conditions() {
		if !c.timed && !soak() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			c.need(t)
			h := newHouse(t)
			dir := h.script("ws", canary)
			h.must("add", "due", "--schedule", "* * * * *", "--cwd", dir, "--tier", "workspace", "--yes", "--", "./job.sh")
			s := h.start(c.env(), soon())
			c.refusesBySchedule(h, s)
			if n := h.starts(dir); n != 0 {
				t.Errorf("the payload began %d times", n)
			}
		})
	}
}

// under is the same house in a test below.
func (h *house) under(t *testing.T) *house {
	again := *h
	again.t = t
	return &again
}

// soon moves the clock so that a minute begins a little later.
func soon() string {
	return fmt.Sprintf("%s=%d", envOffset, (60+56-time.Now().Second())%60)
}

func (c condition) refusesByHand(h *house) {
	h.t.Helper()
	e := h.failure("run", "byhand")
	if e.ErrCode != c.code || e.Exit != 14 {
		h.t.Errorf("run: %+v, want %s and 14", e, c.code)
	}
	if r := h.run("run", "byhand", "--wait"); r.code != 125 {
		h.t.Errorf("run --wait: exit %d, want 125\n%s", r.code, r.err)
	}
	rows := items[api.Run](h, "history", "byhand", "--limit", "2")
	if len(rows) != 2 {
		h.t.Fatalf("history: %d rows, want 2: %+v", len(rows), rows)
	}
	for _, row := range rows {
		c.refusedRow(h, row, "manual")
	}
}

func (c condition) refusesBySchedule(h *house, s *service) {
	h.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if rows := items[api.Run](h, "history", "due"); len(rows) > 0 {
			c.refusedRow(h, rows[len(rows)-1], "schedule")
			return
		}
	}
	h.t.Errorf("the slot has no row: %s", s.log)
}

func (c condition) refusedRow(h *house, row api.Run, trigger string) {
	h.t.Helper()
	if row.Outcome != "refused" || row.StartedAt != nil || row.ExitCode != nil || len(row.Outputs) > 0 || row.Trigger != trigger || len(row.Reasons) == 0 {
		h.t.Errorf("row of a run that did not start: %+v", row)
		return
	}
	r := row.Reasons[0]
	if r.Code != c.code || !strings.Contains(r.Remedy+r.Detail, c.remedy) || r.Remedy == "" || r.Detail == "" {
		h.t.Errorf("reason %+v, want %s and advice about %q", r, c.code, c.remedy)
	}
}

// refusesToAdd: an owner on that machine learns of it before signing.
func (c condition) refusesToAdd(h *house, dir string) {
	h.t.Helper()
	r := h.runEnv([]string{c.env()}, "add", "more", "--schedule", "@daily", "--cwd", dir, "--tier", "workspace", "--yes", "--", "./job.sh")
	if r.code != 14 || !strings.Contains(r.err, c.remedy) {
		h.t.Errorf("add: exit %d, want 14 and advice about %q\n%s", r.code, c.remedy, r.err)
	}
}
