package daemon

import (
	"context"
	"sync"
)

// lookers is how many requests of different accounts may look at a job's files at
// one time. Each can hold as much memory as all copies of one job take.
const lookers = 4

// turns lets each account have one such request at work, and few of all. The
// others wait for as long as their peers do.
type turns struct {
	all chan struct{}
	mu  sync.Mutex
	own map[int]chan struct{} // by uid
}

func newTurns() *turns {
	return &turns{all: make(chan struct{}, lookers), own: map[int]chan struct{}{}}
}

func (t *turns) of(uid int) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.own[uid] == nil {
		t.own[uid] = make(chan struct{}, 1)
	}
	return t.own[uid]
}

// take waits for a turn. It is given back by leave; the error is that of ctx.
func (t *turns) take(ctx context.Context, uid int) (leave func(), err error) {
	own := t.of(uid)
	select {
	case own <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case t.all <- struct{}{}:
	case <-ctx.Done():
		<-own
		return nil, ctx.Err()
	}
	return func() { <-t.all; <-own }, nil
}
