package store_test

import (
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// countDisk counts what an append asks of the disk.
type countDisk struct {
	store.RealDisk
	syncs, bytes, others int
}

func (c *countDisk) DataSync(f *os.File) error { c.syncs++; return c.RealDisk.DataSync(f) }
func (c *countDisk) Sync(f *os.File) error     { c.others++; return c.RealDisk.Sync(f) }
func (c *countDisk) SyncDir(dir string) error  { c.others++; return c.RealDisk.SyncDir(dir) }
func (c *countDisk) WriteAll(f *os.File, b []byte) error {
	c.bytes += len(b)
	return c.RealDisk.WriteAll(f, b)
}

// Other stores slow down once most of what they hold was removed. Here what is
// removed is files, and an append is one write and one sync at the end of another.
func TestAnAppendCostsTheSameWhateverWasPruned(t *testing.T) {
	d, now := storetest.Dirs(t), storetest.Epoch()
	disk := &countDisk{}
	l, err := store.OpenLedger(d, storetest.Lock(t, d), disk)
	must(t, err)
	defer l.Close()
	o := store.NewOutputs(d, rand.Reader)
	const runs = 50
	for i := range runs {
		at := now.Add(-time.Hour)
		if i < runs*9/10 {
			at = now.Add(-100 * 24 * time.Hour)
		}
		sealed(t, o, runID(t, at), "said", "", "")
	}
	_, err = l.Append(storetest.Leaf(record.Boot, now)) // makes the file of the month
	must(t, err)
	cost := func() countDisk {
		before := *disk
		for range 20 {
			_, err := l.Append(storetest.Leaf(record.Boot, now))
			must(t, err)
		}
		return countDisk{syncs: disk.syncs - before.syncs, bytes: disk.bytes - before.bytes, others: disk.others - before.others}
	}
	before := cost()
	removed, err := o.Prune(now, store.Retention{MaxAge: 30 * 24 * time.Hour, MaxBytes: 1 << 30}, func(string) bool { return false }, func(r []store.Removed) error {
		_, err := l.Append(storetest.Leaf(record.Pruned, now))
		return err
	})
	must(t, err)
	if len(removed) != runs*9/10 {
		t.Fatalf("%d of %d runs were pruned", len(removed), runs)
	}
	if after := cost(); after != before || before.syncs != 20 || before.others != 0 {
		t.Errorf("20 appends: %+v before, %+v after", before, after)
	}
}
