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

// ClockSynchronised reports whether the kernel says that somebody keeps the wall
// clock right (adjtimex(2), STA_UNSYNC). Asking changes nothing and needs no right.
func ClockSynchronised() bool {
	var state unix.Timex
	got, err := unix.Adjtimex(&state)
	return err == nil && got != timeError && state.Status&staUnsync == 0
}

// Of <sys/timex.h>.
const (
	staUnsync = 0x40
	timeError = 5
)
