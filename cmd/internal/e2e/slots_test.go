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
