package store

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store/merkle"
)

// Ledger is the history that may be appended to, by the holder of the lock.
type Ledger struct {
	History
	disk   Disk
	file   *os.File // the newest segment
	failed error
	cut    int64

	waiting lineup
	hashed  bool          // a Log wants the hashes of what is appended
	fresh   []merkle.Hash // those that it has not taken yet
}

// OpenLedger opens the ledger for appending. A last line without its end was
// never acknowledged and is cut off (see Cut). Any other damage is returned as
// a *LedgerError: nothing can be appended then, OpenHistory still reads.
func OpenLedger(d Dirs, lock *Lock, disk Disk) (*Ledger, error) {
	if !lock.holds(d) {
		return nil, fmt.Errorf("open ledger: the lock %q is not held", d.Lock())
	}
	if err := makeDir(d.LedgerDir(), 0o700); err != nil {
		return nil, err
	}
	h, err := OpenHistory(d)
	if err != nil {
		return nil, err
	}
	if h.damage != nil {
		return nil, h.damage
	}
	l := &Ledger{History: History{dirs: d, segments: h.segments}, disk: disk}
	if len(l.segments) == 0 {
		return l, nil
	}
	if err := l.openNewest(); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return l, nil
}

// openNewest opens the last segment and cuts what was never acknowledged.
func (l *Ledger) openNewest() error {
	s := &l.segments[len(l.segments)-1]
	f, err := openSegment(l.dirs, s.month, os.O_RDWR)
	if err != nil {
		return err
	}
	if s.torn > 0 {
		if err := errors.Join(f.Truncate(s.size), f.Sync()); err != nil {
			f.Close()
			return err
		}
		l.cut, s.torn = s.torn, 0
	}
	if _, err := f.Seek(s.size, 0); err != nil {
		f.Close()
		return err
	}
	l.file = f
	return nil
}

// Cut is how many bytes of an unfinished line OpenLedger removed.
func (l *Ledger) Cut() int64 { return l.cut }

// Append makes the leaves durable and returns the index of the first. They stand
// one behind the other, with no leaf of another call between them. Calls that come
// while another one syncs share the next write and its one fdatasync. Nil means
// durable. A leaf that cannot be encoded is refused before anything is written;
// any other error is an *UnknownStateError with audit_unavailable, after which
// every Append refuses.
func (l *Ledger) Append(leaves ...*record.Leaf) (first int64, err error) {
	if len(leaves) == 0 {
		return 0, errors.New("append to ledger: no leaf")
	}
	mine := &entry{turn: make(chan struct{}), done: make(chan struct{}), stated: record.ParseStamp(leaves[0].Time)}
	if err = mine.encode(leaves); err != nil {
		return 0, fmt.Errorf("append to ledger: %w", err)
	}
	l.waiting.join(mine)
	select {
	case <-mine.turn:
		l.appendAll(l.waiting.take())
		l.waiting.pass()
	case <-mine.done:
	}
	return mine.first, mine.err
}

// appendAll writes the leaves of several calls, those of one segment together.
func (l *Ledger) appendAll(all []*entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(all) > 0 {
		n := oneSegment(all)
		l.appendLocked(all[:n])
		all = all[n:]
	}
}

func (l *Ledger) appendLocked(all []*entry) {
	err := l.failed
	if err == nil {
		var bytes []byte
		for _, e := range all {
			bytes = append(bytes, e.batch...)
		}
		if werr := l.write(all[0].stated, bytes); werr != nil {
			err = &UnknownStateError{Reason: jobspec.CodeAuditUnavailable, Step: "append to ledger", Err: werr}
			l.failed = err
		}
	}
	for _, e := range all {
		if e.err = err; err == nil {
			e.first = l.lenLocked()
			s := &l.segments[len(l.segments)-1]
			for _, n := range e.lengths {
				s.grow(n)
			}
			if l.hashed {
				l.fresh = append(l.fresh, e.hashes...)
			}
		}
		close(e.done)
	}
}

// write puts the batch into the segment of its month, durably.
func (l *Ledger) write(stated time.Time, batch []byte) error {
	if err := l.turnTo(stated.UTC().Format(monthForm)); err != nil {
		return err
	}
	if !sameFile(l.file, l.file.Name()) {
		return fmt.Errorf("%q is no longer the file that is open", l.file.Name())
	}
	if err := l.disk.WriteAll(l.file, batch); err != nil {
		return err
	}
	return l.disk.DataSync(l.file)
}

// turnTo begins a new segment when the month is later than the newest one. When
// the clock stepped back the newest goes on: the order of leaves is their
// index, never their time.
func (l *Ledger) turnTo(month string) error {
	if n := len(l.segments); n > 0 && month <= l.segments[n-1].month {
		return nil
	}
	f, err := os.OpenFile(l.dirs.segment(month), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := l.disk.SyncDir(l.dirs.LedgerDir()); err != nil {
		f.Close()
		return err
	}
	if l.file != nil {
		if err := l.file.Close(); err != nil {
			f.Close()
			return err
		}
	}
	l.file = f
	l.segments = append(l.segments, segment{month: month, first: l.lenLocked()})
	return nil
}

// Close ends appending.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file, l.failed = nil, errors.New("append to ledger: closed")
	return err
}
