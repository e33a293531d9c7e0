package daemon

import (
	"context"
	"sync"
	"testing"
	"time"
)

// watched is a watch with a clock and packages that the test moves.
type watched struct {
	mu       sync.Mutex
	now      time.Time
	packages string
	conf     string
	judged   int
	looks    int
}

func (w *watched) set(change func(w *watched)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w)
}

// settles waits until the watch has looked a few times more, and gives the count.
func (w *watched) settles() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for until := w.looks + 5; w.looks < until; {
		w.mu.Unlock()
		time.Sleep(time.Millisecond)
		w.mu.Lock()
	}
	return w.judged
}

func TestJobsAreJudgedHourlyAndAfterAChangeOfPackagesOrRules(t *testing.T) {
	w := &watched{now: time.Unix(1_800_000_000, 0), packages: "a"}
	f := Foresight{First: time.Minute, Every: time.Hour, Look: time.Millisecond, Packages: func() string {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.looks++
		return w.packages
	}}
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		f.watch(ctx, func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now },
			func() string { w.mu.Lock(); defer w.mu.Unlock(); return w.conf },
			func(context.Context) { w.set(func(w *watched) { w.judged++ }) })
	})
	for i, step := range []struct {
		what   string
		change func(w *watched)
		want   int
	}{
		{"just started", func(*watched) {}, 0},
		{"a minute later", func(w *watched) { w.now = w.now.Add(time.Minute) }, 1},
		{"59 minutes later", func(w *watched) { w.now = w.now.Add(59 * time.Minute) }, 1},
		{"an hour later", func(w *watched) { w.now = w.now.Add(time.Minute) }, 2},
		{"after an update", func(w *watched) { w.packages = "b" }, 3},
		{"nothing more", func(*watched) {}, 3},
		{"a key was revoked", func(w *watched) { w.conf = "revoked" }, 4},
		{"nothing more", func(*watched) {}, 4},
	} {
		w.set(step.change)
		if got := w.settles(); got != step.want {
			t.Errorf("step %d, %s: judged %d times, want %d", i, step.what, got, step.want)
		}
	}
	stop()
	done.Wait()
}
