package scheduler

import (
	"fmt"
	"testing"
	"time"
)

func filled(b *testing.B, n int) (*Timetable, time.Time) {
	now := time.Date(2026, 11, 30, 12, 0, 30, 0, time.UTC)
	var table Timetable
	for i := range n {
		text := fmt.Sprintf("%d %d %d 3 *", i%60, i/60%24, 1+i/1440%28)
		if err := table.Set(entryOf(fmt.Sprintf("job-%07d", i), text, now), now); err != nil {
			b.Fatal(err)
		}
	}
	return &table, now
}

// A job with a schedule that no other has is added and taken out again.
func BenchmarkAddToAHundredThousand(b *testing.B) {
	table, now := filled(b, 100_000)
	e := entryOf("one-more", "", now)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e.Schedule.Cron = fmt.Sprintf("%d %d 29 2 *", i%60, i/60%24)
		if err := table.Set(e, now); err != nil {
			b.Fatal(err)
		}
		table.Delete(e.Job)
	}
}

// Ten of a hundred thousand jobs are due each second.
func BenchmarkWakeOfAHundredThousand(b *testing.B) {
	table, now := filled(b, 100_000)
	for i := range 600 {
		e := entryOf(fmt.Sprintf("busy-%d", i), "", now.Add(time.Duration(i%60)*time.Second))
		e.Schedule.Cron, e.Schedule.EverySeconds = "", 60
		if err := table.Set(e, now); err != nil {
			b.Fatal(err)
		}
	}
	now = now.Add(2 * time.Minute)
	table.Due(now)
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		if n := len(table.Due(now)); n != 10 {
			b.Fatalf("%d jobs are due", n)
		}
	}
}
