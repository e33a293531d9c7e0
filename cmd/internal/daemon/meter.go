package daemon

import (
	"sync"
	"time"
)

// pace is how much a uid may do at once, and how much more a second.
type pace struct {
	burst float64
	rate  float64
}

// The paces: far more than people do, far less than would keep the service from
// its work.
var (
	opPace = pace{burst: 100, rate: 10}
	// Each refused op is a line in the ledger, which nobody can take out again, and
	// whoever may connect can offer one. A disk that is full stops every job.
	refusedPace = pace{burst: 1000, rate: 0.1}
	// What operators and a job's users do leaves a line each, too, and a hold can
	// leave a text.
	actPace = pace{burst: 100, rate: 1}
)

// meter is a token bucket for each uid. A uid may not use up another's.
type meter struct {
	pace
	mu      sync.Mutex
	buckets map[int]bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

func newMeter(p pace) *meter { return &meter{pace: p, buckets: map[int]bucket{}} }

// allow takes a token of a uid. A clock that steps back gives none.
func (m *meter) allow(uid int, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.filled(uid, now)
	left := b.tokens >= 1
	if left {
		b.tokens--
	}
	m.buckets[uid] = b
	return left
}

// left reports whether a uid has a token, and takes none.
func (m *meter) left(uid int, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.filled(uid, now).tokens >= 1
}

// filled is the bucket of a uid as it is now. The caller holds mu.
func (m *meter) filled(uid int, now time.Time) bucket {
	b, known := m.buckets[uid]
	if !known {
		return bucket{tokens: m.burst, at: now}
	}
	b.tokens = min(m.burst, b.tokens+m.rate*max(0, now.Sub(b.at).Seconds()))
	b.at = now
	return b
}

// meters are those of one socket.
type meters struct{ ops, refused, acts *meter }

func newMeters() meters {
	return meters{newMeter(opPace), newMeter(refusedPace), newMeter(actPace)}
}
