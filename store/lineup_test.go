package store_test

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// slowDisk counts syncs, each of which takes a while.
type slowDisk struct {
	store.RealDisk
	syncs *atomic.Int64
	fail  *atomic.Bool
}

func (d slowDisk) DataSync(f *os.File) error {
	d.syncs.Add(1)
	time.Sleep(5 * time.Millisecond)
	if d.fail.Load() {
		return os.ErrDeadlineExceeded
	}
	return d.RealDisk.DataSync(f)
}

func TestCallsOfOneMomentShareASyncAndKeepTheirLeavesTogether(t *testing.T) {
	d := storetest.Dirs(t)
	var syncs atomic.Int64
	var fail atomic.Bool
	l, err := store.OpenLedger(d, storetest.Lock(t, d), slowDisk{syncs: &syncs, fail: &fail})
	must(t, err)
	defer l.Close()
	const calls = 60
	firsts := make([]int64, calls)
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			stated := record.Stamp(month(time.January + time.Month(i%3))) // segments change between them
			run := string(rune('a'+i%26)) + string(rune('a'+i/26))
			var err error
			firsts[i], err = l.Append(&record.Leaf{Kind: record.Started, Time: stated, Run: run}, &record.Leaf{Kind: record.Skipped, Time: stated, Run: run})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, err := scan(t, l, 0)
	must(t, err)
	if len(all) != 2*calls {
		t.Fatalf("%d leaves", len(all))
	}
	for i, first := range firsts {
		if all[first].Kind != record.Started || all[first+1].Kind != record.Skipped || all[first].Run != all[first+1].Run {
			t.Errorf("call %d: leaves %d and %d are not its own", i, first, first+1)
		}
	}
	if n := syncs.Load(); n >= calls/2 {
		t.Errorf("%d calls took %d syncs", calls, n)
	}
	fail.Store(true)
	var refused atomic.Int64
	for range 10 {
		wg.Go(func() {
			if _, err := l.Append(&record.Leaf{Kind: record.Started, Time: record.Stamp(month(time.May))}); jobspec.CodeOf(err) == jobspec.CodeAuditUnavailable {
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	if refused.Load() != 10 {
		t.Errorf("%d of 10 calls were told that the disk fails", refused.Load())
	}
}
