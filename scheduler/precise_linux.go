package scheduler

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// PreciseTimer is an Alarm on a timer of the kernel that a thread of its own waits
// for: a Go timer rings up to a millisecond late, since the runtime waits in whole
// milliseconds. It follows the wall clock also when that is set, and rings then.
type PreciseTimer struct {
	clock Clock
	timer int // timerfd
	stop  int // eventfd
	ring  chan struct{}
	over  chan struct{}
	once  sync.Once

	mu     sync.Mutex
	closed bool
}

// NewPreciseTimer makes an alarm that follows the clock and is not armed.
func NewPreciseTimer(clock Clock) (*PreciseTimer, error) {
	timer, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("make a timer: %w", err)
	}
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(timer)
		return nil, fmt.Errorf("make a timer: %w", err)
	}
	t := &PreciseTimer{clock: clock, timer: timer, stop: stop, ring: make(chan struct{}, 1), over: make(chan struct{})}
	go t.wait()
	return t, nil
}

// wait has a thread of its own, so that nothing of the runtime lies between the
// kernel's timer and the ring.
func (t *PreciseTimer) wait() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(t.over)
	fds := []unix.PollFd{{Fd: int32(t.timer), Events: unix.POLLIN}, {Fd: int32(t.stop), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err != nil {
			if err != unix.EINTR { // no memory for it, now: rather too often than never
				time.Sleep(time.Second)
				t.soon()
			}
			continue
		}
		if fds[1].Revents != 0 {
			return
		}
		if fds[0].Revents == 0 {
			continue
		}
		var times [8]byte
		_, _ = unix.Read(t.timer, times[:]) // ECANCELED: the clock was set, which is worth a look too
		t.soon()
	}
}

// Arm sets the next ring, at most 30 seconds away. The zero time stands for no
// instant and rings after those 30 seconds.
func (t *PreciseTimer) Arm(at time.Time) {
	sleep := longestSleep
	if !at.IsZero() {
		sleep = min(max(at.Sub(t.clock.Now()), 0), longestSleep)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	// Never zero, which would disarm it.
	when := unix.NsecToTimespec(time.Now().Add(max(sleep, time.Nanosecond)).UnixNano())
	spec := &unix.ItimerSpec{Value: when}
	if err := unix.TimerfdSettime(t.timer, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, spec, nil); err != nil {
		t.soon() // rather too often than never
	}
}

// soon rings, once for a ring that nobody has heard yet.
func (t *PreciseTimer) soon() {
	select {
	case t.ring <- struct{}{}:
	default:
	}
}

// C rings.
func (t *PreciseTimer) C() <-chan struct{} { return t.ring }

// Stop ends the timer and its thread.
func (t *PreciseTimer) Stop() {
	t.once.Do(func() {
		t.mu.Lock()
		t.closed = true
		t.mu.Unlock()
		_, _ = unix.Write(t.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // an eventfd takes it
		<-t.over
		unix.Close(t.timer)
		unix.Close(t.stop)
	})
}
