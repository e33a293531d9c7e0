package scheduler

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// step sets the wall clock by so many nanoseconds, 0 to 999999999 and whole seconds
// before, as clock_settime(2) does: timers of the kernel are told.
func step(seconds, nanoseconds int64) error {
	const setOffset, inNanoseconds = 0x0100, 0x2000 // ADJ_SETOFFSET, ADJ_NANO of <linux/timex.h>
	change := unix.Timex{Modes: setOffset | inNanoseconds}
	change.Time.Sec, change.Time.Usec = seconds, nanoseconds
	_, err := unix.Adjtimex(&change)
	return err
}

func rings(a Alarm) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		a.Wait()
		close(c)
	}()
	return c
}

// The machine's own clock is set, by a nanosecond and back: the alarm rings at once,
// and what comes of it is a look that finds nothing.
func TestSettingTheMachinesClockWakesTheAlarmAndHarmsNothing(t *testing.T) {
	timer, err := NewPreciseTimer(SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Stop()
	timer.Arm(time.Now().Add(20 * time.Second))
	before := look(SystemClock{})
	began := time.Now()
	if err := step(0, 1); errors.Is(err, unix.EPERM) {
		t.Skip("setting the clock needs root with CAP_SYS_TIME")
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := step(-1, 999_999_999); err != nil { // a nanosecond back
			t.Error(err)
		}
	}()
	select {
	case <-rings(timer):
		t.Logf("rang %s after the step", time.Since(began))
	case <-time.After(5 * time.Second):
		t.Error("the alarm did not hear that the clock was set")
	}
	if move, by := classify(before, look(SystemClock{})); move != MoveNormal && move != MoveLate {
		t.Errorf("a step of a nanosecond is a %s by %s", move, by)
	}
	timer.Arm(time.Now().Add(10 * time.Millisecond)) // and it can be armed again
	select {
	case <-rings(timer):
	case <-time.After(5 * time.Second):
		t.Error("the alarm rings no more")
	}
}
