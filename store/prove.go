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
}

// Digest is the digest of a proven op.
func (s *State) Digest(seq int64) (jobspec.Digest, bool) {
	h, ok := s.View.Op(seq)
	return h.Digest, ok
}

// Len is the number of proven ops.
func (s *State) Len() int64 { return s.View.Next }

// Head returns what the view knows of op seq, for lists; authority comes only from
// verified bytes.
func (s *State) Head(seq int64) (jobspec.OpHead, bool) { return s.View.Op(seq) }

// link is what the proof keeps of an op.
type link struct {
	digest jobspec.Digest
	prev   jobspec.Digest
	host   jobspec.HostID
	err    error // why the bytes are no op
}

// proof gathers the chain while it is read.
type proof struct {
	path    string
	host    jobspec.HostID
	pin     Pin
	reader  jobspec.Outliner
	links   []link
	pending []Entry
	view    *jobspec.View
	broken  error // why the view could not be built further
}

// prove walks the ops from genesis to the pin and judges them. Almost always they
// are as they were written, and proveForward says so. Where they are not, it takes
// a walk of its own to say what is wrong: the pin vouches
// for its op, and each op by its prev for the one before: so blame is found by
// walking back from the pin. The view that is built on the way forward counts
// only once that walk has passed.
func prove(path string, host jobspec.HostID, pin Pin, c *bolt.Cursor) (*State, error) {
	if state, ok := proveForward(path, host, pin, c); ok {
		return state, nil
	}
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
	return &State{Host: host, Pin: pin, View: p.view.Fork(), Pending: p.pending}, nil
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

// add takes one op into the view.
func (p *proof) add(raw []byte) {
	l := link{digest: jobspec.DigestOf(raw)}
	seq := int64(len(p.links))
	o, err := p.reader.Read(raw)
	if l.prev, l.host, l.err = o.Op.Prev, o.Op.Host, err; err == nil {
		p.extend(seq, &o, l.digest)
	}
	p.links = append(p.links, l)
}

// extend adds an op to the view, up to the first that does not fit. Where the
// hashes are right, that op was put in force as it is, by another version of
// sbxcron or by none.
func (p *proof) extend(seq int64, o *jobspec.Outline, digest jobspec.Digest) {
	if p.broken != nil {
		return
	}
	if o.Op.Host != p.host {
		p.broken = p.fault(jobspec.CodeHostMismatch, seq, fmt.Sprintf("made for host %q, this is %q", o.Op.Host, p.host), nil)
		return
	}
	if err := p.view.Follow(o, digest); err != nil {
		p.broken = p.fault(jobspec.CodeChainBroken, seq, "the op does not extend the chain", err)
	}
}

// pinned looks for the op that the pin names.
func (p *proof) pinned() error {
	have := int64(len(p.links)) - 1
	if have >= 0 {
		last := p.links[have]
		if last.err == nil && last.digest != p.pin.Digest && last.host != p.host {
			return p.fault(jobspec.CodeHostMismatch, have, fmt.Sprintf("made for host %q, this is %q", last.host, p.host), nil)
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
		want := p.links[seq].prev
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
func (s *State) extended(op *jobspec.Op, digest jobspec.Digest, pin Pin, pending []Entry) *State {
	view := s.View.Fork()
	view.Extend(op, digest)
	return &State{Host: s.Host, Pin: pin, View: view.Fork(), Pending: pending}
}
