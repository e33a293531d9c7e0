package daemon

import (
	"sync"
	"time"
)

// Each uid may submit burst ops at once and rate more a second: far more than
// people do, far less than would keep the service from its work.
const (
	burst = 100
	rate  = 10
)

// meter is a token bucket for each uid. A uid may not use up another's.
type meter struct {
	mu      sync.Mutex
	buckets map[int]bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

func newMeter() *meter { return &meter{buckets: map[int]bucket{}} }

// allow takes a token of a uid. A clock that steps back gives none.
func (m *meter) allow(uid int, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, known := m.buckets[uid]
	if !known {
		b = bucket{tokens: burst, at: now}
	}
	b.tokens = min(burst, b.tokens+rate*max(0, now.Sub(b.at).Seconds()))
	b.at = now
	if b.tokens < 1 {
		m.buckets[uid] = b
		return false
	}
	b.tokens--
	m.buckets[uid] = b
	return true
}
