package store

import (
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/store/merkle"
)

// entry is one call of Append.
type entry struct {
	batch   []byte
	lengths []int64
	hashes  []merkle.Hash
	stated  time.Time
	turn    chan struct{} // closed when this call is to write for all that wait
	done    chan struct{} // closed when first and err are set
	first   int64
	err     error
}

// lineup are the calls that wait for a write. One of them at a time does the
// writing for all.
type lineup struct {
	mu      sync.Mutex
	all     []*entry
	serving bool
}

// join lines a call up. Its turn comes at once where nobody writes.
func (l *lineup) join(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, e)
	if !l.serving {
		l.serving = true
		close(e.turn)
	}
}

// take takes all calls that wait, the caller's own among them.
func (l *lineup) take() []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

// pass gives the turn to one that came meanwhile.
func (l *lineup) pass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serving = len(l.all) > 0
	if l.serving {
		close(l.all[0].turn)
	}
}

// oneSegment is how many calls at the front go into one segment: no month opens an
// older segment again.
func oneSegment(all []*entry) int {
	month := all[0].stated.UTC().Format(monthForm)
	for i, e := range all {
		if e.stated.UTC().Format(monthForm) > month {
			return i
		}
	}
	return len(all)
}
