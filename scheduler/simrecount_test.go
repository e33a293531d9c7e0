package scheduler_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler"
)

// The recount of the simulation. It knows nothing of timetable, calendar and Next: it
// looks at the clock on the wall of each zone, minute by minute, and asks by crond's
// rules which jobs are due.

// wallMinutes are the minutes of a stretch of time as one zone's clocks show them.
type wallMinutes struct {
	from  int64           // minute of Unix time
	civil []int64         // civil minutes since 1970, by minute of time
	first map[int64]int64 // minute of time at which a civil minute is shown first
}

func lookAtWall(t *testing.T, zone string, from, until time.Time) *wallMinutes {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	w := &wallMinutes{from: from.Unix() / 60, first: map[int64]int64{}}
	for m := w.from; m <= until.Unix()/60; m++ {
		_, offset := time.Unix(m*60, 0).In(loc).Zone()
		c := m + int64(offset)/60
		w.civil = append(w.civil, c)
		if _, ok := w.first[c]; !ok {
			w.first[c] = m
		}
	}
	return w
}

// dueSlot is one slot that the recount found.
type dueSlot struct {
	civil int64
	fold  int
}

// recount lists the slots of an entry up to an instant, in their order.
func (w *wallMinutes) recount(e scheduler.Entry, until time.Time) []dueSlot {
	var all []dueSlot
	end := until
	if !e.Until.IsZero() && e.Until.Before(until) {
		end = e.Until
	}
	shift := shiftOf(e)
	within := func(at int64) bool {
		return at+shift > e.Since.Unix() && at+shift <= end.Unix() && (shift == 0 || at > e.Anchor.Unix())
	}
	minuteOf := func(at int64) (int64, bool) {
		m := at/60 - w.from
		return m, within(at) && m >= 0 && m < int64(len(w.civil))
	}
	if !e.Schedule.At.IsZero() {
		if m, ok := minuteOf(e.Schedule.At.Time().Unix()); ok {
			all = append(all, dueSlot{w.civil[m], w.foldOf(m)})
		}
		return all
	}
	if s := e.Schedule.EverySeconds; s > 0 {
		for at := e.Anchor.Unix() + s; at <= end.Unix(); at += s {
			if m, ok := minuteOf(at); ok {
				all = append(all, dueSlot{w.civil[m], w.foldOf(m)})
			}
		}
		return all
	}
	f := strings.Fields(e.Schedule.Cron)
	wild := strings.HasPrefix(f[0], "*") || strings.HasPrefix(f[1], "*")
	for i, c := range w.civil {
		at := (w.from + int64(i)) * 60
		if !wild && i > 0 {
			// What the clocks skip just before this minute is due now.
			for gap := w.civil[i-1] + 1; gap < c; gap++ {
				if within(at) && matches(f, gap) {
					all = append(all, dueSlot{gap, 0})
				}
			}
		}
		fold := w.foldOf(int64(i))
		if within(at) && matches(f, c) && (wild || fold == 0) {
			all = append(all, dueSlot{c, fold})
		}
	}
	return all
}

// shiftOf is by how much the starts of a job come behind its slots: by its jitter at
// most, and by the first eight bytes of its op's digest.
func shiftOf(e scheduler.Entry) int64 {
	var n uint64
	for _, b := range e.Op[:8] {
		n = n<<8 | uint64(b)
	}
	return int64(n % uint64(e.Schedule.JitterSeconds+1))
}

// foldOf is 1 where the zone's clocks have shown this minute before.
func (w *wallMinutes) foldOf(i int64) int {
	if w.first[w.civil[i]] < w.from+i {
		return 1
	}
	return 0
}

func matches(f []string, civil int64) bool {
	t := time.Unix(civil*60, 0).UTC()
	return within(f[0], t.Minute()) && within(f[1], t.Hour()) && within(f[3], int(t.Month())) &&
		within(f[2], t.Day()) && within(f[4], int(t.Weekday()))
}

// within reads "*", "*/n", "v", "v-w" and lists of them.
func within(field string, v int) bool {
	for part := range strings.SplitSeq(field, ",") {
		body, step, stepped := strings.Cut(part, "/")
		if body == "*" {
			n, _ := strconv.Atoi(step)
			if !stepped || v%n == 0 {
				return true
			}
			continue
		}
		lo, hi, ranged := strings.Cut(body, "-")
		a, _ := strconv.Atoi(lo)
		b := a
		if ranged {
			b, _ = strconv.Atoi(hi)
		}
		if v >= a && v <= b {
			return true
		}
	}
	return false
}

// civilOf reads the civil minute of a slot.
func civilOf(s jobspec.Slot) int64 {
	t, err := time.Parse("2006-01-02T15:04", s.Civil)
	if err != nil {
		return -1
	}
	return t.Unix() / 60
}
