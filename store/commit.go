package store

import (
	"errors"
	"fmt"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Writer is a chain that may be extended by whoever holds the lock. Several
// goroutines may use it; commits take turns.
type Writer struct {
	*Chain
	lock   *Lock
	disk   Disk
	mu     sync.Mutex // held over a whole commit
	failed error
}

// OpenWriter opens the chain for commits. The errors are those of OpenChain.
// Until the ops in State().Pending have been judged and AdvancePin was called
// for them, nothing may run and Commit refuses.
func OpenWriter(d Dirs, lock *Lock, disk Disk) (*Writer, error) {
	if !lock.holds(d) {
		return nil, fmt.Errorf("open chain: the lock %q is not held", d.Lock())
	}
	c, err := openChain(d, dbOptions(chainMapped, chainMax))
	if err != nil {
		return nil, err
	}
	return &Writer{Chain: c, lock: lock, disk: disk}, nil
}

// Commit puts one op in force: it checks that op extends the head, appends it,
// moves the pin, and returns the new state. The caller has verified sig over
// op, the key's right to the namespace that View.Check names, and the times.
//
// now stamps the pin. serial is the highest policy serial seen by the caller;
// the pin keeps the higher one. A refusal is an error of View.Check or DecodeOp
// and leaves everything as it was. An *UnknownStateError ends this Writer.
func (w *Writer) Commit(op, sig []byte, now time.Time, serial int64) (*State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return nil, err
	}
	if pending := w.State().Pending; len(pending) > 0 {
		return nil, w.fault(jobspec.CodeChainBroken, pending[0].Seq, fmt.Sprintf("%d ops beyond the pin wait to be judged", len(pending)))
	}
	decoded, err := w.accept(op)
	if err != nil {
		return nil, err
	}
	if err := w.append(Entry{Seq: decoded.Seq, Op: op, Sigs: [][]byte{sig}}); err != nil {
		return nil, err
	}
	return w.pinOn(decoded, jobspec.DigestOf(op), now, serial, nil)
}

// AdvancePin puts the first pending op in force, after the caller judged it
// like a fresh one: signature, key valid now, created, apply_before.
func (w *Writer) AdvancePin(now time.Time, serial int64) (*State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return nil, err
	}
	pending := w.State().Pending
	if len(pending) == 0 {
		return nil, errors.New("advance pin: no op lies beyond it")
	}
	op, err := w.accept(pending[0].Op)
	if err != nil {
		return nil, err
	}
	return w.pinOn(op, jobspec.DigestOf(pending[0].Op), now, serial, pending[1:])
}

// RaiseSerial remembers that a managed policy with this serial was seen, so that
// an older one is refused from now on. The pin keeps its op. A serial that is not
// higher changes nothing.
func (w *Writer) RaiseSerial(serial int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	next := *w.State()
	if serial <= next.Pin.PolicySerial {
		return nil
	}
	next.Pin.PolicySerial = serial
	if err := writePin(w.disk, w.dirs, next.Pin); err != nil {
		return w.fail("raise the policy serial", err)
	}
	w.state.Store(&next)
	return nil
}

// usable refuses work after a failure, without the lock, and on files that
// changed under us.
func (w *Writer) usable() error {
	if w.failed != nil {
		return w.failed
	}
	if !w.lock.holds(w.dirs) || !sameFile(w.lock.file, w.dirs.Lock()) {
		return fmt.Errorf("commit: the lock %q is not held", w.dirs.Lock())
	}
	return w.Recheck()
}

// accept decodes op and checks that it extends the proven head.
func (w *Writer) accept(raw []byte) (*jobspec.Op, error) {
	op, err := jobspec.DecodeOp(raw)
	if err != nil {
		return nil, err
	}
	if op.Host != w.State().Host {
		return nil, &jobspec.OpError{Reason: jobspec.CodeHostMismatch, Seq: op.Seq, Detail: fmt.Sprintf("made for host %q, this is %q", op.Host, w.State().Host)}
	}
	if _, err := w.State().View.Check(op); err != nil {
		return nil, err
	}
	return op, nil
}

// append writes the entry in one transaction. It never replaces a value.
func (w *Writer) append(e Entry) error {
	value, err := e.encode()
	if err != nil {
		return &Error{Reason: jobspec.CodeOpRefused, Seq: e.Seq, Path: w.dirs.ChainDB(), Detail: "the op cannot be stored", Err: err}
	}
	err = w.disk.Commit(func() error {
		return guard(w.dirs.ChainDB(), func() error {
			return w.db.Update(func(tx *bolt.Tx) error { return putNew(tx, e.Seq, value) })
		})
	})
	if err != nil {
		return w.fail("append op", err)
	}
	return nil
}

func putNew(tx *bolt.Tx, seq int64, value []byte) error {
	ops := tx.Bucket([]byte(opsBucket))
	if ops == nil {
		return errors.New("the ops are missing")
	}
	if ops.Get(seqKey(seq)) != nil {
		return fmt.Errorf("op %d is there already", seq)
	}
	return ops.Put(seqKey(seq), value)
}

// pinOn moves the pin to an op and takes over the new state.
func (w *Writer) pinOn(op *jobspec.Op, digest jobspec.Digest, now time.Time, serial int64, pending []Entry) (*State, error) {
	pin := Pin{
		Type: pinType, Host: w.State().Host, Seq: op.Seq, Digest: digest,
		Time: jobspec.InstantOf(now), PolicySerial: max(serial, w.State().Pin.PolicySerial),
	}
	if err := writePin(w.disk, w.dirs, pin); err != nil {
		return nil, w.fail("move pin", err)
	}
	next := w.State().extended(op, digest, pin, pending)
	w.state.Store(next)
	return next, nil
}

func (w *Writer) fail(step string, err error) error {
	w.failed = unknownState(step, err)
	return w.failed
}
