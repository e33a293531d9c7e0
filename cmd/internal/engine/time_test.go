package engine

import (
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// clocks are a machine's: the wall clock of the bench, the one that nobody sets, and
// what the kernel says of the first.
type clocks struct {
	boot   time.Duration
	synced bool
}

func (b *bench) serveWith(c *clocks) *Engine {
	b.t.Helper()
	e := b.open(true)
	e.Boot, e.Synchronised = func() time.Duration { return c.boot }, func() bool { return c.synced }
	e.base = time.Time{}
	must(b.t, e.findHighest())
	return e
}

func (b *bench) pass(c *clocks, d time.Duration) {
	b.now = b.now.Add(d)
	c.boot += d
}

func TestAStepOfMoreThanADayIsFollowedOnlyWhereSomethingVouchesForIt(t *testing.T) {
	for name, vouch := range map[string]func(b *bench, c *clocks, e *Engine){
		"a synchronised clock": func(_ *bench, c *clocks, _ *Engine) { c.synced = true },
		"an op": func(b *bench, _ *clocks, e *Engine) {
			e.mu.Lock()
			e.vouch(b.now) // as putInForce does
			e.mu.Unlock()
		},
		"a start of the service": func(_ *bench, _ *clocks, e *Engine) { must(t, e.findHighest()) },
	} {
		t.Run(name, func(t *testing.T) {
			b, c := newBench(t), &clocks{boot: time.Hour}
			e := b.serveWith(c)
			b.pass(c, time.Hour)
			right := b.now
			b.now = b.now.Add(3 * 365 * 24 * time.Hour)
			if code, _ := e.ClockDoubt(); code != jobspec.CodeClockUntrusted || !e.Now().Equal(right) {
				t.Errorf("%q, and it is %s, want %s", code, e.Now(), right)
			}
			c.boot += time.Minute // time goes on by the other clock
			if !e.Now().Equal(right.Add(time.Minute)) {
				t.Errorf("a minute later it is %s", e.Now())
			}
			vouch(b, c, e)
			if code, _ := e.ClockDoubt(); code != "" || !e.Now().Equal(b.now) {
				t.Errorf("vouched for, and %q at %s", code, e.Now())
			}
		})
	}
}

func TestAStepThatIsNotBelievedLeavesNothingBehind(t *testing.T) {
	b, c := newBench(t), &clocks{boot: time.Hour}
	e := b.serveWith(c)
	right := b.now
	b.now = b.now.Add(3 * 365 * 24 * time.Hour)
	must(t, e.note(&record.Leaf{Kind: record.Alert}))
	if e.Problems()[0].Code != jobspec.CodeClockUntrusted {
		t.Errorf("problems %+v", e.Problems())
	}
	b.now = right.Add(time.Second)
	c.boot += time.Second
	if code, detail := e.ClockDoubt(); code != "" || !e.Now().Equal(b.now) {
		t.Errorf("the clock is right again, and %q (%s) at %s", code, detail, e.Now())
	}
}

func TestASmallStepAheadIsFollowed(t *testing.T) {
	b, c := newBench(t), &clocks{boot: time.Hour}
	e := b.serveWith(c)
	b.now = b.now.Add(23 * time.Hour)
	if code, _ := e.ClockDoubt(); code != "" || !e.Now().Equal(b.now) {
		t.Errorf("%q at %s", code, e.Now())
	}
	b.pass(c, 30*24*time.Hour) // no op, no synchronisation: both clocks agree
	if code, _ := e.ClockDoubt(); code != "" || !e.Now().Equal(b.now) {
		t.Errorf("a month later %q at %s", code, e.Now())
	}
}

// Who can write STATE forges a last line about the far future.
func TestAForgedLastLineMovesTimeByADayAtMost(t *testing.T) {
	b := newBench(t)
	e := b.open(true)
	must(t, e.note(&record.Leaf{Kind: record.Alert, Time: record.Stamp(b.now.AddDate(70, 0, 0))}))
	must(t, e.Close())
	again := b.open(true)
	if got, most := again.Now(), b.now.Add(unvouched); got.After(most) || got.Before(b.now) {
		t.Errorf("it is %s, at most %s", got, most)
	}
	if !again.ClockHold() {
		t.Error("the line and the clock contradict each other, and nothing waits")
	}
	must(t, again.Close())
	b.now = b.now.Add(unvouched)
	if later := b.open(true); later.ClockHold() && later.seen.After(b.now.Add(unvouched)) {
		t.Error("it waits for longer than a day")
	}
}

// A job that has expired stays so when the clock is set back, also over a restart.
func TestNoClockThatIsSetBackUndoesAnExpiry(t *testing.T) {
	b := newBench(t)
	e := b.open(true)
	expiry := b.now.Add(10 * time.Hour)
	b.now = expiry.Add(time.Hour)
	must(t, e.note(&record.Leaf{Kind: record.Alert}))
	b.now = expiry.Add(-5 * time.Hour)
	if e.Now().Before(expiry) || !e.ClockHold() {
		t.Errorf("it is %s, before %s, hold %v", e.Now(), expiry, e.ClockHold())
	}
	must(t, e.Close())
	again := b.open(true)
	if again.Now().Before(expiry) || !again.ClockHold() {
		t.Errorf("after a restart it is %s, before %s, hold %v", again.Now(), expiry, again.ClockHold())
	}
}
