package engine

import (
	"sync"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
)

// memoSize bounds what a memo remembers; a full one starts anew.
const memoSize = 1024

// memo remembers what was found of a signature. Verifying is a function of bytes
// alone, and the key holds the digests of all of them: the op, its signature and
// both trust files, each as it was read for this very question. So a memo never
// stands in for a look at a file, and whatever changes is judged anew. The zero
// value is ready. It may be used by many goroutines.
type memo struct {
	mu   sync.Mutex
	seen map[memoKey]Verified
}

type memoKey struct {
	op, sig, allowed, revoked jobspec.Digest
}

// of gives the result for an entry. An error is none, and is not remembered.
func (m *memo) of(trust *signing.Trust, e store.Entry, verify func() (Verified, error)) (Verified, error) {
	if len(e.Sigs) != 1 {
		return verify()
	}
	allowed, revoked := trust.Digests()
	key := memoKey{jobspec.DigestOf(e.Op), jobspec.DigestOf(e.Sigs[0]), allowed, revoked}
	m.mu.Lock()
	found, ok := m.seen[key]
	m.mu.Unlock()
	if ok {
		found.Entry = e
		return found, nil
	}
	found, err := verify()
	if err != nil {
		return found, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil || len(m.seen) >= memoSize {
		m.seen = map[memoKey]Verified{}
	}
	m.seen[key] = found
	return found, nil
}
