package scheduler

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot reads CLOCK_BOOTTIME (clock_gettime(2)), which counts sleep too.
func sinceBoot() time.Duration { return kernelClock(unix.CLOCK_BOOTTIME) }

// awakeSinceBoot reads CLOCK_MONOTONIC, which stands still during sleep.
func awakeSinceBoot() time.Duration { return kernelClock(unix.CLOCK_MONOTONIC) }

func kernelClock(id int32) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
