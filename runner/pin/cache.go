package pin

import (
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// maxCached bounds the entries of a Cache; a full one starts anew.
const maxCached = 4096

// settled is how old the last change of a file must be before its digest is
// remembered. Kernels stamp changes with the tick (up to 10 ms), so a change in
// the tick of the hashing would leave the stamps as they are.
const settled = 2 * time.Second

// Cache remembers digests of files that only root can change, by device, inode,
// size and the times of the last change of data and of inode. The last of these
// cannot be set by any call. A Cache may be used by many goroutines; a nil one
// remembers nothing.
type Cache struct {
	now  func() time.Time
	mu   sync.Mutex
	seen map[stamp]jobspec.Digest
}

// stamp identifies one state of one file.
type stamp struct {
	id           jobspec.FileID
	size         int64
	mtime, ctime int64 // ns since 1970
}

// NewCache makes an empty cache. now is the machine's clock, the one that file
// systems stamp changes with.
func NewCache(now func() time.Time) *Cache {
	return &Cache{now: now, seen: make(map[stamp]jobspec.Digest)}
}

func (c *Cache) lookup(s stamp) (jobspec.Digest, bool) {
	if c == nil {
		return jobspec.Digest{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := c.seen[s]
	return d, ok
}

func (c *Cache) remember(s stamp, d jobspec.Digest) {
	if c == nil || c.now().Sub(time.Unix(0, s.ctime)) < settled {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) >= maxCached {
		clear(c.seen)
	}
	c.seen[s] = d
}
