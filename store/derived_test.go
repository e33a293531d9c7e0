package store_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// tally counts the runs of a job since it was last released.
func tally() store.Fold {
	return store.Fold{Name: "tally", Version: 1, Kinds: []record.Kind{record.Finished, record.Released},
		Next: func(state []byte, l *record.Leaf) ([]byte, error) {
			if l.Kind == record.Released {
				return nil, nil
			}
			var n uint64
			if state != nil {
				n = binary.BigEndian.Uint64(state)
			}
			return binary.BigEndian.AppendUint64(nil, n+1), nil
		}}
}

// chapter is a history of what is derived beside the rows.
func chapter(n int) (leaves []*record.Leaf) {
	at := storetest.Epoch()
	for i := range n {
		at = at.Add(time.Minute)
		job := jobspec.Name(fmt.Sprintf("job%d", i%3))
		accepted, boot, released := storetest.Leaf(record.OpAccepted, at), storetest.Leaf(record.Boot, at), storetest.Leaf(record.Released, at)
		accepted.Seq, accepted.Job = int64(i/2*2), job // each twice, and every other op without a line
		released.Job = job
		leaves = append(leaves, accepted, finalLeaf(record.Finished, record.OutcomeFailed, string(job), fmt.Sprintf("r-%d", i), at))
		if i%5 == 0 {
			leaves = append(leaves, boot)
		}
		if i%11 == 0 {
			leaves = append(leaves, released)
		}
	}
	return leaves
}

func dumpDerived(t *testing.T, r *store.Runs) (out []string) {
	t.Helper()
	a, err := r.Accepted(1 << 20)
	must(t, err)
	folded, err := r.Folded("tally")
	must(t, err)
	out = append(out, fmt.Sprint(a.When, a.Boot, a.Next))
	for _, job := range slices.Sorted(maps.Keys(folded)) {
		out = append(out, fmt.Sprintf("%s %x", job, folded[job]))
	}
	slots, err := r.LastSlots()
	must(t, err)
	for i := range 4 {
		job := jobspec.Name(fmt.Sprintf("job%d", i))
		one, ok, err := r.LastSlot(job, opOne)
		must(t, err)
		if all, found := slots.Last(job, opOne); found != ok || all != one {
			t.Errorf("%s: %v %v among all, %v %v alone", job, all, found, one, ok)
		}
		out = append(out, fmt.Sprint(one, ok))
	}
	return append(out, dump(t, r)...)
}

func derivedIndex(t *testing.T, d store.Dirs, l *store.Ledger) *store.Runs {
	t.Helper()
	r, err := store.OpenRuns(d, &l.History, "boot1", tally())
	must(t, err)
	return r
}

// inMeta changes the meta data of an index that is closed.
func inMeta(t *testing.T, d store.Dirs, key, value string) {
	t.Helper()
	db, err := bolt.Open(d.RunsDB(), 0o600, &bolt.Options{Timeout: time.Second})
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte(key), []byte(value)) }))
	must(t, db.Close())
}

