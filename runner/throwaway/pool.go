package throwaway

import (
	"errors"
	"fmt"
	"sync"
)

// The range, both ends included (systemd's UIDS-GIDS document, "dynamic").
const (
	First = 61184
	Last  = 65519
)

const count = Last - First + 1

// ErrNone means that every uid of the range is taken.
var ErrNone = errors.New("no throw-away uid is free")

// Sources say where taken ids are found. Empty names mean the machine's own.
type Sources struct {
	Passwd  string // passwd(5)
	Group   string // group(5)
	Proc    string // proc(5)
	Systemd string // lock files of systemd's dynamic users; may be missing
}

// Pool lends uids. One service has one pool.
type Pool struct {
	from Sources
	mu   sync.Mutex
	next int // offset of the first candidate
	live map[int]bool
}

// New makes a pool. It looks for free uids beginning at a place that start
// picks: any number will do, and one that differs from start to start of the
// service keeps a uid from coming back soon.
func New(from Sources, start uint64) *Pool {
	from.Passwd = or(from.Passwd, "/etc/passwd")
	from.Group = or(from.Group, "/etc/group")
	from.Proc = or(from.Proc, "/proc")
	from.Systemd = or(from.Systemd, "/run/systemd/dynamic-uid")
	return &Pool{from: from, next: int(start % count), live: make(map[int]bool)}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Lease is one lent uid. It is released once, when no process of the run is left.
type Lease struct {
	pool *Pool
	uid  int
	once sync.Once
}

// UID is the lent uid, which is also the gid.
func (l *Lease) UID() int { return l.uid }

// Release gives the uid back. Further calls do nothing.
func (l *Lease) Release() {
	l.once.Do(func() {
		l.pool.mu.Lock()
		defer l.pool.mu.Unlock()
		delete(l.pool.live, l.uid)
	})
}

// Take lends a uid that is free now. It goes round the range, so a uid that was
// given back is lent again as late as possible. The error is ErrNone, or says
// what could not be read.
func (p *Pool) Take() (*Lease, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken, err := p.from.taken()
	if err != nil {
		return nil, fmt.Errorf("find a throw-away uid: %w", err)
	}
	for i := range count {
		at := (p.next + i) % count
		uid := First + at
		if taken[uid] || p.live[uid] {
			continue
		}
		p.next = (at + 1) % count
		p.live[uid] = true
		return &Lease{pool: p, uid: uid}, nil
	}
	return nil, ErrNone
}

// In reports whether a uid is one of the range.
func In(uid int) bool { return uid >= First && uid <= Last }
