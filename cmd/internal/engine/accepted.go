package engine

import (
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
)

// acceptLog is what the ledger says of when ops were accepted, read so far. Each
// line is read once in the life of an engine, since every commit asks. What a start
// finds comes from the run index: a million lines would take seconds.
type acceptLog struct {
	mu   sync.Mutex
	of   *store.History
	next int64 // index of the first leaf that was not read
	when acceptTimes
	boot time.Time // when the service was started last
}

// acceptTimes are Unix times in nanoseconds by the position of the op, 0 for none.
// What was handed out is never changed.
type acceptTimes []int64

// at is when the op at a position was accepted; false where no line says so.
func (a acceptTimes) at(seq int64) (time.Time, bool) {
	if seq < 0 || seq >= int64(len(a)) || a[seq] == 0 {
		return time.Time{}, false
	}
	return time.Unix(0, a[seq]).UTC(), true
}

// believed is when an op was accepted, or made where no line says so or says what
// cannot be: before it was made, or at a time that has not come. Such a line would
// make slots due that were over when the owner signed, or none ever.
func (a acceptTimes) believed(op jobspec.OpHead, now time.Time) time.Time {
	created := op.Created.Time()
	at, ok := a.at(op.Seq)
	if !ok || at.Before(created.Add(-maxAhead)) || at.After(now.Add(maxAhead)) {
		return created
	}
	return at
}

// signedBefore is the latest time at which the owner can have signed an op that was
// accepted then. A line that nobody signed makes it no later.
func signedBefore(op jobspec.OpHead, accepted time.Time) time.Time {
	if latest := op.Created.Time().Add(maxAhead); latest.Before(accepted) {
		return latest
	}
	return accepted
}

// acceptances reads from the ledger when each op was accepted, and when the
// service was started last.
func (e *Engine) acceptances() (acceptTimes, time.Time, error) {
	l := &e.ledgered
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of != e.history || l.next > e.history.Len() {
		l.of, l.next, l.when, l.boot = e.history, 0, nil, time.Time{}
	}
	most := int64(0) // a line about an op that is not there says nothing
	chain, broken := e.opened()
	if broken == nil {
		most = chain.State().Len()
	}
	if broken == nil && e.history.Len()-l.next > fewLines {
		if err := l.recall(e.runs, most); err != nil {
			return nil, time.Time{}, err
		}
	}
	next := l.next
	when := append(make(acceptTimes, 0, most), l.when...)
	err := e.history.Scan(l.next, func(leaf store.Leaf) error {
		switch leaf.Kind {
		case record.OpAccepted:
			if leaf.Seq < most {
				when = when.with(leaf.Seq, record.ParseStamp(leaf.Time))
			}
		case record.Boot:
			l.boot = record.ParseStamp(leaf.Time)
		}
		next = leaf.Index + 1
		return nil
	})
	if broken == nil {
		l.next, l.when = next, when
	}
	return when, l.boot, err
}

// fewLines are read from the ledger sooner than from the index.
const fewLines = 1000

// recall takes what the run index knows.
func (l *acceptLog) recall(runs *store.Runs, most int64) error {
	known, err := runs.Accepted(most)
	if err == nil && known.Next > l.next {
		l.next, l.when, l.boot = known.Next, known.When, known.Boot
	}
	return err
}

// with notes one more op.
func (a acceptTimes) with(seq int64, at time.Time) acceptTimes {
	for int64(len(a)) <= seq {
		a = append(a, 0)
	}
	a[seq] = at.UnixNano()
	return a
}
