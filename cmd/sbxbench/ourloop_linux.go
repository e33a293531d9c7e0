package main

import (
	"crypto/sha256"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler"
)

// ourLoop is our timetable and timer with jobs that do nothing: what the service's
// loop does for the schedule alone, as robfig/cron's does.
type ourLoop struct {
	table scheduler.Timetable
	alarm scheduler.Alarm
	adds  chan scheduler.Entry
	asks  chan chan struct{}
	quit  chan struct{}
	over  chan struct{}
	ran   atomic.Int64 // jobs that were due
	err   error        // of an add; read after over
}

func newOurLoop(texts []string, busy int) (*ourLoop, error) {
	alarm, err := scheduler.NewPreciseTimer(scheduler.SystemClock{})
	if err != nil {
		return nil, err
	}
	l := &ourLoop{alarm: alarm, adds: make(chan scheduler.Entry), asks: make(chan chan struct{}),
		quit: make(chan struct{}), over: make(chan struct{})}
	now := time.Now()
	for i := range busy * 60 { // a minute is the shortest interval: so many are due each second
		e := entryOf(len(texts)+i, "", now.Add(time.Duration(i%60-60)*time.Second))
		e.Schedule = jobspec.Schedule{EverySeconds: 60, Timezone: "UTC"}
		if err := l.table.Set(e, now); err != nil {
			return nil, err
		}
	}
	for i, text := range texts {
		if err := l.table.Set(entryOf(i, text, now), now); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// entryOf is a job of its own name and op.
func entryOf(i int, text string, at time.Time) scheduler.Entry {
	name := jobName(i)
	return scheduler.Entry{Job: jobspec.Name(name), Op: jobspec.Digest(sha256.Sum256([]byte(name))), Seq: int64(i),
		Schedule: jobspec.Schedule{Cron: text, Timezone: "UTC"}, Anchor: at, Since: at}
}

func jobName(i int) string { return fmt.Sprintf("%s-%07d", launchJob, i) }

// start returns once the first timer is armed.
func (l *ourLoop) start() {
	go l.run()
	l.settle()
}

func (l *ourLoop) run() {
	defer close(l.over)
	for {
		at, _ := l.table.NextAt()
		l.alarm.Arm(at)
		select {
		case <-l.alarm.C():
			for range l.table.Due(time.Now()) {
				go l.ran.Add(1)
			}
		case e := <-l.adds:
			if err := l.table.Set(e, time.Now()); err != nil {
				l.err = err
			}
		case answer := <-l.asks:
			close(answer)
		case <-l.quit:
			return
		}
	}
}

// add adds a job to the running loop.
func (l *ourLoop) add(i int, text string) { l.adds <- entryOf(i, text, time.Now()) }

// settle returns once all that was added is in its place.
func (l *ourLoop) settle() {
	answer := make(chan struct{})
	l.asks <- answer
	<-answer
}

func (l *ourLoop) stop() error {
	close(l.quit)
	<-l.over
	l.alarm.Stop()
	return l.err
}
