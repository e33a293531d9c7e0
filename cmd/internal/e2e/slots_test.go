//go:build linux

package e2e

import (
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// A run that fails is tried again in a sandbox of its own, under one claim; the output
// of each attempt is kept and bound.
func TestARunThatFailsIsTriedAgain(t *testing.T) {
	h := newHouse(t)
	h.addAt("job", h.script("ws", "if [ -e tried ]; then echo second; exit 0; fi; touch tried; echo first; exit 7"), "0 0 1 1 *", "--retries", "2")
	h.start()
	h.must("run", "job", "--wait")
	r := h.await("job", is("succeeded"))
	if len(r.Attempts) != 2 || r.Attempts[0].Outcome != "failed" || r.Attempts[0].ExitCode == nil || *r.Attempts[0].ExitCode != 7 || r.Attempts[1].Outcome != "succeeded" {
		t.Errorf("%+v", r.Attempts)
	}
	for stream, want := range map[string]string{"out": "first\n", "out.2": "second\n"} {
		if got := h.must("logs", r.Run, "--stream", stream); got != want {
			t.Errorf("%s: %q, want %q", stream, got, want)
		}
	}
	if got := h.must("logs", r.Run); got != "first\nsecond\n" {
		t.Errorf("logs: %q", got)
	}
	h.must("audit", "verify")
}

func TestASlotReplacesTheRunThatIsNotOver(t *testing.T) {
	h, clock := clockHouse(t, quarterPast())
	h.addAt("job", h.script("ws", "sleep 600"), "* * * * *", "--overlap", "replace")
	first := nextMinute(clock.now())
	h.start()
	clock.strike(first)
	run := h.await("job", is("running"))
	clock.strike(first.Add(time.Minute))
	killed := h.some("job", "killed")
	reasonIs(t, killed, jobspec.CodeOverlapReplaced)
	if next := h.await("job", is("running")); killed.Run != run.Run || next.Run == run.Run {
		t.Errorf("killed %s and running %s, after %s", killed.Run, next.Run, run.Run)
	}
}

func TestTheNewestMissedSlotIsCaughtUpWithTheDeadlineThatAddWroteOut(t *testing.T) {
	h, clock := clockHouse(t, quarterPast())
	hour := clock.now().Truncate(time.Hour)
	h.addAt("job", h.script("ws", "true"), "0 * * * *", "--missed", "once")
	clock.set(hour.Add(3*time.Hour + 20*time.Minute)) // within half of the period
	h.start()
	r := h.await("job", is("succeeded"))
	if r.Trigger != "catch_up" || !r.ScheduledFor.Equal(hour.Add(3*time.Hour)) {
		t.Errorf("trigger %s, scheduled for %s", r.Trigger, r.ScheduledFor)
	}
	if missed := h.some("job", "missed"); missed.SlotCount != 2 {
		t.Errorf("%+v", missed)
	}
}

func TestAHoldUntilATimeEndsByItself(t *testing.T) {
	h, clock := clockHouse(t, quarterPast())
	h.addAt("job", h.script("ws", "true"), "* * * * *")
	first := nextMinute(clock.now())
	h.start()
	h.must("hold", "job", "--until", first.Add(time.Minute).UTC().Format(time.RFC3339), "--reason", "maintenance")
	clock.strike(first)
	reasonIs(t, h.some("job", "held"), jobspec.CodeJobHeld)
	d, err := h.service().Job(t.Context(), "job")
	must(t, err)
	if d.Hold == nil || d.Hold.Until == nil || !d.Hold.Until.Equal(first.Add(time.Minute)) {
		t.Errorf("%+v", d.Hold)
	}
	clock.strike(first.Add(time.Minute))
	if r := h.some("job", "succeeded"); !r.ScheduledFor.Equal(first.Add(time.Minute)) {
		t.Errorf("%+v", r)
	}
	if d, err = h.service().Job(t.Context(), "job"); err != nil || d.Hold != nil {
		t.Errorf("%+v, %v", d.Hold, err)
	}
}
