package scheduler_test

import (
	"os"
	"strings"
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
		case <-a.C():
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
	<-a.C()
	if time.Now().Before(later) {
		t.Error("the former instant rang")
	}
}

func TestAStoppedTimerIsSilentAndLeavesNothing(t *testing.T) {
	before := descriptors(t)
	a, err := scheduler.NewPreciseTimer(scheduler.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	a.Arm(time.Now().Add(20 * time.Millisecond))
	a.Stop()
	a.Stop()
	a.Arm(time.Now())
	select {
	case <-a.C():
		t.Error("rang after its end")
	case <-time.After(60 * time.Millisecond):
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d timers before, %d after", before, after)
	}
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
