package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

func openLedger(t *testing.T, d store.Dirs, lock *store.Lock) *store.Ledger {
	t.Helper()
	l, err := store.OpenLedger(d, lock, store.RealDisk{})
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func appendLeaves(t *testing.T, l *store.Ledger, leaves ...*record.Leaf) int64 {
	t.Helper()
	first, err := l.Append(leaves...)
	must(t, err)
	return first
}

// indexes reads the ledger and checks that indexes are dense.
func scan(t *testing.T, h interface {
	Scan(int64, func(store.Leaf) error) error
}, from int64) (all []store.Leaf, err error) {
	t.Helper()
	err = h.Scan(from, func(l store.Leaf) error {
		if want := from + int64(len(all)); l.Index != want {
			t.Fatalf("index %d, want %d", l.Index, want)
		}
		if again, err := l.Encode(); err != nil || !bytes.Equal(again, l.Line) {
			t.Fatalf("line %d is not the leaf's form", l.Index)
		}
		all = append(all, l)
		return nil
	})
	return all, err
}

func month(m time.Month) time.Time { return time.Date(2026, m, 15, 0, 0, 0, 0, time.UTC) }

func TestLeavesAreFoundByTheirPlaceOverMonths(t *testing.T) {
	d := storetest.Dirs(t)
	lock := storetest.Lock(t, d)
	l := openLedger(t, d, lock)
	next := int64(0)
	for m := time.January; m <= time.March; m++ {
		for range 3 {
			if first := appendLeaves(t, l, storetest.Leaf(record.Boot, month(m)), storetest.Leaf(record.Alert, month(m))); first != next {
				t.Fatalf("first %d, want %d", first, next)
			}
			next += 2
		}
	}
	must(t, l.Close())
	l = openLedger(t, d, lock)
	if l.Len() != next {
		t.Fatalf("len %d, want %d", l.Len(), next)
	}
	for _, from := range []int64{0, 1, 5, 6, 7, 17, 18, 99} {
		all, err := scan(t, l, from)
		must(t, err)
		if int64(len(all)) != max(next-from, 0) {
			t.Errorf("from %d: %d leaves", from, len(all))
		}
	}
	files, _ := filepath.Glob(filepath.Join(d.LedgerDir(), "*"))
	if len(files) != 3 || filepath.Base(files[2]) != "2026-03.jsonl" {
		t.Errorf("segments %q", files)
	}
}

func TestScanFindsItsPlaceInALongSegment(t *testing.T) {
	d := storetest.Dirs(t)
	l := openLedger(t, d, storetest.Lock(t, d))
	batch := make([]*record.Leaf, 500)
	for i := range 7 {
		for j := range batch {
			batch[j] = storetest.Leaf(record.Alert, month(time.May))
			batch[j].Count = int64(i*len(batch) + j + 1)
		}
		appendLeaves(t, l, batch...)
	}
	for _, from := range []int64{0, 1023, 1024, 1025, 2048, 3499} {
		all, err := scan(t, l, from)
		must(t, err)
		if len(all) != int(3500-from) || all[0].Count != from+1 {
			t.Errorf("from %d: %d leaves", from, len(all))
		}
	}
}

func TestClockGoingBackNeverReopensAnOlderMonth(t *testing.T) {
	d := storetest.Dirs(t)
	l := openLedger(t, d, storetest.Lock(t, d))
	appendLeaves(t, l, storetest.Leaf(record.Boot, month(time.June)))
	appendLeaves(t, l, storetest.Leaf(record.Alert, month(time.February)))
	if all, err := scan(t, l, 0); err != nil || len(all) != 2 || all[1].Kind != record.Alert {
		t.Fatal(all, err)
	}
	if _, err := os.Stat(filepath.Join(d.LedgerDir(), "2026-02.jsonl")); err == nil {
		t.Error("an older month was begun")
	}
}

func TestTornLastLineIsCutOff(t *testing.T) {
	d := storetest.Dirs(t)
	lock := storetest.Lock(t, d)
	l := openLedger(t, d, lock)
	appendLeaves(t, l, storetest.Leaf(record.Boot, month(time.June)), storetest.Leaf(record.Alert, month(time.June)))
	must(t, l.Close())
	path := filepath.Join(d.LedgerDir(), "2026-06.jsonl")
	whole, err := os.ReadFile(path)
	must(t, err)
	for name, tail := range map[string]string{"half a line": `{"type":"sbxcron.leaf/v1","ho`, "zeros": strings.Repeat("\x00", 300), "a line without its end": string(whole[:bytes.IndexByte(whole, '\n')])} {
		must(t, os.WriteFile(path, append(whole[:len(whole):len(whole)], tail...), 0o600))
		h, err := store.OpenHistory(d)
		must(t, err)
		if h.Len() != 2 || h.Damage() != nil {
			t.Fatalf("%s: %d leaves, %v", name, h.Len(), h.Damage())
		}
		l := openLedger(t, d, lock)
		if l.Cut() != int64(len(tail)) {
			t.Errorf("%s: cut %d bytes, want %d", name, l.Cut(), len(tail))
		}
		if first := appendLeaves(t, l, storetest.Leaf(record.Alert, month(time.June))); first != 2 {
			t.Errorf("%s: first %d", name, first)
		}
		if all, err := scan(t, l, 0); err != nil || len(all) != 3 {
			t.Errorf("%s: %d leaves, %v", name, len(all), err)
		}
		must(t, l.Close())
	}
}

func TestDamagedLineIsNamedAndWhatIsBeforeItReads(t *testing.T) {
	d := storetest.Dirs(t)
	lock := storetest.Lock(t, d)
	l := openLedger(t, d, lock)
	for m := time.June; m <= time.July; m++ {
		for range 4 {
			appendLeaves(t, l, storetest.Leaf(record.Boot, month(m)))
		}
	}
	must(t, l.Close())
	older, newest := filepath.Join(d.LedgerDir(), "2026-06.jsonl"), filepath.Join(d.LedgerDir(), "2026-07.jsonl")
	for name, c := range map[string]struct {
		file        string
		damage      func(lines [][]byte) [][]byte
		line, index int64
	}{
		"bit in the newest":      {newest, func(l [][]byte) [][]byte { l[1][40] ^= 0x80; return l }, 2, 5},
		"empty line":             {newest, func(l [][]byte) [][]byte { l[2] = []byte("\n"); return l }, 3, 6},
		"foreign line in older":  {older, func(l [][]byte) [][]byte { l[3] = []byte("hello\n"); return l }, 4, 3},
		"older without its end":  {older, func(l [][]byte) [][]byte { l[3] = l[3][:20]; return l }, 4, 3},
		"too long":               {newest, func(l [][]byte) [][]byte { l[3] = append(bytes.Repeat([]byte("x"), 70<<10), '\n'); return l }, 4, 7},
		"white space in newest":  {newest, func(l [][]byte) [][]byte { l[0] = bytes.Replace(l[0], []byte(":"), []byte(": "), 1); return l }, 1, 4},
		"unknown type of newest": {newest, func(l [][]byte) [][]byte { l[0] = bytes.Replace(l[0], []byte("/v1"), []byte("/v2"), 1); return l }, 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			good, err := os.ReadFile(c.file)
			must(t, err)
			defer os.WriteFile(c.file, good, 0o600)
			must(t, os.WriteFile(c.file, bytes.Join(c.damage(bytes.SplitAfter(bytes.Clone(good), []byte("\n"))), nil), 0o600))
			_, err = store.OpenLedger(d, lock, store.RealDisk{})
			var damage *store.LedgerError
			if !errors.As(err, &damage) || damage.Path != c.file || damage.Line != c.line || damage.Index != c.index {
				t.Fatalf("%v; %+v", err, damage)
			}
			h, err := store.OpenHistory(d)
			must(t, err)
			all, err := scan(t, h, 0)
			if !errors.As(err, &damage) || int64(len(all)) != c.index {
				t.Errorf("%d leaves read, want %d; %v", len(all), c.index, err)
			}
		})
	}
}

