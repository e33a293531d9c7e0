package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/merkle"
	"github.com/sbxcron/sbxcron/store/safefile"
)

var errFound = errors.New("found")

// openStored opens the file of hashes for reading.
func openStored(d Dirs) (s merkle.Stored, done func(), err error) {
	f, err := safefile.Open(d.Tree(), os.O_RDONLY, safefile.Options{UID: d.UID, Secret: true})
	if err != nil {
		return merkle.Stored{}, nil, err
	}
	return merkle.NewStored(f), func() { f.Close() }, nil
}

// Proofs makes proofs in the tree of one checkpoint.
type Proofs struct {
	in     Signed
	stored merkle.Stored
	again  func() (merkle.Stored, error) // from the lines, where the kept hashes are wrong
	done   func()
}

// OpenProofs reads the kept hashes, and where they are missing or wrong the lines.
// It needs no lock. The checkpoint was verified by the caller.
func OpenProofs(d Dirs, h *History, in Signed) (*Proofs, error) {
	p := &Proofs{in: in, done: func() {}}
	p.again = func() (merkle.Stored, error) { return hashLines(h, in) }
	s, done, err := openStored(d)
	if err == nil {
		p.stored, p.done = s, done
		return p, nil
	}
	p.stored, err = p.again()
	return p, err
}

// hashLines makes the hashes of the tree in memory.
func hashLines(h *History, in Signed) (merkle.Stored, error) {
	var tree merkle.Frontier
	var kept bytes.Buffer
	err := h.ScanLines(0, func(index int64, line []byte) error {
		if index >= in.Size {
			return errFound
		}
		tree.Add(merkle.LeafHash(line), func(h merkle.Hash) { kept.Write(h[:]) })
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return merkle.Stored{}, err
	}
	return merkle.NewStored(bytes.NewReader(kept.Bytes())), nil
}

// Leaf proves that a leaf lies in the tree, and returns its hash and the proof.
func (p *Proofs) Leaf(index int64) (leaf merkle.Hash, proof []merkle.Hash, err error) {
	err = p.try(func(s merkle.Stored) error {
		leaf, proof, err = s.Inclusion(p.in.Size, p.in.Root, index)
		return err
	})
	return leaf, proof, err
}

// From proves that the tree begins with that of its first size leaves.
func (p *Proofs) From(size int64) (proof []merkle.Hash, err error) {
	err = p.try(func(s merkle.Stored) error {
		_, proof, err = s.Consistency(p.in.Size, p.in.Root, size)
		return err
	})
	return proof, err
}

// try makes a proof; where the kept hashes give none, once more from the lines.
func (p *Proofs) try(prove func(merkle.Stored) error) error {
	first := prove(p.stored)
	if first == nil {
		return nil
	}
	s, err := p.again()
	if err != nil {
		return errors.Join(first, err)
	}
	if err := prove(s); err != nil {
		return err
	}
	p.stored = s
	return nil
}

// Close gives the files back.
func (p *Proofs) Close() { p.done() }

// Witness says whether a checkpoint that somebody has kept speaks of this ledger:
// a key of it has signed it, and its tree is the beginning of ours. A checkpoint
// of more lines than the newest one has is a rollback.
func (l *Log) Witness(note string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, err := l.known.Open(note)
	if err != nil {
		return err
	}
	if l.newest.Note == "" || c.Size > l.newest.Size || c.Epoch > l.newest.Epoch {
		return &checkpoint.Error{Reason: jobspec.CodeCheckpointRollback, Detail: fmt.Sprintf("it is of %d lines in epoch %d, and the newest of this host is older", c.Size, c.Epoch)}
	}
	if l.seen == note {
		return nil
	}
	history := &l.ledger.History
	p, err := OpenProofs(l.dirs, history, l.newest)
	if err != nil {
		return err
	}
	defer p.Close()
	if c.Size > 0 {
		var proof []merkle.Hash
		if proof, err = p.From(c.Size); err == nil {
			err = merkle.CheckConsistency(proof, l.newest.Size, l.newest.Root, c.Size, c.Root)
		}
	}
	if err != nil {
		return &checkpoint.Error{Reason: jobspec.CodeCheckpointFork, Detail: "it is not of this ledger: " + err.Error()}
	}
	l.seen = note
	return nil
}
