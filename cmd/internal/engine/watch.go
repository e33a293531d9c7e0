package engine

import (
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
)

// Watcher is told of leaves once they are durable, in any order of batches.
// Appended must not block and must not keep the leaves: it stands on the road of
// every run. Whoever needs more than a glance reads them again by ScanLedger.
type Watcher interface {
	Appended(first int64, leaves []*record.Leaf)
}

// Watch names the one watcher, nil for none.
func (e *Engine) Watch(w Watcher) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watcher = w
}

// ScanLedger calls fn for each leaf from index from on, in order, until fn
// returns an error, which it returns, or else the damage that stands at the end.
func (e *Engine) ScanLedger(from int64, fn func(store.Leaf) error) error {
	return e.history.Scan(from, fn)
}

// LedgerLen is the number of readable leaves.
func (e *Engine) LedgerLen() int64 { return e.history.Len() }
