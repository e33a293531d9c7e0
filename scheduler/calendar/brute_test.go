package calendar

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// model is a schedule held as sets, with its text made from them: it shares no
// code with the parser, with Next or with the zone's periods.
type model struct {
	text string
	set  [5]map[int]bool
	star [5]bool
}

func randomModel(r *rand.Rand) model {
	var m model
	var parts []string
	for f, b := range [5]struct{ lo, hi, wild int }{{0, 59, 3}, {0, 23, 3}, {1, 31, 7}, {1, 12, 8}, {0, 6, 6}} {
		m.set[f] = map[int]bool{}
		var part string
		switch k := r.IntN(10); {
		case k < b.wild-1:
			m.star[f], part = true, "*"
			m.fill(f, b.lo, b.hi, 1)
		case k < b.wild:
			n := 1 + r.IntN(b.hi-b.lo)
			m.star[f], part = true, "*/"+strconv.Itoa(n)
			m.fill(f, b.lo, b.hi, n)
		case k < 9:
			var items []string
			for range 1 + r.IntN(3) {
				v := b.lo + r.IntN(b.hi-b.lo+1)
				if f == 1 {
					v = r.IntN(5) // where zones change their offset
				}
				m.set[f][v] = true
				items = append(items, strconv.Itoa(v))
			}
			part = strings.Join(items, ",")
		default:
			lo := b.lo + r.IntN(b.hi-b.lo)
			hi := lo + 1 + r.IntN(b.hi-lo)
			part = fmt.Sprintf("%d-%d", lo, hi)
			m.fill(f, lo, hi, 1)
		}
		parts = append(parts, part)
	}
	m.text = strings.Join(parts, " ")
	return m
}

func (m *model) fill(f, lo, hi, step int) {
	for v := lo; v <= hi; v += step {
		m.set[f][v] = true
	}
}

func (m *model) matches(c time.Time) bool {
	if !m.set[0][c.Minute()] || !m.set[1][c.Hour()] || !m.set[3][int(c.Month())] {
		return false
	}
	dom, dow := m.set[2][c.Day()], m.set[4][int(c.Weekday())]
	if m.star[2] || m.star[4] {
		return dom && dow
	}
	return dom || dow
}

// clock is one zone's wall clock, minute by minute.
type clock struct {
	start time.Time
	civil []time.Time
}

func wallClock(loc *time.Location, from time.Time, minutes int) clock {
	k := clock{start: from}
	for i := range minutes {
		t := from.Add(time.Duration(i) * time.Minute).In(loc)
		k.civil = append(k.civil, time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC))
	}
	return k
}

// fire replays crond: it looks at the clock each minute and at how far it moved.
func (k clock) fire(m *model) []string {
	var out []string
	wild := m.star[0] || m.star[1]
	served := k.civil[0] // the latest minute whose fixed times were served
	for i := 1; i < len(k.civil); i++ {
		now, jump := k.civil[i], k.civil[i].Sub(k.civil[i-1])-time.Minute
		if jump > 3*time.Hour || jump < -3*time.Hour {
			served = now.Add(-time.Minute)
		}
		var slots []string
		if wild && m.matches(now) {
			slots = append(slots, now.Format("2006-01-02T15:04"))
		}
		for !wild && served.Before(now) {
			served = served.Add(time.Minute)
			if m.matches(served) {
				slots = append(slots, served.Format("2006-01-02T15:04"))
			}
		}
		if len(slots) > 0 {
			out = append(out, k.start.Add(time.Duration(i)*time.Minute).UTC().Format("2006-01-02T15:04Z")+" "+strings.Join(slots, " "))
		}
	}
	return out
}

func TestNextAgreesWithAClockThatIsWatchedMinuteByMinute(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(7, seed))
	fired := 0
	for _, zone := range []string{"Australia/Lord_Howe", "Africa/Cairo", "Asia/Beirut", "America/Santiago", "America/Havana", "Pacific/Apia",
		"Antarctica/Troll", "Africa/Casablanca", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "UTC"} {
		loc, err := Location(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range changes(loc) {
			k := wallClock(loc, change.Add(-30*time.Hour).Truncate(time.Minute), 60*60)
			for range 12 {
				m := randomModel(r)
				c, err := Parse(m.text, zone)
				if err != nil {
					continue // a date that never comes
				}
				want := k.fire(&m)
				got := listed(c, k)
				fired += len(want)
				if strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Fatalf("%s %s around %s:\n%s\nwant\n%s", zone, m.text, change, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		}
	}
	if fired < 2_000 {
		t.Errorf("only %d firings compared", fired)
	}
}

func listed(c *Calendar, k clock) []string {
	var out []string
	end := k.start.Add(time.Duration(len(k.civil)) * time.Minute)
	for now := k.start; ; {
		d, ok := c.Next(now)
		if !ok || !d.At.Before(end) {
			return out
		}
		line := d.At.UTC().Format("2006-01-02T15:04Z")
		for _, s := range d.Slots {
			line += " " + s.Civil
		}
		out, now = append(out, line), d.At
	}
}

// changes are the instants from 2011 and from 2026 on at which a zone changes
// its offset, and one at which it does not.
func changes(loc *time.Location) []time.Time {
	all := []time.Time{time.Date(2026, 6, 15, 0, 0, 0, 0, loc)}
	for _, year := range []int{2011, 2026} {
		for day := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < year+2; day = day.Add(24 * time.Hour) {
			for t := day; offset(loc, t) != offset(loc, day.Add(24*time.Hour)); {
				if t = t.Add(15 * time.Minute); offset(loc, t) != offset(loc, day) {
					all = append(all, t)
					break
				}
			}
		}
	}
	return append(all, time.Date(2028, 12, 31, 12, 0, 0, 0, time.UTC))
}

func offset(loc *time.Location, t time.Time) int {
	_, seconds := t.In(loc).Zone()
	return seconds
}

func FuzzCron(f *testing.F) {
	for _, seed := range []string{"* * * * *", "30 2 * * *", "@daily", "0 0 29 2 *", "*/7 1-3 */2 jan-mar sat-sun", "TZ=", ", * * * *", "0 0 31 2 7", "5/15 * * * *"} {
		f.Add(seed, int64(1774000000), uint8(0))
	}
	zones := []string{"UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Pacific/Apia", "Africa/Casablanca"}
	f.Fuzz(func(t *testing.T, expr string, now int64, z uint8) {
		c, err := Parse(expr, zones[int(z)%len(zones)])
		if err != nil {
			if c != nil || err.Error() == "" {
				t.Fatal("a refusal comes with a calendar or without words")
			}
			return
		}
		if c.Words() == "" || c.Gap() < 60 && c.Gap() != 30*60 {
			t.Errorf("%q: words %q, gap %d", expr, c.Words(), c.Gap())
		}
		at := time.Unix(now%(1<<33), 0)
		began := time.Now()
		for range 20 {
			d, ok := c.Next(at)
			if !ok {
				break
			}
			if !d.At.After(at) || len(d.Slots) == 0 {
				t.Fatalf("%q: next after %v is %v", expr, at, d)
			}
			at = d.At
		}
		if spent := time.Since(began); spent > 2*time.Second {
			t.Errorf("%q: 20 steps took %v", expr, spent)
		}
	})
}
