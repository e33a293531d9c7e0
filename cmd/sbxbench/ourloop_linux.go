package main

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler"
)

// ourLoop is our timetable and timer with jobs that do nothing: what the service's
// loop does for the schedule alone, as robfig/cron's does. Who adds a job does so
// under the loop's lock and wakes it where the job is due before all others, as the
// service does.
type ourLoop struct {
	alarm scheduler.Alarm

	mu    sync.Mutex // guards all below
	table scheduler.Timetable
	n     int   // jobs that were ever added
	due   int64 // jobs that were due
}

func newOurLoop(texts []string, busy int) (*ourLoop, error) {
	alarm, err := scheduler.NewPreciseTimer(scheduler.SystemClock{})
	if err != nil {
		return nil, err
	}
	l := &ourLoop{alarm: alarm}
	now := time.Now()
	for i := range busy * 60 { // a minute is the shortest interval: so many are due each second
		e := l.entry("", now.Add(time.Duration(i%60-60)*time.Second))
		e.Schedule = jobspec.Schedule{EverySeconds: 60, Timezone: "UTC"}
		if err := l.table.Set(e, now); err != nil {
			return nil, err
		}
	}
	for _, text := range texts {
		if err := l.table.Set(l.entry(text, now), now); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// entry is a job of its own name and op.
func (l *ourLoop) entry(text string, at time.Time) scheduler.Entry {
	name := fmt.Sprintf("%s-%07d", launchJob, l.n)
	l.n++
	return scheduler.Entry{Job: jobspec.Name(name), Op: jobspec.Digest(sha256.Sum256([]byte(name))), Seq: int64(l.n),
		Schedule: jobspec.Schedule{Cron: text, Timezone: "UTC"}, Anchor: at, Since: at}
}

func (l *ourLoop) start() {
	l.alarm.Arm(l.look())
	go func() {
		for {
			l.alarm.Wait()
			l.alarm.Arm(l.look())
		}
	}()
}

// look takes what is due now, and says when something is due next. A job that does
// nothing needs no goroutine.
func (l *ourLoop) look() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due += int64(len(l.table.Due(time.Now())))
	next, _ := l.table.NextAt()
	return next
}

func (l *ourLoop) adder(text string) func() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(text, time.Now())
	return func() error { return l.add(e) }
}

func (l *ourLoop) add(e scheduler.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, _ := l.table.NextAt()
	if err := l.table.Set(e, time.Now()); err != nil {
		return err
	}
	if next, _ := l.table.NextAt(); next.Before(before) {
		l.alarm.Ring()
	}
	return nil
}

// settle has nothing to wait for: an add is in its place when it returns.
func (l *ourLoop) settle() {}

func (l *ourLoop) ran() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.due
}
