package beat

import (
	"testing"
	"time"
)

func TestAllThatIsLookedAtEachMinuteIsLookedAtTogether(t *testing.T) {
	from := time.Date(2026, 12, 1, 4, 0, 0, 0, time.UTC)
	for s := range 120 {
		now := from.Add(time.Duration(s) * 500 * time.Millisecond)
		for _, every := range []time.Duration{time.Minute, time.Hour} {
			wait := Until(every, now)
			if wait < every-30*time.Second || wait > every+30*time.Second {
				t.Errorf("%s for %s", wait, every)
			}
			if look := now.Add(wait); look.Second() != 29 || look.Nanosecond() != 5e8 {
				t.Errorf("a look at %s", look)
			}
		}
	}
	beat := from.Add(at)
	if wait := Until(time.Minute, beat); wait != time.Minute {
		t.Errorf("%s from one beat to the next", wait)
	}
	if wait := Until(20*time.Millisecond, beat); wait != 20*time.Millisecond {
		t.Errorf("%s for what is looked at more often", wait)
	}
}
