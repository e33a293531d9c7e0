package scheduler

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PreciseTimer is an Alarm on a timer of the kernel: a Go timer rings up to a
// millisecond late, since the runtime waits in whole milliseconds. It follows the
// wall clock also when that is set, and rings then.
//
// Whoever waits for it waits in the runtime's poller, so that a ring wakes one thread,
// which is the one that goes on. Its calls of the kernel never block, and are made
// without telling the runtime, which otherwise wakes its watchdog at the first call
// after a sleep: that took more of a processor than all that is done at a wake.
type PreciseTimer struct {
	clock Clock
	fd    int // timerfd; open until closed is true
	file  *os.File
	conn  syscall.RawConn
	once  sync.Once
	look  func(fd uintptr) bool // is hasRung
	// failed says that the kernel gave an error instead of a ring; for who waits.
	failed bool

	mu     sync.Mutex
	rung   bool // and not heard yet
	closed bool
}

// NewPreciseTimer makes an alarm that follows the clock and is not armed.
func NewPreciseTimer(clock Clock) (*PreciseTimer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("make a timer: %w", err)
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	if err := file.SetReadDeadline(time.Time{}); err != nil { // the runtime cannot wait for it
		file.Close()
		return nil, fmt.Errorf("wait for a timer: %w", err)
	}
	conn, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("wait for a timer: %w", err)
	}
	t := &PreciseTimer{clock: clock, fd: fd, file: file, conn: conn}
	t.look = t.hasRung
	return t, nil
}

// Wait returns when it rings, and at once where it is stopped. An error of the kernel
// is a ring after a second: rather too often than never.
func (t *PreciseTimer) Wait() {
	err := t.conn.Read(t.look)
	t.mu.Lock()
	t.rung = false
	failed := !t.closed && (err != nil || t.failed)
	t.mu.Unlock()
	if failed {
		time.Sleep(time.Second)
	}
}

// hasRung takes the ring of the kernel's timer, false where there is none yet.
func (t *PreciseTimer) hasRung(fd uintptr) bool {
	var times [8]byte
	_, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&times)), unsafe.Sizeof(times))
	t.failed = false
	switch errno {
	case 0, unix.ECANCELED: // the clock was set, which is worth a look too
	case unix.EAGAIN, unix.EINTR:
		return false
	default:
		t.failed = true
	}
	return true
}

// longestPrecise bounds a sleep. The kernel's timer hears of all that a Go timer does
// not, see longestSleep; a look now and then stands in for what nobody thought of.
const longestPrecise = time.Minute

// Arm sets the next ring, at most a minute away. The zero time stands for no instant
// and rings after that minute.
func (t *PreciseTimer) Arm(at time.Time) {
	sleep := longestPrecise
	if !at.IsZero() {
		sleep = min(max(at.Sub(t.clock.Now()), 0), longestPrecise)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.rung { // what has rung and was not heard goes first
		return
	}
	if t.set(time.Now().Add(sleep).UnixNano()) != nil {
		t.ringNow()
	}
}

// Ring rings at once.
func (t *PreciseTimer) Ring() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.rung {
		return
	}
	t.ringNow()
}

// ringNow makes the kernel's timer ring at once. The caller holds mu.
func (t *PreciseTimer) ringNow() {
	const longAgo = 1 // never zero, which would disarm it
	if t.rung = t.set(longAgo) == nil; !t.rung {
		time.AfterFunc(time.Second, t.Ring)
	}
}

// set arms the kernel's timer. ECANCELED says that it is armed and that the clock was
// set since the last time. The caller holds mu.
func (t *PreciseTimer) set(at int64) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(at)}
	_, _, errno := unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(t.fd), unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET,
		uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// Stop ends the timer, and every wait for it.
func (t *PreciseTimer) Stop() {
	t.once.Do(func() {
		t.mu.Lock()
		t.closed = true
		t.mu.Unlock()
		_ = t.file.Close() // nothing is written through it
	})
}
