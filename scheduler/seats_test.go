package scheduler_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sbxcron/sbxcron/scheduler"
)

// What is put on record holds no seat, but no more runs than there are seats go on
// while the disk is slow.
func TestARunThatIsPutOnRecordHoldsNoSeat(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		w.maxParallel = 2
		disk := make(chan struct{})
		w.box.Sealing = func() { <-disk }
		var all []scheduler.Entry
		for i := range 10 {
			all = append(all, w.job(fmt.Sprintf("m%d", i), "1 12 * * *", "UTC"))
		}
		w.jobs.Set(all...)
		w.boot()
		w.pass(time.Minute)
		if got := w.box.Released(); len(got) != 4 { // two are being recorded, two more wait for that with their seats
			t.Errorf("released %q", got)
		}
		close(disk)
		synctest.Wait()
		if got := w.box.Released(); len(got) != 10 {
			t.Errorf("released %q", got)
		}
		for _, e := range all {
			w.covered(e, w.clock.Now())
		}
	})
}
