package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Buckets of runs.db. A row is keyed by the index of its first leaf, so the
// order of keys is the order of the ledger.
const (
	rowsBucket = "rows" // row key -> row
	jobsBucket = "jobs" // job, 0, row key -> present
	idsBucket  = "ids"  // run id -> row key
	openBucket = "open" // run id -> row key, of rows without a final leaf
	slotBucket = "slot" // job, 0, op digest -> covered
	metaBucket = "meta"
)

func runBuckets() []string {
	return []string{rowsBucket, jobsBucket, idsBucket, openBucket, slotBucket, metaBucket, acceptedBucket}
}

const (
	runsVersion = "2"
	indexBatch  = 4096 // leaves a transaction while catching up
	addBatch    = 128  // leaves that may wait
)

// Runs is the index of runs, derived from the ledger. It is written without
// syncing: whatever it loses, it reads from the ledger again. Its methods may be
// called by several goroutines.
type Runs struct {
	dirs    Dirs
	history *History
	boot    string
	folds   []Fold
	db      *bolt.DB
	damage  error
	adding  sync.Mutex // one at a time takes leaves into the index: each begins where the last one ended
	added   []Leaf     // leaves that are not in it yet, in no order; guarded by adding
}

// OpenRuns opens the index over h and brings it up to date. It is built anew
// when it is missing, damaged, of another version, ahead of the ledger, about
// another ledger, or was not closed in an earlier boot of the machine, when a
// page may have been lost with the power; also when it was kept with other folds.
// boot is the kernel's boot id.
func OpenRuns(d Dirs, h *History, boot string, folds ...Fold) (*Runs, error) {
	r := &Runs{dirs: d, history: h, boot: boot, folds: folds}
	usable, err := r.tryOpen()
	if err != nil {
		return nil, err
	}
	if !usable {
		if err := r.rebuild(); err != nil {
			return nil, err
		}
	}
	if err := r.CatchUp(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// tryOpen reports whether the file that is there can be used.
func (r *Runs) tryOpen() (bool, error) {
	db, _, err := openExisting(r.dirs, r.dirs.RunsDB(), runsOptions())
	if errors.As(err, new(*LockedError)) {
		return false, err
	}
	if err != nil {
		return false, nil
	}
	r.db = db
	ok := r.fits()
	if ok && r.mark("unclean") == nil {
		return true, nil
	}
	return false, guard(r.dirs.RunsDB(), db.Close)
}

func runsOptions() *bolt.Options {
	o := dbOptions(runsMapped, runsMax)
	o.NoSync = true
	return o
}

// fits compares the meta data with the ledger. Anything odd is a no.
func (r *Runs) fits() bool {
	var version, state, boot, last, folds string
	var next int64
	err := r.view(func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte(metaBucket))
		for _, name := range r.buckets() {
			if tx.Bucket([]byte(name)) == nil {
				return errors.New("a bucket is missing")
			}
		}
		version, state = string(meta.Get([]byte("version"))), string(meta.Get([]byte("state")))
		boot, last = string(meta.Get([]byte("boot"))), string(meta.Get([]byte("last")))
		folds, next = string(meta.Get([]byte(foldsKey))), nextLeaf(meta)
		return nil
	})
	if err != nil || folds != foldNames(r.folds) || version != runsVersion || next > r.history.Len() {
		return false
	}
	if state != "clean" && boot != r.boot {
		return false
	}
	return next == 0 || last == r.lineDigest(next-1)
}

// lineDigest identifies one leaf of the ledger.
func (r *Runs) lineDigest(index int64) string {
	var digest string
	stop := errors.New("found")
	err := r.history.Scan(index, func(l Leaf) error {
		digest = jobspec.DigestOf(l.Line).String()
		return stop
	})
	if err != stop {
		return "unreadable"
	}
	return digest
}

// rebuild makes an empty index in place of whatever is there.
func (r *Runs) rebuild() error {
	path := r.dirs.RunsDB()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("rebuild run index: %w", err)
	}
	err := guard(path, func() error {
		db, err := bolt.Open(path, 0o600, runsOptions())
		if err != nil {
			return err
		}
		r.db = db
		return db.Update(r.makeBuckets)
	})
	if err != nil {
		return fmt.Errorf("rebuild run index: %w", err)
	}
	return r.mark("unclean")
}

// mark writes durably whether all that was written before is durable.
func (r *Runs) mark(state string) error {
	err := r.update(func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte(metaBucket))
		return errors.Join(meta.Put([]byte("state"), []byte(state)), meta.Put([]byte("boot"), []byte(r.boot)))
	})
	if err != nil {
		return err
	}
	return guard(r.dirs.RunsDB(), r.db.Sync)
}

