package store

import (
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/sbxcron/sbxcron/jobspec"
)

// maxPending bounds the ops beyond the pin. A crash leaves one; more than a few
// were put there by hand.
const maxPending = 64

// State is proven history and what it adds up to. It is never changed.
type State struct {
	Host    jobspec.HostID
	Pin     Pin
	View    *jobspec.View // of the ops up to the pin; not to be extended
	Pending []Entry       // ops beyond the pin: in force only once AdvancePin was called
	history []link
}

// link is what is kept in memory of an op: its head without the spec.
type link struct {
	digest jobspec.Digest
	op     *jobspec.Op
	err    error // why the bytes are no op
}

// Digest is the digest of a proven op.
func (s *State) Digest(seq int64) (jobspec.Digest, bool) {
	if seq < 0 || seq >= int64(len(s.history)) {
		return jobspec.Digest{}, false
	}
	return s.history[seq].digest, true
}

// Len is the number of proven ops.
func (s *State) Len() int64 { return int64(len(s.history)) }

// Head returns op seq without its spec, for lists; authority comes only from
// verified bytes.
func (s *State) Head(seq int64) (jobspec.Op, bool) {
	if seq < 0 || seq >= int64(len(s.history)) {
		return jobspec.Op{}, false
	}
	return *s.history[seq].op, true
}

// proof gathers the chain while it is read.
type proof struct {
	path    string
	host    jobspec.HostID
	pin     Pin
	links   []link
	pending []Entry
	view    *jobspec.View
	broken  error // why the view could not be built further
}

// prove walks the ops from genesis to the pin and judges them. The pin vouches
// for its op, and each op by its prev for the one before: so blame is found by
// walking back from the pin. The view that is built on the way forward counts
// only once that walk has passed.
func prove(path string, host jobspec.HostID, pin Pin, c *bolt.Cursor) (*State, error) {
	p := &proof{path: path, host: host, pin: pin, view: &jobspec.View{}}
	if err := p.gather(c); err != nil {
		return nil, err
	}
	if err := p.pinned(); err != nil {
		return nil, err
	}
	if err := p.backward(); err != nil {
		return nil, err
	}
	if p.broken != nil {
		return nil, p.broken
	}
	return &State{Host: host, Pin: pin, View: p.view, Pending: p.pending, history: p.links}, nil
}

// gather reads every entry in order of its key.
func (p *proof) gather(c *bolt.Cursor) error {
	next := int64(0)
	for k, v := c.First(); k != nil; k, v = c.Next() {
		seq, err := keySeq(k)
		if err != nil || seq > next && next > p.pin.Seq {
			return p.fault(jobspec.CodeChainBroken, NoSeq, "a key stands outside of the sequence", err)
		}
		if seq != next {
			return p.fault(jobspec.CodeOpTampered, next, "the op is missing", nil)
		}
		e, err := decodeEntry(seq, v)
		switch {
		case err != nil:
			return p.fault(jobspec.CodeOpTampered, seq, "the entry is damaged", err)
		case seq <= p.pin.Seq:
			p.add(e.Op)
		case len(p.pending) == maxPending:
			return p.fault(jobspec.CodeChainBroken, seq, fmt.Sprintf("more than %d ops beyond the pin", maxPending), nil)
		default:
			p.pending = append(p.pending, e)
		}
		next++
	}
	return nil
}

// add takes one op into the view and drops its spec.
func (p *proof) add(raw []byte) {
	l := link{digest: jobspec.DigestOf(raw)}
	seq := int64(len(p.links))
	if l.op, l.err = jobspec.DecodeOp(raw); l.err == nil {
		p.extend(seq, l)
		l.op.Spec = nil
	}
	p.links = append(p.links, l)
}

// extend adds an op to the view, up to the first that does not fit. Where the
// hashes are right, that op was put in force as it is, by another version of
// sbxcron or by none.
func (p *proof) extend(seq int64, l link) {
	if p.broken != nil {
		return
	}
	if l.op.Host != p.host {
		p.broken = p.fault(jobspec.CodeHostMismatch, seq, fmt.Sprintf("made for host %q, this is %q", l.op.Host, p.host), nil)
		return
	}
	if _, err := p.view.Check(l.op); err != nil {
		p.broken = p.fault(jobspec.CodeChainBroken, seq, "the op does not extend the chain", err)
		return
	}
	p.view.Extend(l.op, l.digest)
}

// pinned looks for the op that the pin names.
func (p *proof) pinned() error {
	have := int64(len(p.links)) - 1
	if have >= 0 {
		last := p.links[have]
		if last.err == nil && last.digest != p.pin.Digest && last.op.Host != p.host {
			return p.fault(jobspec.CodeHostMismatch, have, fmt.Sprintf("made for host %q, this is %q", last.op.Host, p.host), nil)
		}
	}
	if have < p.pin.Seq {
		return p.fault(jobspec.CodeChainRollback, NoSeq, fmt.Sprintf("the pin names op %d, the chain ends with %d", p.pin.Seq, have), nil)
	}
	last := p.links[have]
	switch {
	case last.err != nil:
		return p.fault(jobspec.CodeOpTampered, have, "the bytes are no op", last.err)
	case last.digest != p.pin.Digest:
		return p.fault(jobspec.CodeChainRollback, have, fmt.Sprintf("digest %s is not the pinned %s", last.digest.Short(), p.pin.Digest.Short()), nil)
	}
	return nil
}

// backward holds each op against the digest that its successor names.
func (p *proof) backward() error {
	for seq := p.pin.Seq; seq > 0; seq-- {
		l := p.links[seq-1]
		want := p.links[seq].op.Prev
		if l.digest != want {
			return p.fault(jobspec.CodeOpTampered, seq-1, fmt.Sprintf("digest %s is not %s, which op %d names", l.digest.Short(), want.Short(), seq), l.err)
		}
		if l.err != nil {
			return p.fault(jobspec.CodeChainBroken, seq-1, "the bytes are no op", l.err)
		}
	}
	return nil
}

// keySeq reads a key.
func keySeq(k []byte) (int64, error) {
	if len(k) != 8 || k[0] > 0x1f { // far above any seq that an op can hold
		return 0, fmt.Errorf("key of %d bytes is not a seq", len(k))
	}
	return int64(binary.BigEndian.Uint64(k)), nil
}

func (p *proof) fault(code jobspec.Code, seq int64, detail string, err error) error {
	return &Error{Reason: code, Seq: seq, Path: p.path, Detail: detail, Err: err}
}

// extended is s with one more op, proven and pinned.
func (s *State) extended(l link, pin Pin, pending []Entry) *State {
	history := append(s.history[:len(s.history):len(s.history)], l)
	view := &jobspec.View{}
	for _, h := range history {
		view.Extend(h.op, h.digest)
	}
	return &State{Host: s.Host, Pin: pin, View: view, Pending: pending, history: history}
}
