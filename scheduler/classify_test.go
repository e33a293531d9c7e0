package scheduler

import (
	"testing"
	"time"
)

func TestEachMoveOfTheClocksHasItsName(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	before := looks{wall: at, boot: time.Hour, awake: time.Hour}
	const s, m, h = time.Second, time.Minute, time.Hour
	for _, c := range []struct {
		wall, boot, awake time.Duration // that passed
		want              Move
		by                time.Duration
	}{
		{30 * s, 30 * s, 30 * s, MoveNormal, 30 * s},
		{34 * s, 30 * s, 30 * s, MoveNormal, 30 * s}, // a slew, or a busy machine
		{26 * s, 30 * s, 30 * s, MoveNormal, 30 * s},
		{0, 0, 0, MoveNormal, 0},
		{64 * s, 64 * s, 64 * s, MoveNormal, 64 * s},
		{80 * s, 80 * s, 80 * s, MoveLate, 80 * s},
		{8 * h, 8 * h, 10 * s, MoveSuspended, 8*h - 10*s},
		{10 * s, 10 * s, 4 * s, MoveSuspended, 6 * s},
		{4*m + s, s, s, MoveForward, 4 * m},
		{2*h + s, s, s, MoveForward, 2 * h},
		{-40 * m, 0, 0, MoveBack, -40 * m},
		{-6 * s, 0, 0, MoveBack, -6 * s},
		{0, 8 * h, 0, MoveBack, -8 * h}, // it slept, and woke with the old time
		{25 * h, s, s, MoveAbsurd, 25*h - s},
		{-3 * 365 * 24 * h, s, s, MoveAbsurd, -3*365*24*h - s},
	} {
		now := looks{wall: at.Add(c.wall), boot: before.boot + c.boot, awake: before.awake + c.awake}
		if got, by := classify(before, now); got != c.want || by != c.by {
			t.Errorf("wall %s, boot %s, awake %s: %s by %s, want %s by %s", c.wall, c.boot, c.awake, got, by, c.want, c.by)
		}
		if told := clockMoved(c.want, c.by); (told == "") != (c.want == MoveNormal) {
			t.Errorf("%s is told as %q", c.want, told)
		}
	}
	if got, _ := classify(looks{}, before); got != MoveUnknown {
		t.Errorf("the first look is %s", got)
	}
}

func TestTheSystemClockKnowsSleep(t *testing.T) {
	var c Clock = SystemClock{}
	if _, ok := c.(Awake); !ok {
		t.Error("the machine's clock cannot tell sleep from delay")
	}
	if l := look(c); l.awake > l.boot+time.Second {
		t.Errorf("awake for %s of %s since the machine started", l.awake, l.boot)
	}
}
