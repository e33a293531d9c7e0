package scheduler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/scheduler/schedulertest"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// onDisk is a ledger and its run index in real files, each row synced.
type onDisk struct {
	*schedulertest.Ledger // holds and breakers: there are none
	t                     testing.TB
	ledger                *store.Ledger
	runs                  *store.Runs
}

func newOnDisk(t testing.TB) *onDisk {
	t.Helper()
	d := storetest.Dirs(t)
	ledger, err := store.OpenLedger(d, storetest.Lock(t, d), store.RealDisk{})
	if err != nil {
		t.Fatal(err)
	}
	runs, err := store.OpenRuns(d, &ledger.History, "boot")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { runs.Close(); ledger.Close() })
	return &onDisk{schedulertest.NewLedger(), t, ledger, runs}
}

func (o *onDisk) Append(rows ...*record.Leaf) (int64, error) {
	first, err := o.ledger.Append(rows...)
	if err == nil {
		err = o.runs.Add(first, rows...)
	}
	return first, err
}

func (o *onDisk) LastCovered(job jobspec.Name, op jobspec.Digest) (jobspec.Slot, time.Time, bool, error) {
	c, ok, err := o.runs.LastSlot(job, op)
	return c.Slot, c.At, ok, err
}

func (o *onDisk) Covered() (scheduler.CoveredBy, error) { return o.LastCovered, nil }

func (o *onDisk) OpenRuns() ([]*record.Leaf, error) { return nil, nil }

// Many jobs that are due each minute, and a service that was off for a day: how long
// until every slot of that day has a durable row and new slots can start. The two
// seconds for a thousand jobs are held in the long loops only, which run on a machine
// that does nothing else.
func TestADayOffOfManyMinuteJobsIsAccountedForAtOnce(t *testing.T) {
	many, bound := 100, time.Minute
	if os.Getenv("SBXCRON_TEST_SOAK") != "" {
		many, bound = 1000, 2*time.Second
	}
	clock := schedulertest.NewClock(time.Date(2026, 12, 1, 12, 0, 30, 0, time.UTC))
	disk := newOnDisk(t)
	jobs, box := &schedulertest.Jobs{}, &schedulertest.Sandbox{Clock: clock}
	var entries []scheduler.Entry
	for i := range many {
		since := clock.Now().Add(-24 * time.Hour)
		name := jobspec.Name(fmt.Sprintf("minute-%d", i))
		entries = append(entries, scheduler.Entry{Job: name, Op: jobspec.DigestOf([]byte(name)), Seq: int64(i + 1), Anchor: since, Since: since,
			Schedule: jobspec.Schedule{Cron: "* * * * *", Timezone: "Europe/Berlin", Missed: "once", StartDeadlineSeconds: 120, Overlap: "skip"}})
	}
	jobs.Set(entries...)
	s, err := scheduler.New(scheduler.Options{Jobs: jobs, Verifier: nobody{}, Examiner: box, Ledger: disk, Finisher: box, History: disk,
		Clock: clock, Alarm: clock.Alarm(), After: time.After, Random: rand.NewChaCha8([32]byte{}), MaxParallel: 4})
	if err != nil {
		t.Fatal(err)
	}
	begun, ended := time.Now(), make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	<-s.Opened()
	for disk.ledger.Len() < int64(many) && time.Since(begun) < time.Minute {
		time.Sleep(time.Millisecond)
	}
	took := time.Since(begun)
	t.Logf("%d minute jobs, a day off: %s until every slot has a durable row", many, took.Round(time.Millisecond))
	if took > bound {
		t.Errorf("it took %s", took)
	}
	s.Shutdown()
	s.Shutdown()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	missed := int64(0)
	if err := disk.ledger.Scan(0, func(l store.Leaf) error {
		if l.Kind == record.Missed {
			missed += l.SlotCount
		}
		return nil
	}); err != nil || missed != int64(many)*1439 {
		t.Errorf("%d slots are missed, %v", missed, err)
	}
}

// nobody has no job's op: whatever starts is refused.
type nobody struct{}

func (nobody) Current(job jobspec.Name) (scheduler.Verified, error) {
	return scheduler.Verified{}, &scheduler.Refusal{Reason: record.Reason{Code: jobspec.CodeJobUnknown, Target: string(job)}}
}

func (nobody) Mark() (string, bool) { return "", false }
