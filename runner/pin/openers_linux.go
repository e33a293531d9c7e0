package pin

import (
	"context"
	"sync"
	"time"
)

// Bounds of what Openers keeps.
const (
	keepEach = 2                      // children of one account
	keepAll  = 16                     // children
	keepFor  = 10 * time.Minute       // without work
	sayAlive = 250 * time.Millisecond // what a kept child gets to answer
)

// Openers keeps children that open paths for accounts, so that not every call
// starts one. A child serves one call at a time and holds nothing between two. It
// is kept only after a call without a fault, and must answer before it is used
// again: one that the account's other processes have ended or stopped is replaced.
// The zero value is ready; Close ends all children.
type Openers struct {
	mu     sync.Mutex
	idle   []kept // the longest idle first
	closed bool
}

// kept is a child without work.
type kept struct {
	acct Account
	s    *session
	at   time.Time
}

// lend gives a child of an account for one call.
func (o *Openers) lend(ctx context.Context, acct Account) (opener, error) {
	for {
		s := o.take(acct)
		if s == nil {
			break
		}
		if s.alive() {
			return o.lent(ctx, acct, s), nil
		}
		_ = s.close() // it is of no use
	}
	s, err := startSession(context.Background(), acct)
	if err != nil {
		return nil, err
	}
	return o.lent(ctx, acct, s), nil
}

// take takes an idle child of an account out, nil where there is none.
func (o *Openers) take(acct Account) *session {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := len(o.idle) - 1; i >= 0; i-- {
		if k := o.idle[i]; k.acct == acct {
			o.idle = append(o.idle[:i:i], o.idle[i+1:]...)
			return k.s
		}
	}
	return nil
}

// give keeps a child for later, and ends those that are too many or too old.
func (o *Openers) give(acct Account, s *session) error {
	for _, gone := range o.keep(kept{acct, s, time.Now()}) {
		_ = gone.s.close() // it was killed; what it says then is of no use
	}
	return nil
}

func (o *Openers) keep(k kept) (gone []kept) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return []kept{k}
	}
	o.idle = append(o.idle, k)
	same, rest := 0, o.idle[:0]
	for i := len(o.idle) - 1; i >= 0; i-- {
		if o.idle[i].acct == k.acct {
			same++
		}
		if j := o.idle[i]; k.at.Sub(j.at) > keepFor || j.acct == k.acct && same > keepEach || len(o.idle)-i > keepAll {
			gone = append(gone, j)
			o.idle[i].s = nil
		}
	}
	for _, j := range o.idle {
		if j.s != nil {
			rest = append(rest, j)
		}
	}
	o.idle = rest
	return gone
}

// Close ends the children that are kept; those at work end with their calls.
func (o *Openers) Close() error {
	o.mu.Lock()
	all := o.idle
	o.idle, o.closed = nil, true
	o.mu.Unlock()
	for _, k := range all {
		_ = k.s.close() // it was killed; what it says then is of no use
	}
	return nil
}

// loan is a child during one call. The end of the call's ctx kills it, as it kills
// one that was started for that call alone.
type loan struct {
	*session
	from   *Openers
	acct   Account
	mu     sync.Mutex
	broken bool
	undo   func() bool
}

func (o *Openers) lent(ctx context.Context, acct Account, s *session) *loan {
	l := &loan{session: s, from: o, acct: acct}
	l.undo = context.AfterFunc(ctx, func() {
		l.spoil()
		_ = s.cmd.Process.Kill() // it may have ended
	})
	return l
}

func (l *loan) spoil() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = true
}

func (l *loan) open(ctx context.Context, r Request, left room) (opened, error) {
	p, err := l.session.open(ctx, r, left)
	if err != nil {
		l.spoil()
	}
	return p, err
}

func (l *loan) find(ctx context.Context, what search) (string, trouble, error) {
	found, t, err := l.session.find(ctx, what)
	if err != nil {
		l.spoil()
	}
	return found, t, err
}

// close gives the child back, or ends it where anything went wrong.
func (l *loan) close() error {
	killed := !l.undo()
	l.mu.Lock()
	broken := l.broken || killed
	l.mu.Unlock()
	if broken {
		return l.session.close()
	}
	return l.from.give(l.acct, l.session)
}

// alive asks a kept child for a sign of life.
func (s *session) alive() bool {
	if err := s.conn.SetReadDeadline(time.Now().Add(sayAlive)); err != nil {
		return false
	}
	a, files, err := s.ask(context.Background(), question{Search: &search{}})
	chain(files).close()
	return err == nil && len(files) == 0 && a.Trouble.Why == whyMissing && s.conn.SetReadDeadline(time.Time{}) == nil
}
