package store_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

var opOne = jobspec.DigestOf([]byte("op one"))

func slotLeaf(kind record.Kind, job, run string, at time.Time) *record.Leaf {
	slot := jobspec.SlotAt(at, "UTC", 0)
	l := storetest.Leaf(kind, at)
	l.Job, l.Run, l.Op, l.Slot, l.Scheduled = jobspec.Name(job), run, opOne, &slot, record.Stamp(at)
	return l
}

func finalLeaf(kind record.Kind, outcome record.Outcome, job, run string, at time.Time) *record.Leaf {
	l := slotLeaf(kind, job, run, at)
	l.Outcome = outcome
	return l
}

// story is a mixed history: every kind of row, runs that overlap, one that
// never ends, and leaves about no run in between.
func story(n int) (leaves []*record.Leaf) {
	at := storetest.Epoch()
	for i := range n {
		at = at.Add(time.Minute)
		run := fmt.Sprintf("r-%d", i)
		job := fmt.Sprintf("job%d", i%3)
		switch i % 5 {
		case 0:
			leaves = append(leaves, slotLeaf(record.Started, job, run, at), storetest.Leaf(record.Alert, at))
		case 1:
			leaves = append(leaves, slotLeaf(record.Started, job, run, at), finalLeaf(record.Finished, record.OutcomeFailed, job, run, at))
			prev := fmt.Sprintf("job%d", (i-1)%3)
			leaves = append(leaves, finalLeaf(record.Finished, record.OutcomeSucceeded, prev, fmt.Sprintf("r-%d", i-1), at))
		case 2:
			leaves = append(leaves, finalLeaf(record.Refused, record.OutcomeRefused, job, run, at))
		case 3:
			leaves = append(leaves, finalLeaf(record.Missed, record.OutcomeMissed, job, "", at))
		case 4:
			leaves = append(leaves, slotLeaf(record.Claimed, job, run, at), finalLeaf(record.Lost, record.OutcomeLost, job, run, at))
		}
	}
	return leaves
}

// index opens a ledger and its index.
func index(t *testing.T, d store.Dirs, boot string) (*store.Ledger, *store.Runs) {
	t.Helper()
	return indexWith(t, d, storetest.Lock(t, d), boot)
}

func indexWith(t *testing.T, d store.Dirs, lock *store.Lock, boot string) (*store.Ledger, *store.Runs) {
	t.Helper()
	l := openLedger(t, d, lock)
	r, err := store.OpenRuns(d, &l.History, boot)
	must(t, err)
	return l, r
}

// dump is all that an index answers.
func dump(t *testing.T, r *store.Runs) []string {
	t.Helper()
	var out []string
	add := func(rows []store.RunRow, err error) {
		must(t, err)
		for _, row := range rows {
			out = append(out, fmt.Sprintf("%s %s %s %d %d", row.First().Job, row.First().Run, row.Outcome(), row.StartIndex, row.FinalIndex))
		}
		out = append(out, "--")
	}
	add(r.Runs(store.Query{Limit: 1 << 20}))
	for i := range 3 {
		job := jobspec.Name(fmt.Sprintf("job%d", i))
		add(r.Runs(store.Query{Job: job, Limit: 1 << 20}))
		c, ok, err := r.LastSlot(job, opOne)
		must(t, err)
		out = append(out, fmt.Sprint(c, ok))
	}
	add(r.Open())
	return out
}

func TestRebuiltIndexEqualsTheOneThatGrew(t *testing.T) {
	d := storetest.Dirs(t)
	l, grown := index(t, d, "boot1")
	for i, leaf := range story(200) {
		first := appendLeaves(t, l, leaf)
		if i%7 != 0 { // some are left to catching up
			must(t, grown.Add(first, leaf))
		}
	}
	must(t, grown.CatchUp())
	want := dump(t, grown)
	must(t, grown.Close())
	must(t, os.Remove(d.RunsDB()))
	rebuilt, err := store.OpenRuns(d, &l.History, "boot1")
	must(t, err)
	defer rebuilt.Close()
	if diff := cmp.Diff(want, dump(t, rebuilt)); diff != "" {
		t.Error(diff)
	}
	if len(want) < 200 {
		t.Errorf("the story has only %d lines", len(want))
	}
}

