package supervise

import (
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/ready"
	"github.com/sbxcron/sbxcron/runner/throwaway"
)

// idleTime is how long a supervisor without a run is kept.
const idleTime = time.Minute

// surplusTime is how long one is kept beyond those that wait. Ending a process takes
// more of a processor than starting a payload does, and where many runs are due at
// one instant the first of them end while the last have yet to start. It is no whole
// number of seconds, so that no other slot meets it either.
const surplusTime = 2400 * time.Millisecond

// Pool lends supervisors to runs and keeps those that can serve another one: of
// the same account, once everything of the last run was dropped. It may be used
// by many goroutines.
type Pool struct {
	spawn func(a runner.Account, argv []string, files []*os.File) (*os.Process, error)
	most  int // idle ones of all accounts

	mu     sync.Mutex
	idle   []*Lent // the longest idle first
	closed bool
	ending sync.WaitGroup // supervisors that were idle for too long
	idles  time.Duration  // how long one without a run is kept
}

// Lent is a supervisor of the pool.
type Lent struct {
	*Helper
	pool    *Pool
	account runner.Account
	expire  *time.Timer // of an idle one
}

// NewPool makes a pool that keeps so many idle supervisors for a minute, and more for
// a moment.
func NewPool(most int, spawn func(a runner.Account, argv []string, files []*os.File) (*os.Process, error)) *Pool {
	return &Pool{spawn: spawn, most: most, idles: idleTime}
}

// Get lends a supervisor for one run of an account: an idle one, or a new one.
func (p *Pool) Get(a runner.Account) (*Lent, error) {
	for l := p.take(a); l != nil; l = p.take(a) {
		if l.alive() {
			return l, nil
		}
		l.End()
	}
	h, err := Start(func(argv []string, files []*os.File) (*os.Process, error) { return p.spawn(a, argv, files) })
	if err != nil {
		return nil, err
	}
	return &Lent{Helper: h, pool: p, account: a}, nil
}

// take removes the youngest idle supervisor of an account.
func (p *Pool) take(a runner.Account) *Lent {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, l := range slices.Backward(p.idle) {
		if l.account.UID == a.UID && l.account.GID == a.GID {
			l.expire.Stop()
			p.idle = slices.Delete(p.idle, i, i+1)
			return l
		}
	}
	return nil
}

// Return ends the run, whose tree must be gone, and waits until all was told. It
// reports whether that was so: a supervisor that somebody killed has maybe not
// told everything. It must not be used any more.
//
// It is kept only where the next run of its account is of the same people: a
// throw-away uid is anybody's next.
func (l *Lent) Return() bool {
	told, again := l.Finish()
	if !again || l.account.Drop && throwaway.In(l.account.UID) || !l.pool.keep(l) {
		l.End()
	}
	return told
}

// keep reports whether an idle supervisor was put into the pool.
func (p *Pool) keep(l *Lent) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	idles := p.idles
	if len(p.idle) >= p.most {
		idles = min(idles, surplusTime)
	}
	l.expire = time.AfterFunc(idles, func() {
		if p.remove(l) {
			defer p.ending.Done()
			l.End()
		}
	})
	p.idle = append(p.idle, l)
	return true
}

// remove takes one out that is to be ended, unless somebody else has. Close waits
// until ending is told that it has ended.
func (p *Pool) remove(l *Lent) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.idle, l)
	if i < 0 {
		return false
	}
	p.idle = slices.Delete(p.idle, i, i+1)
	p.ending.Add(1)
	return true
}

// Idle is how many supervisors wait for a run.
func (p *Pool) Idle() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// Close ends all idle supervisors and waits until they are gone, those that their
// time ends included. Those that are lent end when they are returned.
func (p *Pool) Close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, l := range idle {
		l.expire.Stop()
		l.End()
	}
	p.ending.Wait()
}

// alive reports whether the child still holds its end of the socket.
func (h *Helper) alive() bool {
	raw, err := h.conn.SyscallConn()
	if err != nil {
		return false
	}
	alive := false
	err = raw.Control(func(fd uintptr) {
		said, err := ready.Now(int(fd), unix.POLLIN)
		alive = err == nil && said == 0 // an idle one says nothing
	})
	return err == nil && alive
}
