package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// RunRow is one row of history: a run, or slots that did not run. Start is nil
// for what never started, Final is nil for what is not over.
type RunRow struct {
	Start      *record.Leaf // claimed or started
	StartIndex int64
	Final      *record.Leaf
	FinalIndex int64
}

// Last is the leaf that says most: the final one if there is one.
func (r RunRow) Last() *record.Leaf {
	if r.Final != nil {
		return r.Final
	}
	return r.Start
}

// First is the leaf that opened the row.
func (r RunRow) First() *record.Leaf {
	if r.Start != nil {
		return r.Start
	}
	return r.Final
}

// Index is the place of Last in the ledger.
func (r RunRow) Index() int64 {
	if r.Final != nil {
		return r.FinalIndex
	}
	return r.StartIndex
}

// Outcome is how it ended, "" while it runs.
func (r RunRow) Outcome() record.Outcome {
	if r.Final == nil {
		return ""
	}
	return r.Final.Outcome
}

// storedRow is a row as bytes: a head that filters read without decoding, and
// the lines of its leaves.
type storedRow struct {
	time       int64 // ns since 1970, when the first leaf was stated
	outcome    string
	start      []byte
	startIndex int64
	final      []byte
	finalIndex int64
}

func (s storedRow) encode() []byte {
	out := binary.BigEndian.AppendUint64(nil, uint64(s.time))
	for _, n := range []int64{s.startIndex, s.finalIndex} {
		out = binary.AppendUvarint(out, uint64(n))
	}
	for _, b := range [][]byte{[]byte(s.outcome), s.start, s.final} {
		out = append(binary.AppendUvarint(out, uint64(len(b))), b...)
	}
	return out
}

var errRow = errors.New("a row of the run index is damaged")

// decodeRow shares memory with b, which the caller copied if it must.
func decodeRow(b []byte) (storedRow, error) {
	if len(b) < 8 {
		return storedRow{}, errRow
	}
	s := storedRow{time: int64(binary.BigEndian.Uint64(b))}
	b = b[8:]
	for _, n := range []*int64{&s.startIndex, &s.finalIndex} {
		v, size := binary.Uvarint(b)
		if size <= 0 {
			return storedRow{}, errRow
		}
		*n, b = int64(v), b[size:]
	}
	var outcome []byte
	for _, part := range []*[]byte{&outcome, &s.start, &s.final} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return storedRow{}, errRow
		}
		*part, b = b[size:size+int(n)], b[size+int(n):]
	}
	s.outcome = string(outcome)
	return s, nil
}

func (s storedRow) row() (RunRow, error) {
	r := RunRow{StartIndex: s.startIndex, FinalIndex: s.finalIndex}
	var err error
	if len(s.start) > 0 {
		if r.Start, err = record.Decode(s.start); err != nil {
			return RunRow{}, err
		}
	}
	if len(s.final) > 0 {
		if r.Final, err = record.Decode(s.final); err != nil {
			return RunRow{}, err
		}
	}
	if r.Start == nil && r.Final == nil {
		return RunRow{}, errRow
	}
	return r, nil
}

func opensRow(l *record.Leaf) bool { return l.Kind == record.Started || l.Kind == record.Claimed }

// indexLeaf takes one leaf into the index. Leaves about no run are passed over.
func indexLeaf(tx *bolt.Tx, l Leaf) error {
	opens := opensRow(l.Leaf)
	if !opens && !l.Final() {
		return nil
	}
	if err := cover(tx.Bucket([]byte(slotBucket)), l.Leaf); err != nil {
		return err
	}
	if key := tx.Bucket([]byte(openBucket)).Get([]byte(l.Run)); l.Run != "" && key != nil && !opens {
		return closeRow(tx, bytes.Clone(key), l)
	}
	return newRow(tx, l, opens)
}

func newRow(tx *bolt.Tx, l Leaf, opens bool) error {
	s := storedRow{time: record.ParseStamp(l.Time).UnixNano()}
	if opens {
		s.start, s.startIndex = l.Line, l.Index
	} else {
		s.final, s.finalIndex, s.outcome = l.Line, l.Index, string(l.Outcome)
	}
	key := seqKey(l.Index)
	err := errors.Join(
		tx.Bucket([]byte(rowsBucket)).Put(key, s.encode()),
		tx.Bucket([]byte(jobsBucket)).Put(jobKey(l.Job, key), []byte{1}))
	if l.Run == "" || err != nil {
		return err
	}
	if opens {
		err = tx.Bucket([]byte(openBucket)).Put([]byte(l.Run), key)
	}
	return errors.Join(err, tx.Bucket([]byte(idsBucket)).Put([]byte(l.Run), key))
}

func closeRow(tx *bolt.Tx, key []byte, l Leaf) error {
	rows := tx.Bucket([]byte(rowsBucket))
	s, err := decodeRow(bytes.Clone(rows.Get(key)))
	if err != nil {
		return err
	}
	s.final, s.finalIndex, s.outcome = l.Line, l.Index, string(l.Outcome)
	return errors.Join(
		rows.Put(key, s.encode()),
		tx.Bucket([]byte(openBucket)).Delete([]byte(l.Run)))
}

func jobKey(job jobspec.Name, row []byte) []byte {
	return append(append([]byte(job), 0), row...)
}

// Covered is the latest due instant of a job's op that has its row.
type Covered struct {
	At   time.Time
	Slot jobspec.Slot
}

// Beyond reports whether c lies behind another: later, or a later slot of the same
// instant. Where clocks are set ahead several slots have one instant, and the first
// of them must not stand for the others, which have rows of their own.
func (c Covered) Beyond(other Covered) bool {
	if n := c.At.Compare(other.At); n != 0 {
		return n > 0
	}
	return c.Slot.Civil > other.Slot.Civil
}

// CoveredBy is the last slot that a leaf covers, false for one that covers none.
// A leaf that covers a range of slots has the instant of its last one in until,
// and of a single one in scheduled_for. Manual runs have no slot and cover
// nothing, and so do leaves that neither open nor end anything.
func CoveredBy(l *record.Leaf) (Covered, bool) {
	opens := l.Kind == record.Started || l.Kind == record.Claimed
	if l.Slot == nil || !opens && !l.Final() {
		return Covered{}, false
	}
	c := Covered{record.ParseStamp(l.Scheduled), *l.Slot}
	if l.SlotLast != nil {
		c.Slot = *l.SlotLast
		if until := record.ParseStamp(l.Until); until.After(c.At) {
			c.At = until
		}
	}
	return c, !c.At.IsZero()
}

// cover moves the covered instant forward.
func cover(slots *bolt.Bucket, l *record.Leaf) error {
	c, ok := CoveredBy(l)
	if !ok {
		return nil
	}
	at, slot := c.At, c.Slot
	key := append(append([]byte(l.Job), 0), l.Op[:]...)
	if old, found, err := readCovered(slots.Get(key)); err == nil && found && !c.Beyond(old) {
		return nil
	}
	value := binary.BigEndian.AppendUint64(nil, uint64(at.UnixNano()))
	value = append(value, byte(slot.Fold))
	value = append(append(append(value, slot.Civil...), 0), slot.Zone...)
	return slots.Put(key, value)
}
