package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
	"github.com/sbxcron/sbxcron/scheduler/schedulertest"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

// world is a machine: its clock, its ledger and its chain outlive a scheduler.
type world struct {
	t      *testing.T
	key    *signingtest.Key
	clock  *schedulertest.Clock
	ledger *schedulertest.Ledger
	jobs   *schedulertest.Jobs
	box    *schedulertest.Sandbox

	maxParallel int
	doubt       scheduler.ClockDoubt
	shares      func() (scheduler.Shares, bool)
	port        scheduler.Ledger                               // in place of the ledger
	alarm       scheduler.Alarm                                // in place of one on the clock
	verify      func(jobspec.Name) (scheduler.Verified, error) // in place of the stored ops

	mu     sync.Mutex
	signed map[jobspec.Name]scheduler.Verified
	random io.Reader
	marks  atomic.Int64 // changes of trust and policy
	blind  bool         // whether any can be told from none

	s     *scheduler.Scheduler
	ended chan error
}

// inWorld runs a test in a bubble whose clock shows the given time.
func inWorld(t *testing.T, now string, test func(w *world)) {
	t.Helper()
	key := signingtest.NewKey(t, "alice", jobspec.JobNamespace(jobspec.Scratch, jobspec.NetNone))
	synctest.Test(t, func(t *testing.T) {
		clock := schedulertest.NewClock(parse(t, now))
		w := &world{t: t, key: key, clock: clock, ledger: schedulertest.NewLedger(), jobs: &schedulertest.Jobs{},
			box: &schedulertest.Sandbox{Clock: clock}, signed: map[jobspec.Name]scheduler.Verified{}, random: rand.NewChaCha8([32]byte{1}), maxParallel: 8}
		test(w)
		if w.s != nil {
			w.end()
		}
	})
}

