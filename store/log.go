package store

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store/checkpoint"
	"github.com/sbxcron/sbxcron/store/merkle"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// AuditKeys are the private keys of checkpoints. signing/auditkey has them.
type AuditKeys interface {
	Current() (checkpoint.Signer, error)
	Next() (public string, err error) // makes the key of the next epoch
	Pending() (checkpoint.Signer, error)
	TakeOver() error // makes it the current one, and the old one is gone
}

// Log is the Merkle tree over a Ledger, and the checkpoints of it. It stands
// beside the road of a run: an append leaves the hashes of its lines in memory,
// and Checkpoint takes them from there when it is called.
type Log struct {
	dirs   Dirs
	disk   Disk
	ledger *Ledger
	keys   AuditKeys // nil: checkpoints are read and none is made

	mu     sync.Mutex // held over a whole Checkpoint
	known  *checkpoint.Keys
	tree   merkle.Frontier
	hashes *os.File // STATE/ledger/tree
	newest Signed
	begun  time.Time // of the epoch
	seen   string    // the witness that was last found true
	failed error
}

// Signed is a checkpoint with the note that carries it. The zero value is none.
type Signed struct {
	checkpoint.Checkpoint
	Note string
}

// Head is the newest op of the chain, as a checkpoint names it.
type Head struct {
	Seq    int64
	Digest jobspec.Digest
}

// Newest is the newest checkpoint, zero where there is none yet.
func (l *Log) Newest() Signed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newest
}

// Checkpoint signs what was appended since the last checkpoint, and ends the epoch
// where it began on an earlier day (UTC) than now. It returns the checkpoints that
// it made: none where there is nothing new, two where an epoch ended and the next
// one begins. An *UnknownStateError ends this Log, not the Ledger.
func (l *Log) Checkpoint(now time.Time, head Head) ([]Signed, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return nil, l.failed
	}
	if l.keys == nil {
		return nil, errors.New("make a checkpoint: the audit key is the service's")
	}
	made, err := l.checkpoint(now, head)
	if err != nil {
		l.deaf()
		l.failed = &UnknownStateError{Reason: jobspec.CodeOr(err, jobspec.CodeAuditUnavailable), Step: "make a checkpoint", Err: err}
		return made, l.failed
	}
	return made, nil
}

func (l *Log) checkpoint(now time.Time, head Head) (made []Signed, err error) {
	if err := l.takeFresh(); err != nil {
		return nil, err
	}
	c := checkpoint.Checkpoint{Origin: l.known.Origin(), Size: l.tree.Size(), Root: l.tree.Root(), Epoch: l.known.Epoch(),
		Time: jobspec.InstantOf(now), Seq: head.Seq, Head: head.Digest}
	if dayOf(now) > dayOf(l.begun) {
		s, err := l.endEpoch(c)
		if err != nil {
			return nil, err
		}
		made = append(made, s)
		c.Epoch++
	} else if l.newest.Note != "" && c.Size == l.newest.Size && c.Epoch == l.newest.Epoch && c.Head == l.newest.Head {
		return nil, nil
	}
	s, err := l.sign(c)
	if err != nil {
		return made, err
	}
	if err := l.place(s); err != nil {
		return made, err
	}
	return append(made, s), appendReceipt(l.disk, l.dirs, s)
}

// dayOf is the day of a time, in a form that compares.
func dayOf(t time.Time) string { return t.UTC().Format("2006-01-02") }

// sign signs and looks at the result as a verifier will.
func (l *Log) sign(c checkpoint.Checkpoint) (Signed, error) {
	key, err := l.keys.Current()
	if err != nil {
		return Signed{}, err
	}
	note, err := c.Sign(key)
	if err != nil {
		return Signed{}, err
	}
	back, err := l.known.Open(note)
	if err != nil {
		return Signed{}, err
	}
	return Signed{back, note}, nil
}

// place keeps a checkpoint in CONF, which from then on no shorter ledger fits.
func (l *Log) place(s Signed) error {
	if err := safefile.WriteOn(l.disk, l.dirs.Checkpoint(), []byte(s.Note), l.dirs.ConfMode()); err != nil {
		return err
	}
	l.newest = s
	return nil
}

// endEpoch makes the last checkpoint of the epoch and changes the key. Killed
// between two steps, the next OpenLog goes on: the next key counts once the
// checkpoint that certifies it is durable, and never before.
func (l *Log) endEpoch(c checkpoint.Checkpoint) (Signed, error) {
	next, err := l.keys.Next()
	if err != nil {
		return Signed{}, err
	}
	c.Next = next
	s, err := l.sign(c)
	if err != nil {
		return Signed{}, err
	}
	if err := l.place(s); err != nil {
		return Signed{}, err
	}
	if err := l.closeEpoch(s); err != nil {
		return Signed{}, err
	}
	if err := appendReceipt(l.disk, l.dirs, s); err != nil {
		return Signed{}, err
	}
	return s, l.keys.TakeOver()
}

// closeEpoch puts the last checkpoint of an epoch, which lies in CONF, behind
// those of the others.
func (l *Log) closeEpoch(s Signed) error {
	if err := appendEpoch(l.disk, l.dirs, s.Note); err != nil {
		return err
	}
	_, err := l.known.End(s.Note)
	l.begun = s.Time.Time()
	return err
}

// takeFresh takes the hashes of what was appended since into the tree.
func (l *Log) takeFresh() error {
	l.ledger.mu.Lock()
	fresh := l.ledger.fresh
	l.ledger.fresh = nil
	l.ledger.mu.Unlock()
	return l.grow(fresh)
}

// grow adds leaves to the tree and to the file of hashes. That file is derived, so
// nothing waits for the disk.
func (l *Log) grow(fresh []merkle.Hash) error {
	if len(fresh) == 0 {
		return nil
	}
	var bytes []byte
	for _, h := range fresh {
		l.tree.Add(h, func(h merkle.Hash) { bytes = append(bytes, h[:]...) })
	}
	if err := l.disk.WriteAll(l.hashes, bytes); err != nil {
		return fmt.Errorf("keep hashes: %w", err)
	}
	return nil
}

// Err is why no checkpoint can be made any more, nil where one can.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// deaf takes no more hashes, which would only pile up.
func (l *Log) deaf() {
	l.ledger.mu.Lock()
	defer l.ledger.mu.Unlock()
	l.ledger.hashed, l.ledger.fresh = false, nil
}

// Close ends the log. The Ledger stays open.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deaf()
	if l.hashes == nil {
		return nil
	}
	err := l.hashes.Close()
	l.hashes, l.failed = nil, errors.New("make a checkpoint: closed")
	return err
}
