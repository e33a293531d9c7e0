//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/scheduler"
)

func (c shiftedClock) shift() time.Duration {
	if c.file == "" {
		return c.offset
	}
	b, err := os.ReadFile(c.file)
	if err != nil {
		panic(err) // a clock that stands at another time would hide what the test is about
	}
	d, err := time.ParseDuration(string(b))
	if err != nil {
		panic(err)
	}
	return c.offset + d
}

// pollEach is how often a polled alarm looks at the clock.
const pollEach = 10 * time.Millisecond

// poll is an alarm that follows a clock which is set by leaps.
type poll struct {
	clock scheduler.Clock
	ring  chan struct{}
	stop  chan struct{}
	once  sync.Once

	mu sync.Mutex
	at time.Time // zero: not armed
}

func newPoll(clock scheduler.Clock) scheduler.Alarm {
	p := &poll{clock: clock, ring: make(chan struct{}, 1), stop: make(chan struct{})}
	go p.watch()
	return p
}

func (p *poll) watch() {
	for {
		select {
		case <-p.stop:
			return
		case <-time.After(pollEach):
		}
		if !p.due() {
			continue
		}
		p.Ring()
	}
}

func (p *poll) Ring() {
	select {
	case p.ring <- struct{}{}:
	default:
	}
}

func (p *poll) Wait() { <-p.ring }

func (p *poll) due() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at.IsZero() || p.clock.Now().Before(p.at) {
		return false
	}
	p.at = time.Time{}
	return true
}

func (p *poll) Arm(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = at
}

func (p *poll) Stop() { p.once.Do(func() { close(p.stop) }) }

// dial is a clock that a test sets for every program of a house.
type dial struct {
	t     *testing.T
	file  string
	shift time.Duration
}

// newDial makes the clock of a house that is not used yet, at the given time.
func newDial(t *testing.T, dir string, at time.Time) *dial {
	t.Helper()
	d := &dial{t: t, file: filepath.Join(dir, "clock")}
	d.set(at)
	return d
}

// env tells a program of this clock.
func (d *dial) env() string { return envClock + "=" + d.file }

func (d *dial) now() time.Time { return time.Now().Add(d.shift) }

// set leaps to a time.
func (d *dial) set(at time.Time) {
	d.t.Helper()
	d.shift = time.Until(at)
	if err := os.WriteFile(d.file+".new", []byte(d.shift.String()), 0o644); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(d.file+".new", d.file); err != nil {
		d.t.Fatal(err)
	}
}

// clockHouse is a house with a clock of its own, set to some time.
func clockHouse(t *testing.T, at time.Time) (*house, *dial) {
	t.Helper()
	h := emptyHouse(t)
	d := newDial(t, h.dir, at)
	h.env = append(h.env, d.env())
	h.init()
	return h, d
}

// nextMinute is the first whole minute after a time, in UTC.
func nextMinute(t time.Time) time.Time { return t.UTC().Truncate(time.Minute).Add(time.Minute) }

// eventually waits until ok, and fails with what the caller says after a while.
func eventually(t *testing.T, limit time.Duration, ok func() bool, what func() string) {
	t.Helper()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("after %s: %s", limit, what())
}

// soak reports whether the long loops are asked for.
func soak() bool { return os.Getenv("SBXCRON_TEST_SOAK") == "1" }

// bounded is the number of rounds of a loop.
func bounded(ci, long int) int {
	if soak() {
		return long
	}
	return ci
}

// pause waits while the test holds the step, and tells that it is reached.
func (s *steps) pause(name string) {
	if s.halt == "" {
		return
	}
	gate := filepath.Join(s.halt, strings.ReplaceAll(name, " ", "-"))
	if _, err := os.Stat(gate); err != nil {
		return
	}
	_ = os.WriteFile(gate+".reached", nil, 0o600) // the test notices when it is missing
	for range 1000 {
		if _, err := os.Stat(gate); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
