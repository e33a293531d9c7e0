package store

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// DefaultLimit is how many rows a query without a limit returns.
const DefaultLimit = 50

// pageKeys bounds the keys that one read transaction looks at: a transaction
// that stays open keeps every page that is replaced meanwhile.
const pageKeys = 512

// Query picks rows. A zero field does not narrow; Limit 0 is DefaultLimit.
type Query struct {
	Job      jobspec.Name
	Since    time.Time // rows stated at this time or later
	Until    time.Time // rows stated before this time
	Outcomes []record.Outcome
	Limit    int
	// Keep takes the rows that count among those that match, nil all of them. At most
	// MostKept rows are shown to it, the newest ones.
	Keep func(RunRow) bool
}

// MostKept bounds what a query with Keep looks at: a caller who may see little shall
// not have the whole index read.
const MostKept = 100_000

func (q Query) matches(s storedRow) bool {
	switch {
	case !q.Since.IsZero() && s.time < q.Since.UnixNano():
		return false
	case !q.Until.IsZero() && s.time >= q.Until.UnixNano():
		return false
	}
	return len(q.Outcomes) == 0 || slices.Contains(q.Outcomes, record.Outcome(s.outcome))
}

// Runs returns the rows that q picks, the newest of the ledger first.
func (r *Runs) Runs(q Query) ([]RunRow, error) {
	if q.Limit <= 0 {
		q.Limit = DefaultLimit
	}
	var found []storedRow
	var before []byte // key after the next page
	left := MostKept
	if keep := q.Keep; keep != nil {
		q.Keep = func(row RunRow) bool { left--; return keep(row) }
	}
	for len(found) < q.Limit && left > 0 {
		more := false
		err := r.look(func(tx *bolt.Tx) error {
			var err error
			found, before, more, err = q.page(tx, found, before)
			return err
		})
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	return rowsOf(found)
}

// page looks at the next keys downward from before and adds what matches.
func (q Query) page(tx *bolt.Tx, found []storedRow, before []byte) (all []storedRow, next []byte, more bool, err error) {
	rows := tx.Bucket([]byte(rowsBucket))
	c, prefix := rows.Cursor(), []byte(nil)
	if q.Job != "" {
		c, prefix = tx.Bucket([]byte(jobsBucket)).Cursor(), jobKey(q.Job, nil)
	}
	k := seekBefore(c, prefix, before)
	for n := 0; k != nil && bytes.HasPrefix(k, prefix); n++ {
		if n == pageKeys || len(found) == q.Limit {
			return found, next, true, nil
		}
		next = bytes.Clone(k)
		value := rows.Get(k[len(prefix):])
		s, err := decodeRow(value)
		if err != nil {
			return nil, nil, false, err
		}
		if q.matches(s) {
			if s, err = decodeRow(bytes.Clone(value)); err != nil {
				return nil, nil, false, err
			}
			keep, err := q.keeps(s)
			if err != nil {
				return nil, nil, false, err
			}
			if keep {
				found = append(found, s)
			}
		}
		k, _ = c.Prev()
	}
	return found, next, false, nil
}

func (q Query) keeps(s storedRow) (bool, error) {
	if q.Keep == nil {
		return true, nil
	}
	row, err := s.row()
	return err == nil && q.Keep(row), err
}

// seekBefore finds the last key below before, or the last with prefix.
func seekBefore(c *bolt.Cursor, prefix, before []byte) []byte {
	if before == nil {
		before = append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, 9)...)
	}
	if k, _ := c.Seek(before); k == nil {
		k, _ = c.Last()
		return k
	}
	k, _ := c.Prev()
	return k
}

func rowsOf(found []storedRow) ([]RunRow, error) {
	out := make([]RunRow, 0, len(found))
	for _, s := range found {
		row, err := s.row()
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

// Run returns the row of one run.
func (r *Runs) Run(id string) (row RunRow, found bool, err error) {
	var value []byte
	err = r.look(func(tx *bolt.Tx) error {
		if key := tx.Bucket([]byte(idsBucket)).Get([]byte(id)); key != nil && id != "" {
			value = bytes.Clone(tx.Bucket([]byte(rowsBucket)).Get(key))
		}
		return nil
	})
	if err != nil || value == nil {
		return RunRow{}, false, err
	}
	s, err := decodeRow(value)
	if err != nil {
		return RunRow{}, false, err
	}
	row, err = s.row()
	return row, err == nil, err
}

// Open returns the rows that have no final leaf, oldest first. At the start of
// the service each of them is a lost run.
func (r *Runs) Open() ([]RunRow, error) {
	var found []storedRow
	err := r.look(func(tx *bolt.Tx) error {
		rows := tx.Bucket([]byte(rowsBucket))
		return tx.Bucket([]byte(openBucket)).ForEach(func(_, key []byte) error {
			s, err := decodeRow(bytes.Clone(rows.Get(key)))
			found = append(found, s)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b storedRow) int { return int(a.startIndex - b.startIndex) })
	return rowsOf(found)
}

// LastSlot returns the latest due instant of an op of a job that has a row, be
// it a claim or a final one. False: none was ever covered.
func (r *Runs) LastSlot(job jobspec.Name, op jobspec.Digest) (Covered, bool, error) {
	var c Covered
	var ok bool
	err := r.look(func(tx *bolt.Tx) error {
		var err error
		c, ok, err = readCovered(tx.Bucket([]byte(slotBucket)).Get(append(append([]byte(job), 0), op[:]...)))
		return err
	})
	return c, ok, err
}

// readCovered reads what cover wrote; false for nothing.
func readCovered(v []byte) (c Covered, ok bool, err error) {
	if len(v) < 9 {
		return c, false, nil
	}
	civil, zone, found := bytes.Cut(v[9:], []byte{0})
	if !found {
		return c, false, errRow
	}
	c.At = time.Unix(0, int64(binary.BigEndian.Uint64(v))).UTC()
	c.Slot = jobspec.Slot{Civil: string(civil), Zone: string(zone), Fold: int(v[8])}
	return c, true, nil
}
