package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// What a start asks the ledger beside its rows stands in the run index too, under the
// same mark of how far the ledger was read: when each op was accepted, when the
// service was started last, and what callers fold. A start reads the lines behind the
// mark only, and one pass over the ledger rebuilds all of it.
const (
	acceptedBucket = "accepted" // position of the op -> Unix time in ns
	foldPrefix     = "fold:"    // and the name: job -> state
	bootKey        = "service_boot"
	foldsKey       = "folds"
)

// Fold is what a caller keeps of each job from the lines of the ledger, in their
// order. Next gives the state after one more line; nil is the state of a job without
// any. It must not keep or change state. Version changes where what Next does has.
type Fold struct {
	Name    string
	Version int
	Kinds   []record.Kind
	Next    func(state []byte, l *record.Leaf) ([]byte, error)
}

func (f Fold) bucket() []byte { return []byte(foldPrefix + f.Name) }

// foldNames tells one set of folds from another.
func foldNames(folds []Fold) string {
	var all []string
	for _, f := range folds {
		all = append(all, fmt.Sprintf("%s/%d", f.Name, f.Version))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// derive takes one leaf into what is derived beside the rows.
func (r *Runs) derive(tx *bolt.Tx, l *record.Leaf) error {
	switch {
	case l.Kind == record.OpAccepted && l.Seq >= 0:
		if err := putAccepted(tx, l); err != nil {
			return err
		}
	case l.Kind == record.Boot:
		if err := tx.Bucket([]byte(metaBucket)).Put([]byte(bootKey), []byte(l.Time)); err != nil {
			return err
		}
	}
	for _, f := range r.folds {
		if !slices.Contains(f.Kinds, l.Kind) || l.Job == "" {
			continue
		}
		if err := f.take(tx.Bucket(f.bucket()), l); err != nil {
			return err
		}
	}
	return nil
}

func putAccepted(tx *bolt.Tx, l *record.Leaf) error {
	at := record.ParseStamp(l.Time)
	if at.IsZero() {
		return nil
	}
	b := tx.Bucket([]byte(acceptedBucket))
	b.FillPercent = 1 // keys only grow
	return b.Put(seqKey(l.Seq), binary.BigEndian.AppendUint64(nil, uint64(at.UnixNano())))
}

func (f Fold) take(b *bolt.Bucket, l *record.Leaf) error {
	key := []byte(l.Job)
	before := b.Get(key)
	after, err := f.Next(slices.Clone(before), l)
	switch {
	case err != nil:
		return fmt.Errorf("fold %s of job %q: %w", f.Name, l.Job, err)
	case after != nil:
		return b.Put(key, after)
	case before != nil:
		return b.Delete(key)
	}
	return nil
}

// Accepted is what the ledger says of when ops were accepted.
type Accepted struct {
	When []int64   // by the position of the op, Unix time in ns, 0 for none
	Boot time.Time // when the service was started last
	Next int64     // index of the first leaf that this does not know
}

// Accepted reads it for the ops before most: a line about an op that is not there
// says nothing.
func (r *Runs) Accepted(most int64) (Accepted, error) {
	a := Accepted{When: make([]int64, 0, most)}
	err := r.look(func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte(metaBucket))
		a.Next, a.Boot = nextLeaf(meta), record.ParseStamp(string(meta.Get([]byte(bootKey))))
		c := tx.Bucket([]byte(acceptedBucket)).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if len(k) != 8 || len(v) != 8 {
				return errRow
			}
			seq := binary.BigEndian.Uint64(k)
			if seq >= uint64(most) {
				return nil
			}
			a.When = append(a.When, make([]int64, int64(seq)-int64(len(a.When)))...)
			a.When = append(a.When, int64(binary.BigEndian.Uint64(v)))
		}
		return nil
	})
	return a, err
}

// Folded gives the states of a fold, by job, up to the newest leaf that was added.
func (r *Runs) Folded(name string) (map[jobspec.Name][]byte, error) {
	all := map[jobspec.Name][]byte{}
	err := r.look(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(foldPrefix + name))
		if b == nil {
			return fmt.Errorf("run index: no fold %q", name)
		}
		return b.ForEach(func(k, v []byte) error {
			all[jobspec.Name(k)] = slices.Clone(v)
			return nil
		})
	})
	return all, err
}

// slotOf names an op of a job.
type slotOf struct {
	job jobspec.Name
	op  jobspec.Digest
}

// Slots are the last covered slots of all ops that have one, as they were when it was
// made.
type Slots struct{ all map[slotOf]Covered }

// Last is LastSlot.
func (s Slots) Last(job jobspec.Name, op jobspec.Digest) (Covered, bool) {
	c, ok := s.all[slotOf{job, op}]
	return c, ok
}

// LastSlots reads LastSlot of all ops at once: with a million jobs, a question for
// each takes seconds.
func (r *Runs) LastSlots() (Slots, error) {
	all := map[slotOf]Covered{}
	err := r.look(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(slotBucket)).ForEach(func(k, v []byte) error {
			at := len(k) - len(jobspec.Digest{}) - 1
			if at < 0 || k[at] != 0 {
				return errRow
			}
			c, ok, err := readCovered(v)
			if err == nil && ok {
				all[slotOf{jobspec.Name(k[:at]), jobspec.Digest(k[at+1:])}] = c
			}
			return err
		})
	})
	return Slots{all}, err
}

// makeBuckets makes those of a new index.
func (r *Runs) makeBuckets(tx *bolt.Tx) error {
	for _, name := range r.buckets() {
		if _, err := tx.CreateBucket([]byte(name)); err != nil {
			return err
		}
	}
	meta := tx.Bucket([]byte(metaBucket))
	return errors.Join(meta.Put([]byte("version"), []byte(runsVersion)), meta.Put([]byte(foldsKey), []byte(foldNames(r.folds))))
}

// buckets are all that an index must have.
func (r *Runs) buckets() []string {
	all := map[string]bool{}
	for _, name := range runBuckets() {
		all[name] = true
	}
	for _, f := range r.folds {
		all[string(f.bucket())] = true
	}
	return slices.Sorted(maps.Keys(all))
}