// What is derived is never the truth: whatever becomes of the index, the answers are
// those of the ledger.
func TestDerivedAnswersAreThoseOfTheLedgerWhateverBecomesOfTheIndex(t *testing.T) {
	digest := jobspec.DigestOf([]byte("another line")).String()
	for name, spoil := range map[string]func(t *testing.T, d store.Dirs, old []byte){
		"nothing":         func(*testing.T, store.Dirs, []byte) {},
		"deleted":         func(t *testing.T, d store.Dirs, _ []byte) { must(t, os.Remove(d.RunsDB())) },
		"cut":             func(t *testing.T, d store.Dirs, _ []byte) { must(t, os.Truncate(d.RunsDB(), 3*4096)) },
		"stale":           func(t *testing.T, d store.Dirs, old []byte) { must(t, os.WriteFile(d.RunsDB(), old, 0o600)) },
		"other line":      func(t *testing.T, d store.Dirs, _ []byte) { inMeta(t, d, "last", digest) },
		"ahead":           func(t *testing.T, d store.Dirs, _ []byte) { inMeta(t, d, "next", "\x00\x00\x00\x00\x00\xff\xff\xff") },
		"another version": func(t *testing.T, d store.Dirs, _ []byte) { inMeta(t, d, "version", "1") },
		"other folds":     func(t *testing.T, d store.Dirs, _ []byte) { inMeta(t, d, "folds", "tally/0") },
		"zeroed": func(t *testing.T, d store.Dirs, old []byte) {
			must(t, os.WriteFile(d.RunsDB(), make([]byte, len(old)), 0o600))
		},
		"not closed, boot": func(t *testing.T, d store.Dirs, _ []byte) {
			inMeta(t, d, "state", "unclean")
			inMeta(t, d, "boot", "boot0")
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := storetest.Dirs(t)
			l := openLedger(t, d, storetest.Lock(t, d))
			all := chapter(60)
			r := derivedIndex(t, d, l)
			must(t, r.Add(appendLeaves(t, l, all[:40]...), all[:40]...))
			must(t, r.Close())
			old, err := os.ReadFile(d.RunsDB())
			must(t, err)
			r = derivedIndex(t, d, l)
			for _, leaf := range all[40:] {
				must(t, r.Add(appendLeaves(t, l, leaf), leaf))
			}
			want := dumpDerived(t, r)
			must(t, r.Close())
			spoil(t, d, old)
			r = derivedIndex(t, d, l)
			defer r.Close()
			if diff := cmp.Diff(want, dumpDerived(t, r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Lines that were durable and not in the index when the process was killed are in it
// after the next start.
func TestKilledBetweenLedgerAndIndexTheNextStartReadsWhatIsMissing(t *testing.T) {
	for _, step := range []string{"1", "130", "300"} {
		d := storetest.Dirs(t)
		if !killed(t, child(t, d, "derive", step)) {
			t.Fatal("the child was not killed")
		}
		l := openLedger(t, d, storetest.Lock(t, d))
		r := derivedIndex(t, d, l)
		got := dumpDerived(t, r)
		must(t, r.Close())
		must(t, os.Remove(d.RunsDB()))
		r = derivedIndex(t, d, l)
		if diff := cmp.Diff(dumpDerived(t, r), got); diff != "" {
			t.Errorf("killed after line %s:\n%s", step, diff)
		}
		if got := fmt.Sprint(l.Len()); got != step {
			t.Errorf("%s lines, want %s", got, step)
		}
		must(t, r.Close())
		must(t, l.Close())
	}
}

// childDerive appends lines and adds them to the index, and dies behind one that it
// did not add.
func childDerive(d store.Dirs, lock *store.Lock, last int) error {
	l, err := store.OpenLedger(d, lock, store.RealDisk{})
	if err != nil {
		return err
	}
	r, err := store.OpenRuns(d, &l.History, "boot1", tally())
	if err != nil {
		return err
	}
	for i, leaf := range chapter(200) {
		first, err := l.Append(leaf)
		if err != nil {
			return err
		}
		if i+1 == last {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {}
		}
		if err := r.Add(first, leaf); err != nil {
			return err
		}
	}
	return nil
}

// A scan for some kinds gives what a scan of all gives of them, and reads no other.
func TestScanOfSomeKindsGivesTheLeavesOfThose(t *testing.T) {
	d := storetest.Dirs(t)
	l := openLedger(t, d, storetest.Lock(t, d))
	leaves := append(story(30), chapter(30)...)
	leaves[7].Host = ""
	appendLeaves(t, l, leaves...)
	kinds := []record.Kind{record.Released, record.Refused}
	var want, got []string
	must(t, l.Scan(0, func(leaf store.Leaf) error {
		if slices.Contains(kinds, leaf.Kind) {
			want = append(want, fmt.Sprint(leaf.Index, string(leaf.Line)))
		}
		return nil
	}))
	must(t, l.ScanKinds(0, kinds, func(leaf store.Leaf) error {
		got = append(got, fmt.Sprint(leaf.Index, string(leaf.Line)))
		return nil
	}))
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 8 {
		t.Errorf("%d leaves\n%s", len(want), diff)
	}
}

// A line whose kind cannot be read from its head is decoded, and so the damage is found.
func TestScanOfSomeKindsDecodesWhatItCannotTell(t *testing.T) {
	d := storetest.Dirs(t)
	l := openLedger(t, d, storetest.Lock(t, d))
	appendLeaves(t, l, chapter(3)...)
	files, err := os.ReadDir(d.LedgerDir())
	must(t, err)
	path := filepath.Join(d.LedgerDir(), files[0].Name())
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, []byte(strings.Replace(string(text), `"kind":"boot"`, `"kind":"b\ot"`, 1)), 0o600))
	err = l.ScanKinds(0, []record.Kind{record.Held}, func(store.Leaf) error { return nil })
	if damage, ok := errors.AsType[*store.LedgerError](err); !ok || damage.Line != 3 {
		t.Errorf("got %v", err)
	}
}
