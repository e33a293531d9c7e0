package engine

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// holding is a service in which one job is held.
type holding struct {
	Live
	job jobspec.Name
}

func (h holding) IsHeld(job jobspec.Name) bool { return job == h.job }
func (h holding) IsRunning(string) bool        { return false }
func (h holding) Soonest(int) []jobspec.Name   { return []jobspec.Name{"first", "second"} }

func TestSlotsOfAHeldJobSayThatTheyWillNotStart(t *testing.T) {
	b := newBench(t)
	for _, name := range []jobspec.Name{"first", "second"} {
		b.write(func(w *store.Writer) {
			op := storetest.Next(w.State(), jobspec.Add, name)
			op.Spec.Schedule = jobspec.Schedule{EverySeconds: 3600, Timezone: "UTC"}
			op.Spec.ExpiresAt = op.Created.Add(90 * 24 * time.Hour)
			storetest.Commit(t, w, op, b.sign)
		})
	}
	e := b.open(true)
	e.Attach(holding{job: "second"})
	status, err := e.Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	one, err := e.Next(context.Background(), api.NextQuery{Job: "second", Count: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(status.Next) < 2 || len(one) != 2 {
		t.Fatalf("%+v, %+v", status.Next, one)
	}
	for _, n := range append(status.Next, one...) {
		if held := len(n.Notes) == 1 && n.Notes[0] == heldNote; held != (n.Job == "second") {
			t.Errorf("%s at %s: notes %q", n.Job, n.At, n.Notes)
		}
	}
}

// addAt puts a job with this schedule in force.
func (b *bench) addAt(name jobspec.Name, s jobspec.Schedule, lasts time.Duration) {
	b.t.Helper()
	b.write(func(w *store.Writer) {
		op := storetest.Next(w.State(), jobspec.Add, name)
		op.Spec.Schedule, op.Spec.ExpiresAt = s, op.Created.Add(lasts)
		storetest.Commit(b.t, w, op, b.sign)
	})
}

// A start outside of the windows of the policy is refused, and next says so before.
func TestStartsOutsideOfTheWindowsSaySo(t *testing.T) {
	b := newBench(t)
	must(t, os.WriteFile(b.dirs.Policy(), []byte("serial = 1\nenabled_platforms = [\"linux\"]\n[principals.alice]\nwindows = [\"01:00-05:00 Asia/Tokyo\"]\n"), 0o600))
	b.addAt("job", jobspec.Schedule{Cron: "0 */6 * * *", Timezone: "UTC"}, 9000*time.Hour) // 18:00 is 03:00 in Tokyo
	e := b.open(false)
	from := b.now.Truncate(24 * time.Hour).Add(24 * time.Hour)
	all, err := e.Next(t.Context(), api.NextQuery{From: from.Add(-time.Second), Count: 4})
	must(t, err)
	if len(all) != 4 {
		t.Fatalf("%+v", all)
	}
	for _, n := range all {
		told := slices.Contains(n.Notes, windowNote+"Mon,Tue,Wed,Thu,Fri,Sat,Sun 01:00-05:00 Asia/Tokyo")
		if open := n.UTC.Hour() == 18; told == open {
			t.Errorf("%s: %q", n.At, n.Notes)
		}
	}
	days, err := e.Days(t.Context(), api.DaysQuery{From: from, Until: from.Add(24 * time.Hour), Timezone: "UTC"})
	must(t, err)
	if len(days) != 1 || days[0].Count != 3 || !slices.Contains(days[0].Notes, "job: "+windowNote+"Mon,Tue,Wed,Thu,Fri,Sat,Sun 01:00-05:00 Asia/Tokyo") {
		t.Errorf("%+v", days)
	}
}

func TestManyJobsAreMergedInOrderOfTimeAndName(t *testing.T) {
	b := newBench(t)
	b.addAt("slow", jobspec.Schedule{Cron: "0 */2 * * *", Timezone: "UTC"}, 9000*time.Hour)
	b.addAt("fast", jobspec.Schedule{Cron: "*/30 * * * *", Timezone: "UTC"}, 9000*time.Hour)
	b.addAt("short", jobspec.Schedule{Cron: "*/30 * * * *", Timezone: "UTC"}, time.Hour)
	b.addAt("other", jobspec.Schedule{Cron: "0 0 1 1 *", Timezone: "Asia/Tokyo"}, 9000*time.Hour)
	b.commit(jobspec.Disable, "other")
	e := b.open(false)
	from := b.now.Truncate(24 * time.Hour).Add(24 * time.Hour)
	all, err := e.Next(t.Context(), api.NextQuery{From: from, Until: from.Add(4*time.Hour + time.Second), Count: 100})
	must(t, err)
	if len(all) != 10 {
		t.Fatalf("%d: %+v", len(all), all)
	}
	for i := 1; i < len(all); i++ {
		if before := all[i-1]; all[i].UTC.Before(before.UTC) || all[i].UTC.Equal(before.UTC) && all[i].Job <= before.Job {
			t.Errorf("%s at %s follows %s at %s", all[i].Job, all[i].At, before.Job, before.At)
		}
	}
	if all[3].Job != "fast" || all[4].Job != "slow" || !all[4].UTC.Equal(from.Add(2*time.Hour)) {
		t.Errorf("%+v", all[3:5])
	}
	if few, err := e.Next(t.Context(), api.NextQuery{From: from, Count: 3}); err != nil || len(few) != 3 || few[2].UTC != all[2].UTC {
		t.Errorf("%+v, %v", few, err)
	}
	off, err := e.Next(t.Context(), api.NextQuery{Job: "other", From: from, Count: 1})
	must(t, err)
	if len(off) != 1 || len(off[0].Notes) == 0 || off[0].Notes[len(off[0].Notes)-1] != "disabled: it does not start until it is enabled" {
		t.Errorf("%+v", off)
	}
	last, err := e.Next(t.Context(), api.NextQuery{Job: "short", From: storetest.Epoch(), Count: 9})
	must(t, err)
	if n := len(last); n == 0 || n > 3 || len(last[n-1].Notes) != 1 || len(last[n-1].Notes[0]) < 40 || len(last[0].Notes) > 0 && n > 1 {
		t.Errorf("%+v", last)
	}
}

func TestDaysAreCountedAsNextListsThem(t *testing.T) {
	b := newBench(t)
	b.addAt("a", jobspec.Schedule{Cron: "*/15 * * * *", Timezone: "UTC"}, 9000*time.Hour)
	b.addAt("b", jobspec.Schedule{Cron: "*/15 * * * *", Timezone: "UTC"}, 9000*time.Hour)
	b.addAt("c", jobspec.Schedule{Cron: "30 2 * * *", Timezone: "Europe/Berlin"}, 9000*time.Hour)
	b.addAt("d", jobspec.Schedule{EverySeconds: 7 * 3600, Timezone: "UTC"}, 9000*time.Hour)
	b.addAt("e", jobspec.Schedule{Cron: "*/15 * * * *", Timezone: "UTC"}, 36*time.Hour)
	b.addAt("f", jobspec.Schedule{Cron: "10 3 * * *", JitterSeconds: 3600, Timezone: "Europe/Berlin"}, 9000*time.Hour)
	e := b.open(false)
	from := b.now
	until := from.Add(20 * 24 * time.Hour)
	berlin, err := time.LoadLocation("Europe/Berlin")
	must(t, err)
	want, total := map[string]int64{}, int64(0)
	next, err := e.Next(t.Context(), api.NextQuery{From: from, Until: until, Count: maxNext})
	must(t, err)
	for _, n := range next {
		want[n.UTC.In(berlin).Format(time.DateOnly)]++
	}
	days, err := e.Days(t.Context(), api.DaysQuery{Timezone: "Europe/Berlin", From: from, Until: until})
	must(t, err)
	for _, d := range days {
		total += d.Count
		if d.Count != want[d.Date] || d.Jobs < 4 || len(d.Times) != 0 || strings.Contains(strings.Join(d.Notes, " "), "f:") {
			t.Errorf("%+v, want %d", d, want[d.Date])
		}
	}
	if len(days) != len(want) || total != int64(len(next)) || total < 3800 {
		t.Errorf("%d days, %d starts; next has %d days, %d starts", len(days), total, len(want), len(next))
	}
	one, err := e.Days(t.Context(), api.DaysQuery{Job: "c", Timezone: "Europe/Berlin", From: from, Until: from.Add(24 * time.Hour)})
	must(t, err)
	if len(one) != 1 || one[0].Count != 1 || len(one[0].Times) != 1 || one[0].Times[0] != "02:30" {
		t.Errorf("%+v", one)
	}
	for _, q := range []api.DaysQuery{{Timezone: "UTC"}, {Timezone: "Local", From: from, Until: until}, {Timezone: "UTC", From: from, Until: from.Add(100 * 24 * time.Hour)}, {Job: "none", Timezone: "UTC", From: from, Until: until}} {
		if _, err := e.Days(t.Context(), q); err == nil {
			t.Errorf("%+v was answered", q)
		}
	}
}
