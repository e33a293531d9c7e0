package store

import (
	"runtime"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/sbxcron/sbxcron/jobspec"
)

// forwardBatch is how many ops one worker takes at a time.
const forwardBatch = 256

// proveForward is the proof of a chain that is as it was written: each op names the
// digest of the one before, and the last is the pinned one. Hashing and reading, the
// better part of the work, goes to every processor; the order is kept by one. At the
// first thing that is odd it gives up, without saying what it is.
func proveForward(path string, host jobspec.HostID, pin Pin, c *bolt.Cursor) (*State, bool) {
	f := &forward{state: &State{Host: host, Pin: pin, View: &jobspec.View{}}, path: path}
	if !f.walk(c) {
		return nil, false
	}
	v := f.state.View
	if v.Next != pin.Seq+1 || v.Head != pin.Digest || v.Host != host {
		return nil, false
	}
	v.Trim()
	f.state.View = v.Fork()
	return f.state, true
}

type forward struct {
	state *State
	path  string
	next  int64 // seq of the next key
}

// batch is a stretch of entries that one worker reads.
type batch struct {
	values [][]byte // in the database's memory
	read   []readOp
	ok     bool
	done   chan struct{}
}

type readOp struct {
	outline jobspec.Outline
	digest  jobspec.Digest
}

// walk reads every entry. Not more than a few batches are under way, so memory does
// not grow with the chain.
func (f *forward) walk(c *bolt.Cursor) bool {
	workers := runtime.GOMAXPROCS(0)
	work, free := make(chan *batch), make([]*batch, 0, 2*workers)
	for range cap(free) {
		free = append(free, &batch{read: make([]readOp, forwardBatch)})
	}
	var running sync.WaitGroup
	var first jobspec.Outliner
	for range workers {
		reader := first.Another()
		running.Go(func() {
			for b := range work {
				err := guard(f.path, func() error { b.readAll(reader); return nil })
				b.ok = b.ok && err == nil
				close(b.done)
			}
		})
	}
	defer running.Wait()
	defer close(work)

	k, v := c.First()
	var order []*batch
	ok := true
	for ok && (k != nil || len(order) > 0) {
		if k == nil || len(free) == 0 {
			first := order[0]
			<-first.done
			ok = f.follow(first)
			order, free = order[1:], append(free, first)
			continue
		}
		b := free[len(free)-1]
		free = free[:len(free)-1]
		b.values, b.done = b.values[:0], make(chan struct{})
		for ; k != nil && len(b.values) < forwardBatch && ok; k, v = c.Next() {
			ok = f.entry(b, k, v)
		}
		order = append(order, b)
		work <- b
	}
	for _, b := range order {
		<-b.done // it reads the database's memory
	}
	return ok
}

// entry takes one value, into the batch or, beyond the pin, into the state.
func (f *forward) entry(b *batch, k, v []byte) bool {
	seq, err := keySeq(k)
	if err != nil || seq != f.next {
		return false
	}
	f.next++
	if seq <= f.state.Pin.Seq {
		b.values = append(b.values, v)
		return true
	}
	e, err := decodeEntry(seq, v)
	f.state.Pending = append(f.state.Pending, e)
	return err == nil && len(f.state.Pending) <= maxPending
}

// readAll hashes and reads the ops of a batch.
func (b *batch) readAll(reader *jobspec.Outliner) {
	b.ok = false
	for i, value := range b.values {
		op, err := opOf(value)
		if err != nil {
			return
		}
		r := &b.read[i]
		if r.outline, err = reader.Read(op); err != nil {
			return
		}
		r.digest = jobspec.DigestOf(op)
	}
	b.ok = true
}

// follow adds a batch to the view. What the view accepts names the digest of the op
// before it.
func (f *forward) follow(b *batch) bool {
	if !b.ok {
		return false
	}
	for i := range b.values {
		r := &b.read[i]
		if r.outline.Op.Host != f.state.Host || f.state.View.Follow(&r.outline, r.digest) != nil {
			return false
		}
	}
	return true
}