// look reads the index, with everything in it that was added.
func (r *Runs) look(fn func(tx *bolt.Tx) error) error {
	r.adding.Lock()
	err := r.takeIn()
	r.adding.Unlock()
	if err != nil {
		return err
	}
	return r.view(fn)
}

func (r *Runs) view(fn func(tx *bolt.Tx) error) error {
	return guard(r.dirs.RunsDB(), func() error { return r.db.View(fn) })
}

func (r *Runs) update(fn func(tx *bolt.Tx) error) error {
	return guard(r.dirs.RunsDB(), func() error { return r.db.Update(fn) })
}

func nextLeaf(meta *bolt.Bucket) int64 {
	if b := meta.Get([]byte("next")); len(b) == 8 {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// CatchUp indexes what the ledger has beyond the index. Damage in the ledger
// ends it without an error; see Damage.
func (r *Runs) CatchUp() error {
	r.adding.Lock()
	defer r.adding.Unlock()
	r.added = nil // the ledger has them
	return r.catchUp(math.MaxInt64)
}

// errReached ends a scan where it was to end.
var errReached = errors.New("the scan has reached its end")

// catchUp is CatchUp up to a leaf: what comes after it may be half written yet.
func (r *Runs) catchUp(last int64) error {
	var next int64
	if err := r.view(func(tx *bolt.Tx) error {
		next = nextLeaf(tx.Bucket([]byte(metaBucket)))
		return nil
	}); err != nil {
		return err
	}
	var batch []Leaf
	err := r.history.Scan(next, func(l Leaf) error {
		if l.Index > last {
			return errReached
		}
		batch = append(batch, l)
		if l.Index == last {
			return errReached
		}
		if len(batch) < indexBatch {
			return nil
		}
		err := r.index(batch)
		batch = nil
		return err
	})
	switch {
	case errors.Is(err, errReached):
		err = nil
	case errors.As(err, new(*LedgerError)):
		r.damage, err = err, nil
	}
	return errors.Join(err, r.index(batch))
}

// Damage says where in the ledger the index ends, or is nil.
func (r *Runs) Damage() error { return r.damage }

// Add takes leaves that were just appended, the first at index first. They wait
// until somebody asks or there are many: a transaction each would cost more than the
// rest of a record. Calls may come in another order than the appends. The leaves
// must not be changed afterwards.
func (r *Runs) Add(first int64, leaves ...*record.Leaf) error {
	r.adding.Lock()
	defer r.adding.Unlock()
	for i, leaf := range leaves {
		r.added = append(r.added, Leaf{Index: first + int64(i), Leaf: leaf})
	}
	if len(r.added) < addBatch {
		return nil
	}
	return r.takeIn()
}

// takeIn indexes what was added. Where a leaf among them is missing, or is in the
// index already, all are taken from the ledger. The caller holds adding.
func (r *Runs) takeIn() error {
	batch := r.added
	if len(batch) == 0 {
		return nil
	}
	r.added = nil
	slices.SortFunc(batch, func(a, b Leaf) int { return cmp.Compare(a.Index, b.Index) })
	last := batch[len(batch)-1].Index
	err := errGap
	if last-batch[0].Index+1 == int64(len(batch)) {
		if err := encodeAll(batch); err != nil {
			return err
		}
		err = r.index(batch)
	}
	if errors.Is(err, errGap) {
		return r.catchUp(last)
	}
	return err
}

// encodeAll makes the lines that the index needs: those of rows, and the last one.
func encodeAll(batch []Leaf) error {
	for i, l := range batch {
		if !opensRow(l.Leaf) && !l.Final() && i != len(batch)-1 {
			continue
		}
		line, err := l.Leaf.Encode()
		if err != nil {
			return err
		}
		batch[i].Line = line
	}
	return nil
}

var errGap = errors.New("leaves are missing in the run index")

// index takes a batch in one transaction.
func (r *Runs) index(batch []Leaf) error {
	if len(batch) == 0 {
		return nil
	}
	return r.update(func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte(metaBucket))
		if nextLeaf(meta) != batch[0].Index {
			return errGap
		}
		for _, l := range batch {
			if err := errors.Join(indexLeaf(tx, l), r.derive(tx, l.Leaf)); err != nil {
				return err
			}
		}
		last := batch[len(batch)-1]
		return errors.Join(
			meta.Put([]byte("next"), seqKey(last.Index+1)),
			meta.Put([]byte("last"), []byte(jobspec.DigestOf(last.Line).String())))
	})
}

// Close makes the index durable and says so in it.
func (r *Runs) Close() error {
	r.adding.Lock()
	defer r.adding.Unlock()
	err := errors.Join(r.takeIn(), guard(r.dirs.RunsDB(), r.db.Sync))
	if err == nil {
		err = r.mark("clean")
	}
	return errors.Join(err, guard(r.dirs.RunsDB(), r.db.Close))
}