func parse(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// job signs a spec and returns its entry, in force from now on.
func (w *world) job(name, cron, zone string) scheduler.Entry {
	w.t.Helper()
	spec := &jobspec.Spec{Argv: []string{"/bin/true"}, Schedule: jobspec.Schedule{Cron: cron, Timezone: zone, Missed: "skip", Overlap: "skip"}}
	return w.sign(name, spec)
}

func (w *world) sign(name string, spec *jobspec.Spec) scheduler.Entry {
	w.t.Helper()
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	op := &jobspec.Op{Type: jobspec.OpType, Host: jobspec.HostID(strings.Repeat("ab", 16)), Seq: int64(len(w.signed) + 1), Prev: jobspec.DigestOf([]byte(name)),
		Action: jobspec.Add, Job: jobspec.Name(name), Revision: 1, Created: jobspec.InstantOf(now), ApplyBefore: jobspec.InstantOf(now.Add(time.Hour)),
		Principal: "alice", Tier: jobspec.Scratch, Net: jobspec.NetNone, Spec: spec}
	body, err := op.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	signed, err := jobspec.ReadSigned(w.key.Statement(w.t, jobspec.JobNamespace(op.Tier, op.Net), body))
	if err != nil {
		w.t.Fatal(err)
	}
	w.signed[op.Job] = scheduler.Verified{Signed: signed}
	return scheduler.Entry{Job: op.Job, Op: signed.Digest(), Seq: op.Seq, Schedule: spec.Schedule, Anchor: now, Since: now}
}

// Current implements scheduler.Verifier.
func (w *world) Current(job jobspec.Name) (scheduler.Verified, error) {
	if w.verify != nil {
		return w.verify(job)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	v, ok := w.signed[job]
	if !ok {
		return v, &scheduler.Refusal{Reason: record.Reason{Code: jobspec.CodeJobUnknown, Target: string(job)}}
	}
	return v, nil
}

// Mark implements scheduler.Verifier.
func (w *world) Mark() (string, bool) { return strconv.FormatInt(w.marks.Load(), 10), !w.blind }

// boot starts a service on the machine and waits until it sleeps.
func (w *world) boot() {
	w.t.Helper()
	alarm := w.alarm
	if alarm == nil {
		alarm = w.clock.Alarm()
	}
	s, err := scheduler.New(scheduler.Options{
		Jobs: w.jobs, Verifier: w, Examiner: w.box, Ledger: w.writes(), Finisher: w.box, History: w.ledger,
		Clock: w.clock, Alarm: alarm, After: time.After, Random: w.random, MaxParallel: w.maxParallel, ClockDoubt: w.doubt, Shares: w.shares,
		Origin: scheduler.Origin{Host: jobspec.HostID(strings.Repeat("ab", 16)), Boot: "boot", Version: "test", PID: 1},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.s, w.ended = s, make(chan error, 1)
	go func() { w.ended <- s.Run(context.Background()) }()
	synctest.Wait()
}

// writes is where rows go.
func (w *world) writes() scheduler.Ledger {
	if w.port != nil {
		return w.port
	}
	return w.ledger
}

// end stops the service at once and returns what Run said.
func (w *world) end() error {
	w.t.Helper()
	w.s.Shutdown()
	w.s.Shutdown()
	err := <-w.ended
	w.s = nil
	if armed, open := w.box.Leaked(); armed != 0 || open != 0 {
		w.t.Errorf("%d sandboxes and %d examinations were left open", armed, open)
	}
	return err
}

// pass lets time go by and waits until the service sleeps again.
func (w *world) pass(d time.Duration) {
	synctest.Wait()
	w.clock.Advance(d)
	synctest.Wait()
}

// rows prints the ledger, a line a row, without what it says of the clock.
func (w *world) rows() []string {
	var lines []string
	for _, l := range w.ledger.Rows() {
		if l.Kind == record.Alert && l.Job == "" {
			continue
		}
		line := fmt.Sprintf("%s %s", l.Kind, l.Job)
		if l.Slot != nil {
			line += " " + l.Slot.Civil[8:]
			if l.Slot.Fold == 1 {
				line += "#1"
			}
		}
		if l.SlotLast != nil {
			line += fmt.Sprintf("..%s(%d)", l.SlotLast.Civil[8:], l.SlotCount)
		}
		if l.Outcome != "" {
			line += " " + string(l.Outcome)
		}
		for _, r := range l.Reasons {
			line += " " + string(r.Code)
		}
		lines = append(lines, line)
	}
	return lines
}

// want compares the ledger with the lines.
func (w *world) want(lines ...string) {
	w.t.Helper()
	rows := w.rows()
	if !slices.Equal(byJob(rows), byJob(lines)) || !slices.Equal(beginnings(rows), beginnings(lines)) {
		w.t.Errorf("ledger:\n%s\nwant:\n%s", strings.Join(rows, "\n"), strings.Join(lines, "\n"))
	}
}

// byJob puts the rows of each job together, in their order.
func byJob(rows []string) []string {
	return slices.SortedStableFunc(slices.Values(rows), func(a, b string) int {
		return strings.Compare(strings.Fields(a)[1], strings.Fields(b)[1])
	})
}

// beginnings leaves out how runs ended: a run gives its seat back before its end
// is on record, so where that row stands among those of other jobs is chance.
func beginnings(rows []string) []string {
	return slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return strings.HasPrefix(row, "finished ") })
}

// covered checks that each slot of an entry up to a time has exactly one final
// row, and no other slot has one.
func (w *world) covered(e scheduler.Entry, until time.Time) int {
	w.t.Helper()
	cal, err := calendar.Of(e.Schedule, e.Anchor, e.Op)
	if err != nil {
		w.t.Fatal(err)
	}
	var order []jobspec.Slot
	place := map[jobspec.Slot]int{}
	for at := e.Since.Add(calendar.Jitter(e.Schedule, e.Op)); ; {
		due, ok := cal.Next(at)
		if !ok || due.At.After(until) {
			break
		}
		for _, s := range due.Slots {
			place[s] = len(order)
			order = append(order, s)
		}
		at = due.At
	}
	count := make([]int, len(order))
	for _, l := range w.ledger.Rows() {
		if l.Job != e.Job || l.Op != e.Op || !l.Final() || l.Slot == nil {
			continue
		}
		first, ok := place[*l.Slot]
		last := first
		if l.SlotLast != nil {
			var known bool
			last, known = place[*l.SlotLast]
			ok = ok && known && int64(last-first+1) == l.SlotCount
		}
		if !ok {
			w.t.Errorf("%s: row %s covers %s, which was not due", e.Job, l.Kind, l.Slot)
			continue
		}
		for i := first; i <= last; i++ {
			count[i]++
		}
	}
	for i, n := range count {
		if n != 1 {
			w.t.Errorf("%s: slot %s has %d final rows", e.Job, order[i], n)
		}
	}
	return len(order)
}

// lasting is a payload that ends by itself after a time on the world's clock.
func (w *world) lasting(d func() time.Duration) func(*schedulertest.Process) record.End {
	return func(p *schedulertest.Process) record.End {
		a := w.clock.Alarm()
		defer a.Stop()
		end := w.clock.Boot() + d()
		for left := end - w.clock.Boot(); left > 0; left = end - w.clock.Boot() {
			a.Arm(w.clock.Now().Add(left))
			select {
			case <-a.C(): // also where the clock was set
			case <-p.Canceled():
				return p.End(record.OutcomeKilled, p.Why())
			}
		}
		return p.End(record.OutcomeSucceeded)
	}
}

func constant(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

var errTest = errors.New("a cause")
