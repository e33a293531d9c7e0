package scheduler

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sbxcron/sbxcron/jobspec"
)

// A plain map is what the table is held against, through any order of changes.
func TestTheTableAnswersAsAMapWould(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 30, 0, time.UTC)
	crons := []string{"* * * * *", "5 * * * *", "0 3 * * *", "0 0 31 2 *"}
	rapid.Check(t, func(t *rapid.T) {
		var table Timetable
		want := map[jobspec.Name]Entry{}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			name := fmt.Sprintf("job-%d", rapid.IntRange(0, 40).Draw(t, "job"))
			e := entryOf(name, rapid.SampledFrom(crons).Draw(t, "cron"), now)
			e.Op = jobspec.DigestOf([]byte(name + e.Schedule.Cron))
			delete(want, e.Job)
			if rapid.IntRange(0, 2).Draw(t, "delete") == 0 {
				table.Delete(e.Job)
			} else if table.Set(e, now) == nil {
				want[e.Job] = e
			}
		}
		if table.Len() != len(want) || len(table.Jobs()) != len(want) || table.byJob.n != len(want) {
			t.Fatalf("%d jobs, want %d", table.Len(), len(want))
		}
		used := map[string]int{}
		for i := range 41 {
			name := jobspec.Name(fmt.Sprintf("job-%d", i))
			e, there := want[name]
			at, ok := table.NextOf(name)
			if ok != there || table.KeyOf(name).Op != e.Op {
				t.Fatalf("%s: there %v, want %v", name, ok, there)
			}
			if there {
				used[e.Schedule.Cron]++
				if next, _ := table.calendarOf(e).NextAt(now); !next.Equal(at) {
					t.Fatalf("%s: next at %v, want %v", name, at, next)
				}
			}
		}
		if len(table.shared.byName) != len(used) {
			t.Fatalf("%d calendars are kept, %d in use", len(table.shared.byName), len(used))
		}
		for _, use := range table.shared.byName {
			if use.n != used[use.name.cron] {
				t.Fatalf("calendar %q is counted %d times, used %d times", use.name.cron, use.n, used[use.name.cron])
			}
		}
	})
}

// calendarOf is a calendar of the test's own.
func (t *Timetable) calendarOf(e Entry) interface {
	NextAt(time.Time) (time.Time, bool)
} {
	var mine Timetable
	cal, err := mine.calendar(e)
	if err != nil {
		panic(err)
	}
	return cal
}

// Jobs come and go for years; their schedules go with them.
func TestAScheduleOfThePastIsForgotten(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 30, 0, time.UTC)
	var table Timetable
	for i := range 1440 {
		e := entryOf("the-same", fmt.Sprintf("%d %d * * *", i%60, i/60), now)
		e.Schedule.JitterSeconds = int64(i % 2 * 600)
		if err := table.Set(e, now); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(table.shared.byName); n != 1 {
		t.Errorf("%d calendars for one job", n)
	}
	table.Delete("the-same")
	if n := len(table.shared.byName); n != 0 {
		t.Errorf("%d calendars for no job", n)
	}
	if len(table.room.free) != 1 {
		t.Errorf("%d items lie there for one job", len(table.room.free))
	}
}
