package egress

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Bounds that every run has, whatever its limits say.
const (
	maxPerHost = 10_000 // requests for one host and port
	maxHosts   = 4096   // hosts that are counted; further ones are refused
)

// errSpent ends a connection whose run has used up its bytes.
var errSpent = errors.New("limits.bytes is used up")

// budget counts what a run may still use.
type budget struct {
	connections int64 // at most, 0 for no bound
	bytes       int64

	spent  atomic.Int64 // bytes, both ways
	mu     sync.Mutex
	opened int64
	hosts  map[string]int64
}

func newBudget(c Config) *budget {
	return &budget{connections: c.Connections, bytes: c.Bytes, hosts: map[string]int64{}}
}

// request takes one request for a host out of the budget.
func (b *budget) request(t Target) *Refusal {
	if b.bytes > 0 && b.spent.Load() >= b.bytes {
		return refuse(jobspec.CodeLimitNetBytes, t, "limits.bytes", errSpent.Error())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := t.String()
	if n, known := b.hosts[key]; n >= maxPerHost || !known && len(b.hosts) >= maxHosts {
		return refuse(jobspec.CodeLimitConnections, t, "floor.net_per_host", "too many requests for one host, or for too many hosts")
	}
	b.hosts[key]++
	return nil
}

// connection takes one connection out of the budget.
func (b *budget) connection(t Target) *Refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.connections > 0 && b.opened >= b.connections {
		return refuse(jobspec.CodeLimitConnections, t, "limits.connections", "limits.connections is used up")
	}
	b.opened++
	return nil
}

// spend takes up to n bytes and returns how many may be passed on.
func (b *budget) spend(n int) int {
	if b.bytes <= 0 {
		return n
	}
	over := b.spent.Add(int64(n)) - b.bytes
	if over <= 0 {
		return n
	}
	return max(0, n-int(min(over, int64(n))))
}
