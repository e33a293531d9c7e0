package notify

import (
	"sync"
	"sync/atomic"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// maxQueue bounds the facts that wait to be looked at.
const maxQueue = 4096

// queue is what the ledger's watcher fills. It stands on the road of every run, so
// it blocks for nothing, and what does not fit is only counted: the lines are
// durable, and are read again from the first that was left out.
type queue struct {
	watching atomic.Bool // there is a channel at all
	pings    atomic.Bool // some channel wants each start and success
	seen     atomic.Int64
	poke     chan struct{} // holds at most one word

	mu      sync.Mutex
	facts   []fact
	lost    int64 // index of the first line that was left out, -1 for none
	dropped int64 // how many were, ever
	open    map[jobspec.Name]bool
}

func newQueue() *queue {
	return &queue{poke: make(chan struct{}, 1), lost: -1, open: map[jobspec.Name]bool{}}
}

// Appended is told of durable lines.
func (q *queue) Appended(first int64, leaves []*record.Leaf) {
	defer q.saw(first + int64(len(leaves)))
	if !q.watching.Load() {
		return
	}
	any := false
	for i, l := range leaves {
		if q.matters(l) {
			q.add(first+int64(i), l)
			any = true
		}
	}
	if any {
		q.wake()
	}
}

func (q *queue) wake() {
	select {
	case q.poke <- struct{}{}:
	default:
	}
}

// saw moves seen on; batches may come in any order.
func (q *queue) saw(next int64) {
	for {
		old := q.seen.Load()
		if next <= old || q.seen.CompareAndSwap(old, next) {
			return
		}
	}
}

// matters says no to nearly every line.
func (q *queue) matters(l *record.Leaf) bool {
	switch eventOf(l) {
	case "":
		return false
	case jobspec.EventStarted:
		return q.pings.Load()
	case jobspec.EventSucceeded:
		if q.pings.Load() {
			return true
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.open[l.Job]
	}
	return true
}

func (q *queue) add(index int64, l *record.Leaf) {
	f, ok := factOf(index, l)
	if !ok {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open[l.Job] = true // until the desk has looked at it, a success of it matters
	if len(q.facts) >= maxQueue {
		q.dropped++
		if q.lost < 0 || index < q.lost {
			q.lost = index
		}
		return
	}
	q.facts = append(q.facts, f)
}

// take gives all that waits, and the line from which the ledger must be read
// again, -1 for none.
func (q *queue) take() (all []fact, from int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all, from = q.facts, q.lost
	q.facts, q.lost = nil, -1
	return all, from
}

// close forgets that a job has an open problem, unless something of it waits.
func (q *queue) settle(open map[jobspec.Name]*problem) {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.open)
	for name := range open {
		q.open[name] = true
	}
	for _, f := range q.facts {
		q.open[f.job] = true
	}
}
