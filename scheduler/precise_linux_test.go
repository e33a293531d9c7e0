package scheduler_test

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/scheduler"
)

func TestThePreciseTimerRingsAtItsInstantAndNotBefore(t *testing.T) {
	a, err := scheduler.NewPreciseTimer(scheduler.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Stop()
	for _, d := range []time.Duration{-time.Hour, 0, time.Millisecond, 30 * time.Millisecond} {
		at := time.Now().Add(d)
		a.Arm(at)
		select {
		case <-rings(a):
		case <-time.After(5 * time.Second):
			t.Fatalf("armed for %s from now, and silent", d)
		}
		if early := time.Until(at); early > 0 {
			t.Errorf("rang %s early", early)
		}
	}
	a.Arm(time.Now().Add(10 * time.Millisecond))
	later := time.Now().Add(100 * time.Millisecond)
	a.Arm(later) // in place of the one before
	a.Wait()
	if time.Now().Before(later) {
		t.Error("the former instant rang")
	}
}

func TestAStoppedTimerKeepsNobodyAndLeavesNothing(t *testing.T) {
	before := descriptors(t)
	a, err := scheduler.NewPreciseTimer(scheduler.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	a.Arm(time.Now().Add(20 * time.Millisecond))
	a.Stop()
	a.Stop()
	a.Arm(time.Now())
	a.Ring()
	select {
	case <-rings(a):
	case <-time.After(5 * time.Second):
		t.Error("whoever waits for a stopped timer waits for ever")
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d timers before, %d after", before, after)
	}
}

// A ring is heard also where another instant is armed behind it, and once only.
func TestARingThatNobodyHasHeardYetStays(t *testing.T) {
	a, err := scheduler.NewPreciseTimer(scheduler.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Stop()
	for range 3 {
		a.Ring()
		a.Ring()
		a.Arm(time.Now().Add(time.Hour))
		select {
		case <-rings(a):
		case <-time.After(5 * time.Second):
			t.Fatal("armed again, it forgot a ring")
		}
	}
	at := time.Now().Add(50 * time.Millisecond)
	a.Arm(at)
	if a.Wait(); time.Now().Before(at) {
		t.Error("a ring was heard twice")
	}
}

// Rings of many goroutines while the loop waits and arms: none is lost.
func TestNoRingIsLostBetweenAWaitAndAnArm(t *testing.T) {
	a, err := scheduler.NewPreciseTimer(scheduler.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Stop()
	const each = 2000
	var asked, seen atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for seen.Load() < 4*each {
			a.Arm(time.Now().Add(time.Hour))
			a.Wait()
			seen.Store(asked.Load())
		}
	}()
	for range 4 {
		go func() {
			for range each {
				asked.Add(1)
				a.Ring()
			}
		}()
	}
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%d of %d rings were heard", seen.Load(), asked.Load())
	}
}

func rings(a scheduler.Alarm) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		a.Wait()
		close(c)
	}()
	return c
}

func descriptors(t *testing.T) (n int) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.Contains(to, "timerfd") {
			n++
		}
	}
	return n
}
