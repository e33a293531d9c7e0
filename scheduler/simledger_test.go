package scheduler_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/store"
)

// simLedger is a ledger whose machine can stop at any row. Append writes and syncs a
// batch at once; a stop in it leaves any beginning of the batch behind, and the caller
// is told an error whichever it was. What was answered before is kept: that is what
// fdatasync promises.
type simLedger struct {
	mu       sync.Mutex
	random   *rand.Rand
	stopping int // batches until the machine stops, -1 for never
	stopped  bool

	rows     int64
	finals   map[slotsOf][]coverage
	covered  map[slotsOf]store.Covered
	began    map[slotsOf]time.Time // the latest slot that was started
	open     map[string]*record.Leaf
	attempts map[string]int // that a durable row vouches for, by run
	holds    map[jobspec.Name]scheduler.Hold
	denied   map[jobspec.Name][]*record.Leaf // what a breaker reads
	outcomes map[record.Outcome]int
	faults   []string
}

type slotsOf struct {
	job jobspec.Name
	op  jobspec.Digest
}

// coverage is what one final row covers.
type coverage struct {
	first, last   int64
	firstF, lastF int8
	count         int64
	claimed       time.Time // when its slot was claimed ahead of its time; zero: it was not
}

var errStopped = errors.New("the machine stopped")

func newSimLedger(random *rand.Rand) *simLedger {
	return &simLedger{random: random, stopping: -1, finals: map[slotsOf][]coverage{}, covered: map[slotsOf]store.Covered{}, began: map[slotsOf]time.Time{},
		open: map[string]*record.Leaf{}, attempts: map[string]int{}, holds: map[jobspec.Name]scheduler.Hold{}, denied: map[jobspec.Name][]*record.Leaf{}, outcomes: map[record.Outcome]int{}}
}

// stopAfter stops the machine in a batch to come.
func (l *simLedger) stopAfter(batches int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopping = batches
}

// restart lets the machine write again.
func (l *simLedger) restart() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopping, l.stopped = -1, false
}

// Append implements scheduler.Ledger.
func (l *simLedger) Append(rows ...*record.Leaf) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept, err := len(rows), error(nil)
	switch {
	case l.stopped:
		return 0, errStopped
	case l.stopping == 0:
		l.stopped = true
		kept, err = l.random.IntN(len(rows)+1), errStopped
	case l.stopping > 0:
		l.stopping--
	}
	for _, row := range rows[:kept] {
		if _, err := row.Encode(); err != nil {
			return 0, err
		}
		l.take(row)
	}
	l.rows += int64(kept)
	return l.rows - int64(kept), err
}

func (l *simLedger) take(row *record.Leaf) {
	of := slotsOf{row.Job, row.Op}
	opens := row.Kind == record.Started || row.Kind == record.Claimed
	if c, ok := store.CoveredBy(row); ok && c.Beyond(l.covered[of]) {
		l.covered[of] = c
	}
	switch {
	case opens:
		l.opens(of, row)
	case row.Kind == record.Attempted:
		l.attempts[row.Run]++
	case row.Final():
		l.final(of, row)
	case row.Kind == record.Held:
		l.holds[row.Job] = scheduler.HoldOf(row)
	case row.Kind == record.Released:
		delete(l.holds, row.Job)
	}
	if row.Kind == record.Finished && len(row.Denials) > 0 || len(l.denied[row.Job]) > 0 || row.Kind == record.Held && row.Slot == nil {
		l.denied[row.Job] = append(l.denied[row.Job], row)
	}
}

func (l *simLedger) opens(of slotsOf, row *record.Leaf) {
	if l.attempts[row.Run] != 0 {
		l.faults = append(l.faults, "run "+row.Run+" was claimed twice")
	}
	l.attempts[row.Run] = 1
	l.open[row.Run] = row
	if row.Slot == nil {
		return
	}
	at := record.ParseStamp(row.Scheduled)
	if last, ok := l.began[of]; ok && !at.After(last) {
		l.faults = append(l.faults, fmt.Sprintf("%s: slot %s was started again, or behind a later one", of.job, row.Slot))
	}
	l.began[of] = at
}

func (l *simLedger) final(of slotsOf, row *record.Leaf) {
	var claimed time.Time
	if began := l.open[row.Run]; began != nil && began.Kind == record.Claimed {
		claimed = record.ParseStamp(began.Time)
	}
	if row.Run != "" {
		delete(l.open, row.Run)
		delete(l.attempts, row.Run)
	}
	if row.Slot == nil {
		return
	}
	l.outcomes[row.Outcome] += int(max(row.SlotCount, 1))
	c := coverage{first: civilOf(*row.Slot), firstF: int8(row.Slot.Fold), count: 1, claimed: claimed}
	c.last, c.lastF = c.first, c.firstF
	if row.SlotLast != nil {
		c.last, c.lastF, c.count = civilOf(*row.SlotLast), int8(row.SlotLast.Fold), row.SlotCount
	}
	l.finals[of] = append(l.finals[of], c)
}

// mayRelease reports whether a durable row vouches for the next attempt of a run.
func (l *simLedger) mayRelease(run string, attempt int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.attempts[run] == attempt
}

// LastCovered implements scheduler.History.
func (l *simLedger) Covered() (scheduler.CoveredBy, error) { return l.LastCovered, nil }

func (l *simLedger) LastCovered(job jobspec.Name, op jobspec.Digest) (jobspec.Slot, time.Time, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.covered[slotsOf{job, op}]
	return c.Slot, c.At, ok, nil
}

// OpenRuns implements scheduler.History.
func (l *simLedger) OpenRuns() ([]*record.Leaf, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*record.Leaf
	for _, row := range l.open {
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b *record.Leaf) int { return record.ParseStamp(a.Time).Compare(record.ParseStamp(b.Time)) })
	return all, nil
}

// Holds implements scheduler.History.
func (l *simLedger) Holds() (map[jobspec.Name]scheduler.Hold, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[jobspec.Name]scheduler.Hold{}
	for job, h := range l.holds {
		out[job] = h
	}
	return out, nil
}

// Breakers implements scheduler.History.
func (l *simLedger) Breakers() (map[jobspec.Name]*scheduler.Breaker, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[jobspec.Name]*scheduler.Breaker{}
	for job, rows := range l.denied {
		out[job] = &scheduler.Breaker{}
		for _, row := range rows {
			out[job].Note(row)
		}
	}
	return out, nil
}