func TestChangeInsideAnOlderLineIsFoundByReading(t *testing.T) {
	d := storetest.Dirs(t)
	lock := storetest.Lock(t, d)
	l := openLedger(t, d, lock)
	appendLeaves(t, l, storetest.Leaf(record.Boot, month(time.June)), storetest.Leaf(record.Boot, month(time.June)))
	appendLeaves(t, l, storetest.Leaf(record.Boot, month(time.July)))
	must(t, l.Close())
	path := filepath.Join(d.LedgerDir(), "2026-06.jsonl")
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, bytes.Replace(b, []byte(`,"kind"`), []byte(`,"KIND"`), 1), 0o600))
	h, err := store.OpenHistory(d)
	must(t, err)
	var damage *store.LedgerError
	if all, err := scan(t, h, 0); !errors.As(err, &damage) || damage.Line != 1 || len(all) != 0 {
		t.Fatal(all, err)
	}
}

func TestAppendErrorIsFailStop(t *testing.T) {
	d := storetest.Dirs(t)
	disk := &failDisk{sync: true}
	l, err := store.OpenLedger(d, storetest.Lock(t, d), disk)
	must(t, err)
	defer l.Close()
	for range 2 {
		_, err := l.Append(storetest.Leaf(record.Boot, month(time.June)))
		var unknown *store.UnknownStateError
		if !errors.As(err, &unknown) || unknown.Code() != string(jobspec.CodeAuditUnavailable) {
			t.Fatal(err)
		}
		disk.sync = false
	}
}

