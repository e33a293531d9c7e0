package schedulertest

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
)

// ErrCrashed is what a ledger answers after its machine went down.
var ErrCrashed = errors.New("the machine went down")

// Ledger keeps rows in memory as they read back from the form that a file would
// have, and answers the questions of scheduler.History from them.
type Ledger struct {
	mu   sync.Mutex
	rows []*record.Leaf
	left int // rows until the crash, -1 for never
}

// NewLedger makes an empty ledger.
func NewLedger() *Ledger { return &Ledger{left: -1} }

// CrashAfter lets n more rows become durable; then every Append fails, with the
// first rows of its batch kept.
func (l *Ledger) CrashAfter(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = n
}

// Repair is the restart of the machine: rows are taken again.
func (l *Ledger) Repair() { l.CrashAfter(-1) }

// Append implements scheduler.Ledger.
func (l *Ledger) Append(rows ...*record.Leaf) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := int64(len(l.rows))
	for _, row := range rows {
		line, err := row.Encode()
		if err != nil {
			return 0, err
		}
		if l.left == 0 {
			return 0, ErrCrashed
		}
		if l.left > 0 {
			l.left--
		}
		read, err := record.Decode(line)
		if err != nil {
			return 0, err
		}
		l.rows = append(l.rows, read)
	}
	return first, nil
}

// Rows lists every row; the caller must not change them.
func (l *Ledger) Rows() []*record.Leaf {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.rows)
}

// LastCovered implements scheduler.History.
func (l *Ledger) LastCovered(job jobspec.Name, op jobspec.Digest) (slot jobspec.Slot, at time.Time, ok bool, err error) {
	for _, row := range l.Rows() {
		if row.Job != job || row.Op != op || row.Slot == nil || !row.Final() && row.Kind != record.Started && row.Kind != record.Claimed {
			continue
		}
		if row.Kind == record.Finished || row.Kind == record.Lost {
			continue // its started row said so already
		}
		slot, at, ok = *row.Slot, record.ParseStamp(row.Scheduled), true
		if row.SlotLast != nil {
			slot, at = *row.SlotLast, time.Time{}
		}
	}
	return slot, at, ok, nil
}

// Covered implements scheduler.History.
func (l *Ledger) Covered() (scheduler.CoveredBy, error) { return l.LastCovered, nil }

// OpenRuns implements scheduler.History.
func (l *Ledger) OpenRuns() ([]*record.Leaf, error) {
	var open []*record.Leaf
	final := map[string]bool{}
	rows := l.Rows()
	for _, row := range rows {
		final[row.Run] = final[row.Run] || row.Final()
	}
	for _, row := range rows {
		if (row.Kind == record.Started || row.Kind == record.Claimed) && !final[row.Run] {
			open = append(open, row)
		}
	}
	return open, nil
}

// Holds implements scheduler.History.
func (l *Ledger) Holds() (map[jobspec.Name]scheduler.Hold, error) {
	holds := map[jobspec.Name]scheduler.Hold{}
	for _, row := range l.Rows() {
		switch {
		case row.Kind == record.Held && row.Slot == nil:
			holds[row.Job] = scheduler.HoldOf(row)
		case row.Kind == record.Released:
			delete(holds, row.Job)
		}
	}
	return holds, nil
}

// Breakers implements scheduler.History.
func (l *Ledger) Breakers() (map[jobspec.Name]*scheduler.Breaker, error) {
	all := map[jobspec.Name]*scheduler.Breaker{}
	for _, row := range l.Rows() {
		if all[row.Job] == nil {
			all[row.Job] = &scheduler.Breaker{}
		}
		all[row.Job].Note(row)
	}
	return all, nil
}
