// Package beat lets all that a service looks at each minute be looked at together, so
// that one which has nothing to do wakes up for it once. It uses the standard library
// only, and anything under cmd may import it.
package beat

import "time"

// at is when in a minute that is: not at its begin, when most jobs are due.
const at = 29500 * time.Millisecond

// Until is how long to wait from now for the next look of something that is looked at
// each so often: up to half a minute more or less, and never less than half of it.
// What is looked at more often than each minute keeps its own time.
func Until(every time.Duration, now time.Time) time.Duration {
	if every < time.Minute {
		return every
	}
	now = now.Round(0)
	wait := now.Add(every).Truncate(time.Minute).Add(at).Sub(now)
	if wait < every/2 {
		wait += time.Minute
	}
	return wait
}