func TestLeafThatCannotBeWrittenIsRefusedBeforeAnythingIs(t *testing.T) {
	d := storetest.Dirs(t)
	l := openLedger(t, d, storetest.Lock(t, d))
	good := storetest.Leaf(record.Boot, month(time.June))
	long := storetest.Leaf(record.Boot, month(time.June))
	long.Signal = strings.Repeat("x", record.MaxLeafBytes)
	timeless := storetest.Leaf(record.Boot, month(time.June))
	timeless.Time = ""
	for name, leaves := range map[string][]*record.Leaf{"none": nil, "too long": {good, long}, "no time": {timeless}} {
		if _, err := l.Append(leaves...); err == nil {
			t.Errorf("%s: appended", name)
		}
	}
	if first := appendLeaves(t, l, good); first != 0 {
		t.Errorf("first %d", first)
	}
}

func TestLedgerThatWasReplacedWhileOpenTakesNoMore(t *testing.T) {
	d := storetest.Dirs(t)
	l := openLedger(t, d, storetest.Lock(t, d))
	appendLeaves(t, l, storetest.Leaf(record.Boot, month(time.June)))
	path := filepath.Join(d.LedgerDir(), "2026-06.jsonl")
	must(t, os.Rename(path, path+".old"))
	if _, err := l.Append(storetest.Leaf(record.Boot, month(time.June))); code(err) != string(jobspec.CodeAuditUnavailable) {
		t.Fatal(err)
	}
}

func TestKilledAtEachStepOfAnAppendNoAcknowledgedLeafIsLost(t *testing.T) {
	d := storetest.Dirs(t)
	acknowledged := 0
	for step := 1; ; step++ {
		cmd := child(t, d, "append", strconv.Itoa(step))
		var out bytes.Buffer
		cmd.Stdout = &out
		err := cmd.Run()
		if strings.Contains(out.String(), "appended") {
			acknowledged += 2
		}
		lock, lerr := store.TryLock(d, store.LockWait)
		must(t, lerr)
		l, lerr := store.OpenLedger(d, lock, store.RealDisk{})
		must(t, lerr)
		all, serr := scan(t, l, 0)
		must(t, serr)
		if len(all) < acknowledged {
			t.Fatalf("step %d: %d leaves, %d acknowledged", step, len(all), acknowledged)
		}
		must(t, errors.Join(l.Close(), lock.Close()))
		if err == nil {
			break
		}
	}
	if acknowledged == 0 {
		t.Error("no append ended")
	}
}

func TestReadingGoesOnWhileLeavesAreAppended(t *testing.T) {
	d := storetest.Dirs(t)
	l := openLedger(t, d, storetest.Lock(t, d))
	done := make(chan error)
	go func() {
		for i := range 50 {
			leaf := storetest.Leaf(record.Alert, month(time.Month(1+i/10)))
			if _, err := l.Append(leaf); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		n := l.Len()
		all, err := scan(t, l, 0)
		if err != nil || int64(len(all)) < n {
			t.Fatal(fmt.Sprint(len(all), " of ", n, ": ", err))
		}
		select {
		case err := <-done:
			must(t, err)
			return
		default:
		}
	}
}