// Appends are in order, but whoever appended first may add last.
func TestLeavesAreIndexedInWhateverOrderTheyAreAdded(t *testing.T) {
	d := storetest.Dirs(t)
	l, r := index(t, d, "boot1")
	defer r.Close()
	var wg sync.WaitGroup
	for _, leaf := range story(120) {
		first := appendLeaves(t, l, leaf)
		wg.Go(func() {
			if err := r.Add(first, leaf); err != nil {
				t.Errorf("leaf %d: %v", first, err)
			}
		})
	}
	wg.Wait()
	got := dump(t, r)
	must(t, r.CatchUp())
	if diff := cmp.Diff(dump(t, r), got); diff != "" {
		t.Error(diff)
	}
}

func TestIndexThatCannotBeTrustedIsBuiltAnew(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, d store.Dirs){
		"missing":     func(t *testing.T, d store.Dirs) { must(t, os.Remove(d.RunsDB())) },
		"empty":       func(t *testing.T, d store.Dirs) { must(t, os.Truncate(d.RunsDB(), 0)) },
		"cut":         func(t *testing.T, d store.Dirs) { must(t, os.Truncate(d.RunsDB(), 3*4096)) },
		"text":        func(t *testing.T, d store.Dirs) { must(t, os.WriteFile(d.RunsDB(), []byte("hello"), 0o600)) },
		"chain":       func(t *testing.T, d store.Dirs) { copyFile(t, d.ChainDB(), d.RunsDB()) },
		"nothing":     func(t *testing.T, d store.Dirs) {},
		"read by all": func(t *testing.T, d store.Dirs) { must(t, os.Chmod(d.RunsDB(), 0o644)) },
	} {
		t.Run(name, func(t *testing.T) {
			d := chainOf(t)
			l, r := index(t, d, "boot1")
			leaves := story(40)
			must(t, r.Add(appendLeaves(t, l, leaves...), leaves...))
			want := dump(t, r)
			must(t, r.Close())
			spoil(t, d)
			r, err := store.OpenRuns(d, &l.History, "boot2")
			must(t, err)
			defer r.Close()
			if diff := cmp.Diff(want, dump(t, r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIndexOfAnotherOrLongerLedgerIsBuiltAnew(t *testing.T) {
	d, other := storetest.Dirs(t), storetest.Dirs(t)
	l, r := index(t, d, "boot1")
	leaves := story(10)
	must(t, r.Add(appendLeaves(t, l, leaves...), leaves...))
	want := dump(t, r)
	must(t, r.Close())
	ol, or := index(t, other, "boot1")
	longer := story(30)[3:]
	must(t, or.Add(appendLeaves(t, ol, longer...), longer...))
	must(t, or.Close())
	copyFile(t, other.RunsDB(), d.RunsDB())
	r, err := store.OpenRuns(d, &l.History, "boot1")
	must(t, err)
	defer r.Close()
	if diff := cmp.Diff(want, dump(t, r)); diff != "" {
		t.Error(diff)
	}
}

func TestQueryPicksRowsNewestFirst(t *testing.T) {
	d := storetest.Dirs(t)
	l, r := index(t, d, "boot1")
	defer r.Close()
	leaves := story(2000)
	must(t, r.Add(appendLeaves(t, l, leaves...), leaves...))
	since := storetest.Epoch().Add(100 * time.Minute)
	until := storetest.Epoch().Add(200 * time.Minute)
	for name, c := range map[string]struct {
		q    store.Query
		rows int
	}{
		"default limit": {store.Query{}, store.DefaultLimit},
		"all":           {store.Query{Limit: 9999}, 2000},
		"one job":       {store.Query{Job: "job1", Limit: 9999}, 667},
		"no such job":   {store.Query{Job: "job", Limit: 9999}, 0},
		"window":        {store.Query{Since: since, Until: until, Limit: 9999}, 100},
		"outcome":       {store.Query{Outcomes: []record.Outcome{record.OutcomeLost, record.OutcomeFailed}, Limit: 9999}, 800},
		"rare and old":  {store.Query{Until: storetest.Epoch().Add(2 * time.Minute), Limit: 5}, 1},
		"limit":         {store.Query{Job: "job2", Limit: 3}, 3},
		"kept":          {store.Query{Keep: func(r store.RunRow) bool { return r.First().Job == "job1" }, Limit: 9999}, 667},
		"kept, limited": {store.Query{Keep: func(r store.RunRow) bool { return r.First().Job == "job1" }, Limit: 600}, 600},
		"kept, none":    {store.Query{Keep: func(store.RunRow) bool { return false }, Limit: 5}, 0},
	} {
		rows, err := r.Runs(c.q)
		must(t, err)
		if len(rows) != c.rows {
			t.Errorf("%s: %d rows, want %d", name, len(rows), c.rows)
		}
		for i := 1; i < len(rows); i++ {
			if rows[i].First().Time > rows[i-1].First().Time {
				t.Fatalf("%s: row %d is newer than the one before", name, i)
			}
		}
	}
}

func TestRunIsOpenUntilItsFinalLeaf(t *testing.T) {
	d := storetest.Dirs(t)
	l, r := index(t, d, "boot1")
	defer r.Close()
	at := storetest.Epoch()
	add := func(leaf *record.Leaf) { must(t, r.Add(appendLeaves(t, l, leaf), leaf)) }
	add(slotLeaf(record.Started, "a", "r-1", at))
	add(slotLeaf(record.Started, "b", "r-2", at))
	rows, err := r.Open()
	must(t, err)
	if len(rows) != 2 || rows[0].Start.Run != "r-1" || rows[0].Outcome() != "" {
		t.Fatalf("%+v", rows)
	}
	add(finalLeaf(record.Finished, record.OutcomeSucceeded, "a", "r-1", at))
	if rows, err = r.Open(); err != nil || len(rows) != 1 || rows[0].Start.Run != "r-2" {
		t.Fatalf("%+v, %v", rows, err)
	}
	row, found, err := r.Run("r-1")
	must(t, err)
	if !found || row.Outcome() != record.OutcomeSucceeded || row.Index() != 2 || row.StartIndex != 0 || row.Start == nil {
		t.Errorf("%+v", row)
	}
	if row.Last().Kind != record.Finished || row.First().Slot == nil {
		t.Errorf("first %+v, last %+v", row.First(), row.Last())
	}
	if _, found, err := r.Run("r-9"); found || err != nil {
		t.Error("an unknown run is found")
	}
}

func TestLastSlotIsTheLatestThatWasCovered(t *testing.T) {
	d := storetest.Dirs(t)
	l, r := index(t, d, "boot1")
	defer r.Close()
	at := storetest.Epoch()
	add := func(leaf *record.Leaf) { must(t, r.Add(appendLeaves(t, l, leaf), leaf)) }
	if _, ok, err := r.LastSlot("a", opOne); ok || err != nil {
		t.Fatal("a slot is covered by nothing")
	}
	add(slotLeaf(record.Started, "a", "r-1", at.Add(time.Hour)))
	add(finalLeaf(record.Skipped, record.OutcomeSkipped, "a", "", at))
	manual := storetest.Leaf(record.Started, at.Add(9*time.Hour))
	manual.Job, manual.Run, manual.Op = "a", "r-2", opOne
	add(manual)
	c, ok, err := r.LastSlot("a", opOne)
	must(t, err)
	if !ok || !c.At.Equal(at.Add(time.Hour)) || c.Slot.Civil != "2026-11-30T13:00" {
		t.Fatalf("%+v", c)
	}
	span := finalLeaf(record.Missed, record.OutcomeMissed, "a", "", at.Add(2*time.Hour))
	last := jobspec.SlotAt(at.Add(5*time.Hour), "UTC", 1)
	span.SlotLast, span.SlotCount, span.Until = &last, 4, record.Stamp(at.Add(5*time.Hour))
	add(span)
	if c, _, err = r.LastSlot("a", opOne); err != nil || !c.At.Equal(at.Add(5*time.Hour)) || c.Slot != last {
		t.Fatalf("%+v, %v", c, err)
	}
	if _, ok, _ := r.LastSlot("a", jobspec.DigestOf([]byte("another op"))); ok {
		t.Error("another op's slot is covered")
	}
}

// Where clocks are set ahead several slots fall on one instant. The row of the later
// ones must count, or each start of the service would write it again.
func TestLastSlotIsTheLastOfThoseOfOneInstant(t *testing.T) {
	l, r := index(t, storetest.Dirs(t), "boot1")
	defer r.Close()
	at := time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC)
	first, rest, final := slotLeaf(record.Started, "a", "r", at), finalLeaf(record.Skipped, record.OutcomeSkipped, "a", "", at), finalLeaf(record.Finished, record.OutcomeSucceeded, "a", "r", at)
	first.Slot, final.Slot = &jobspec.Slot{Civil: "2026-03-08T02:00", Zone: "America/New_York"}, &jobspec.Slot{Civil: "2026-03-08T02:00", Zone: "America/New_York"}
	rest.Slot, rest.SlotLast, rest.SlotCount = &jobspec.Slot{Civil: "2026-03-08T02:15", Zone: "America/New_York"}, &jobspec.Slot{Civil: "2026-03-08T02:30", Zone: "America/New_York"}, 2
	for _, leaf := range []*record.Leaf{first, rest, final} {
		must(t, r.Add(appendLeaves(t, l, leaf), leaf))
	}
	if c, ok, err := r.LastSlot("a", opOne); err != nil || !ok || c.Slot != *rest.SlotLast || !c.At.Equal(at) {
		t.Errorf("%+v, %v, %v", c, ok, err)
	}
}

func TestIndexLeftOpenIsTrustedInTheSameBootOnly(t *testing.T) {
	d := storetest.Dirs(t)
	l, r := index(t, d, "boot1")
	leaves := story(20)
	must(t, r.Add(appendLeaves(t, l, leaves...), leaves...))
	want := dump(t, r)
	left, err := os.ReadFile(d.RunsDB()) // as kill -9 leaves it
	must(t, err)
	must(t, r.Close())
	for _, boot := range []string{"boot1", "boot2"} {
		must(t, os.WriteFile(d.RunsDB(), left, 0o600))
		meta(t, d, func(b *bolt.Bucket) error { return b.Put([]byte("marker"), []byte("x")) })
		r, err := store.OpenRuns(d, &l.History, boot)
		must(t, err)
		if diff := cmp.Diff(want, dump(t, r)); diff != "" {
			t.Errorf("%s: %s", boot, diff)
		}
		must(t, r.Close())
		var kept bool
		meta(t, d, func(b *bolt.Bucket) error { kept = b.Get([]byte("marker")) != nil; return nil })
		if kept != (boot == "boot1") {
			t.Errorf("%s: kept %v", boot, kept)
		}
	}
}

// meta changes or reads the meta data of the index.
func meta(t *testing.T, d store.Dirs, fn func(b *bolt.Bucket) error) {
	t.Helper()
	db, err := bolt.Open(d.RunsDB(), 0o600, &bolt.Options{Timeout: time.Second})
	must(t, err)
	defer db.Close()
	must(t, db.Update(func(tx *bolt.Tx) error { return fn(tx.Bucket([]byte("meta"))) }))
}

func TestIndexEndsWhereTheLedgerIsDamaged(t *testing.T) {
	d := storetest.Dirs(t)
	lock, err := store.TryLock(d, store.LockWait)
	must(t, err)
	l := openLedger(t, d, lock)
	appendLeaves(t, l, story(6)...)
	must(t, l.Close())
	must(t, lock.Close())
	must(t, replace(d.LedgerDir()+"/2026-11.jsonl", `"run":"r-4"`, `"RUN":"r-4"`))
	h, err := store.OpenHistory(d)
	must(t, err)
	r, err := store.OpenRuns(d, h, "boot1")
	must(t, err)
	defer r.Close()
	rows, err := r.Runs(store.Query{})
	must(t, err)
	if len(rows) != 4 || r.Damage() == nil {
		t.Errorf("%d rows, %v", len(rows), r.Damage())
	}
}
