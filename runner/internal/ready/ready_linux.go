// Package ready asks the kernel whether a descriptor has something to say. A bare
// poll(2) fails with EINTR when a signal comes, without a timeout too, and Go's
// scheduler sends signals: whoever forgets that takes "asked too soon" for an answer.
package ready

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// Now reports which of the events, or of those that need no asking (POLLHUP,
// POLLERR, POLLNVAL), a descriptor has. It does not wait.
func Now(fd int, events int16) (int16, error) { return Within(fd, events, 0) }

// Within waits for one of the events for at most the given time, and for ever when
// that is negative. It returns zero when the time is over.
func Within(fd int, events int16, wait time.Duration) (int16, error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
	for until := time.Now().Add(wait); ; {
		_, err := unix.Poll(fds, milliseconds(wait))
		if !errors.Is(err, unix.EINTR) {
			return fds[0].Revents, err
		}
		if wait > 0 {
			wait = max(0, time.Until(until))
		}
	}
}

// milliseconds rounds up: less than one is not "do not wait".
func milliseconds(wait time.Duration) int {
	if wait < 0 {
		return -1
	}
	return int((wait + time.Millisecond - 1) / time.Millisecond)
}
