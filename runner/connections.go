package runner

import (
	"sync"

	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Connections collects what one run reached. It may be used by many goroutines.
type Connections struct {
	mu   sync.Mutex
	list []record.Connection
}

// Add counts a connection, or several to the same place.
func (c *Connections) Add(x record.Connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	row := c.find(x)
	row.Count += x.Count
	row.BytesIn += x.BytesIn
	row.BytesOut += x.BytesOut
}

// find returns the row of a connection, the last one where there is no room. The
// caller holds mu.
func (c *Connections) find(x record.Connection) *record.Connection {
	x.Count, x.BytesIn, x.BytesOut = 0, 0, 0
	for i, y := range c.list {
		if y.Count, y.BytesIn, y.BytesOut = 0, 0, 0; x == y {
			return &c.list[i]
		}
	}
	if len(c.list) >= record.MaxConnections {
		return &c.list[len(c.list)-1]
	}
	if len(c.list) == record.MaxConnections-1 {
		x = record.Connection{Host: record.OtherHosts}
	}
	c.list = append(c.list, x)
	return &c.list[len(c.list)-1]
}

// Into puts the rows into the end of a run.
func (c *Connections) Into(end *record.End) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end.Connections = append(end.Connections, c.list...)
}
