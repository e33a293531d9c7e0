package engine

import (
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

func TestAnApprovalThatEndsSoonIsToldAtItsMarks(t *testing.T) {
	made := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	ends := func(length time.Duration, state jobspec.JobState, now time.Time) (int, bool) {
		return endsSoon(jobspec.Job{Name: "a", State: state}, jobspec.Timing{Anchor: jobspec.InstantOf(made), ExpiresAt: jobspec.InstantOf(made.Add(length))}, now)
	}
	for _, c := range []struct {
		length, left time.Duration
		mark         int
	}{
		{90 * day, 15 * day, 0}, {90 * day, 14*day + time.Second, 0}, {90 * day, 14 * day, 14}, {90 * day, 8 * day, 14},
		{90 * day, 7 * day, 7}, {90 * day, day + time.Second, 7}, {90 * day, day, 1}, {90 * day, time.Second, 1},
		{90 * day, 0, 0}, {90 * day, -time.Hour, 0}, // expired, which is another flag
		{14 * day, 7 * day, 7}, {13 * day, 7 * day, 0}, {2 * day, day, 1}, {day, time.Hour, 0},
	} {
		now := made.Add(c.length - c.left)
		mark, soon := ends(c.length, jobspec.JobActive, now)
		if mark != c.mark || soon != (c.mark != 0) {
			t.Errorf("%s of %s left: %d, want %d", c.left, c.length, mark, c.mark)
		}
	}
	if _, soon := ends(90*day, jobspec.JobDisabled, made.Add(89*day)); soon {
		t.Error("a job that is disabled is told of")
	}
}
