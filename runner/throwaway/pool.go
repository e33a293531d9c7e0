package throwaway

import (
	"errors"
	"fmt"
	"sync"
	"time"
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
	next int          // offset of the first candidate
	live map[int]bool // lent, or looked for ahead

	ready []int     // found free by one look at all processes, and nobody else's since
	look  time.Time // when that was
}

// One look at all processes, which costs a few milliseconds, finds so many uids,
// and is good for so long.
const (
	batch   = 8
	lookFor = 10 * time.Minute
)

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
	uid, err := p.take()
	if err != nil {
		return nil, fmt.Errorf("find a throw-away uid: %w", err)
	}
	return &Lease{pool: p, uid: uid}, nil
}

// take gives a uid that was found ahead, unless an account or a process has it by
// now, else looks for more.
func (p *Pool) take() (int, error) {
	named, err := p.from.named()
	if err != nil {
		return 0, err
	}
	if age := time.Since(p.look); age < 0 || age > lookFor {
		p.forget()
	}
	for range 2 {
		for len(p.ready) > 0 {
			uid := p.ready[0]
			p.ready = p.ready[1:]
			if !named[uid] && !p.from.runs(uid) {
				return uid, nil
			}
			delete(p.live, uid)
		}
		if err := p.find(named); err != nil {
			return 0, err
		}
	}
	return 0, ErrNone
}

// forget gives back what was found ahead.
func (p *Pool) forget() {
	for _, uid := range p.ready {
		delete(p.live, uid)
	}
	p.ready = nil
}

// find looks at every process and keeps the next uids that nobody has.
func (p *Pool) find(named map[int]bool) error {
	running := map[int]bool{}
	if err := fromProcesses(running, p.from.Proc); err != nil {
		return err
	}
	p.look = time.Now()
	from := p.next
	for i := range count {
		at := (from + i) % count
		uid := First + at
		if named[uid] || running[uid] || p.live[uid] {
			continue
		}
		p.next = (at + 1) % count
		p.live[uid] = true
		if p.ready = append(p.ready, uid); len(p.ready) == batch {
			break
		}
	}
	return nil
}

// In reports whether a uid is one of the range.
func In(uid int) bool { return uid >= First && uid <= Last }
