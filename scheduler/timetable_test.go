package scheduler

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

func entryOf(name, cron string, at time.Time) Entry {
	return Entry{Job: jobspec.Name(name), Op: jobspec.DigestOf([]byte(name)), Schedule: jobspec.Schedule{Cron: cron, Timezone: "UTC"}, Anchor: at, Since: at}
}

func TestDuesComeOldestFirstAndByName(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 30, 0, time.UTC)
	var table Timetable
	for _, e := range []Entry{entryOf("c", "2 12 * * *", now), entryOf("b", "2 12 * * *", now), entryOf("z", "1 12 * * *", now), entryOf("gone", "1 12 * * *", now)} {
		if err := table.Set(e, now); err != nil {
			t.Fatal(err)
		}
	}
	table.Delete("gone")
	table.Delete("never was")
	if at, ok := table.NextAt(); !ok || at.Minute() != 1 {
		t.Errorf("next at %v", at)
	}
	if turns := table.Due(now); len(turns) != 0 {
		t.Errorf("due too early: %v", turns)
	}
	var names []string
	for _, turn := range table.Due(now.Add(2 * time.Minute)) {
		names = append(names, string(turn.Key.Job))
	}
	if got := strings.Join(names, " "); got != "z b c" {
		t.Errorf("order %s", got)
	}
	if at, _ := table.NextAt(); at.Day() != 1 {
		t.Errorf("rearmed to %v", at)
	}
}

func TestAnEntryTakesThePlaceOfItsJobsFormerOne(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 30, 0, time.UTC)
	var table Timetable
	e := entryOf("a", "* * * * *", now)
	if err := table.Set(e, now); err != nil {
		t.Fatal(err)
	}
	again := e
	again.Since = now.Add(time.Hour)
	if !table.Confirm(again) || table.Len() != 1 {
		t.Error("the same spec in force again is another entry")
	}
	e.Schedule.Cron, e.Op = "0 0 31 2 *", jobspec.DigestOf([]byte("another"))
	if table.Confirm(e) {
		t.Error("another spec is taken for the same")
	}
	if err := table.Set(e, now); err == nil {
		t.Error("a date that never comes is accepted")
	}
	if _, ok := table.NextAt(); ok || table.Len() != 0 {
		t.Error("a spec that is no longer in force is still due")
	}
}

func TestManyJobsFitAndTheirWakesDoNotGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time and memory")
	}
	const n = 20_000
	now := time.Date(2026, 11, 30, 0, 0, 30, 0, time.UTC)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var table Timetable
	for i := range n {
		if err := table.Set(entryOf(fmt.Sprintf("job-%d", i), fmt.Sprintf("%d %d * * *", i%60, i/60%24), now), now); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (after.HeapAlloc - before.HeapAlloc) / n; each > 200 {
		t.Errorf("%d bytes a job", each)
	}
	began, turns := time.Now(), 0
	for range 24 * 60 {
		now = now.Add(time.Minute)
		turns += len(table.Due(now))
	}
	if turns != n {
		t.Errorf("%d turns", turns)
	}
	// Some microseconds in truth. The bound leaves room for a busy machine and a
	// race detector, and none for a table that is sorted or copied at each wake.
	if each := time.Since(began) / n; each > time.Millisecond {
		t.Errorf("%v a turn", each)
	}
}

func TestTheTimerLooksAtTheWallClockAtLeastEachHalfMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		timer := NewTimer(SystemClock{})
		defer timer.Stop()
		for _, c := range []struct{ at, want time.Duration }{{10 * time.Second, 10 * time.Second}, {time.Hour, 30 * time.Second}, {-time.Hour, 0}} {
			before := time.Since(began)
			timer.Arm(time.Now().Add(c.at))
			timer.Wait()
			if got := time.Since(began) - before; got != c.want {
				t.Errorf("armed for %v, rang after %v", c.at, got)
			}
		}
		before := time.Since(began)
		timer.Arm(time.Time{})
		timer.Wait()
		if got := time.Since(began) - before; got != 30*time.Second {
			t.Errorf("not armed, rang after %v", got)
		}
	})
}

func TestTheBootClockGoesOn(t *testing.T) {
	a := SystemClock{}.Boot()
	time.Sleep(2 * time.Millisecond)
	if b := (SystemClock{}).Boot(); runtime.GOOS == "linux" && b <= a {
		t.Errorf("%v, then %v", a, b)
	}
}

// What a job can influence must never make a row that the ledger refuses.
func TestARowIsAlwaysOneThatTheLedgerCanTake(t *testing.T) {
	nasty := strings.Repeat("\x00\"\\\xff", 4000)
	l := &record.Leaf{Kind: record.Finished, Job: "m", Outcome: record.OutcomeDenied}
	for range 500 {
		l.Reasons = append(l.Reasons, record.Reason{Code: jobspec.CodeFsDeniedWrite, Layer: nasty, Rule: nasty, Target: nasty, Detail: nasty})
		l.Denials = append(l.Denials, record.Denial{Code: jobspec.CodeFsDeniedWrite, Target: nasty, Rule: nasty, Certainty: nasty, Count: 1})
	}
	for range 500 {
		l.Connections = append(l.Connections, record.Connection{Host: nasty, Address: nasty, Upstream: nasty, Rule: nasty, Port: 65535, Count: 1 << 50, BytesIn: 1 << 50, BytesOut: 1 << 50})
	}
	line, err := bounded(l).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := record.Decode(line); err != nil {
		t.Error(err)
	}
	if len(l.Reasons) < 2 || !strings.Contains(string(line), "further reasons were left out") || !strings.Contains(string(line), "further denials were left out") {
		t.Error("the cut is not told")
	}
}
