package store

import (
	"errors"
	"fmt"
	"sync"

	"github.com/sbxcron/sbxcron/jobspec/record"
)

// History is the ledger for reading. Several goroutines may use it, also while
// a Ledger appends.
type History struct {
	dirs     Dirs
	mu       sync.Mutex
	segments []segment
	damage   error
}

// Leaf is one line of the ledger with its place.
type Leaf struct {
	Index int64
	Line  []byte // the canonical bytes, without line end
	*record.Leaf
}

// OpenHistory opens the ledger for reading. Damage does not stop it: what lies
// before the damage is readable, and Damage names the place.
func OpenHistory(d Dirs) (*History, error) {
	h := &History{dirs: d}
	all, err := months(d)
	if err != nil {
		return nil, err
	}
	var next int64
	for i, month := range all {
		s, err := survey(d, month, next, i == len(all)-1)
		if err != nil {
			if !errors.As(err, new(*LedgerError)) {
				return nil, fmt.Errorf("ledger: %w", err)
			}
			h.damage = err
		}
		h.segments = append(h.segments, s)
		if err != nil {
			break
		}
		next += s.count
	}
	return h, nil
}

// Damage is the *LedgerError found when the ledger was opened, or nil.
func (h *History) Damage() error { return h.damage }

// Len is the number of readable leaves.
func (h *History) Len() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lenLocked()
}

func (h *History) lenLocked() int64 {
	if len(h.segments) == 0 {
		return 0
	}
	last := h.segments[len(h.segments)-1]
	return last.first + last.count
}

// Scan calls fn for each leaf from index from on, in order, until fn returns an
// error, which Scan returns. A leaf and its line are fn's to keep. After the
// last leaf Scan returns the damage that stands there, if any.
func (h *History) Scan(from int64, fn func(Leaf) error) error {
	h.mu.Lock()
	segments := append([]segment(nil), h.segments...)
	h.mu.Unlock()
	for _, s := range segments {
		if s.count == 0 || from >= s.first+s.count {
			continue
		}
		if err := h.scanSegment(s, from, fn); err != nil {
			return err
		}
	}
	return h.damage
}

func (h *History) scanSegment(s segment, from int64, fn func(Leaf) error) error {
	return h.readSegment(s, from, func(index int64, line []byte) error {
		kept := append([]byte(nil), line...)
		leaf, err := record.Decode(kept)
		if err != nil {
			at := s
			at.count = index - s.first
			return at.damage(h.dirs, err)
		}
		return fn(Leaf{Index: index, Line: kept, Leaf: leaf})
	})
}
