package calendar

import (
	"strings"
	"testing"
	"time"
)

// show writes an instant as "2006-01-02T15:04-07", with the slots where
// they differ from the instant.
func show(d Due) string {
	out := d.At.Format("2006-01-02T15:04-07:00")
	var slots []string
	for _, s := range d.Slots {
		slots = append(slots, s.Civil)
	}
	if len(slots) == 1 && d.Slots[0].Civil == out[:16] && d.Slots[0].Fold == 0 {
		return out
	}
	for i, s := range d.Slots {
		slots[i] = s.Civil[11:]
		if s.Fold == 1 {
			slots[i] += "#1"
		}
	}
	return out + " " + strings.Join(slots, " ")
}

func TestNextFollowsTheRulesOfCrondInTheZoneOfTheJob(t *testing.T) {
	for _, c := range []struct {
		name, zone, expr, now string
		want                  []string
	}{
		{"C2 two fixed times in one gap run once", "America/New_York", "0,30 2 * * *", "2026-03-07T12:00:00-05:00",
			[]string{"2026-03-08T03:00-04:00 02:00 02:30", "2026-03-09T02:00-04:00"}},
		{"a fixed time in a gap joins the one at its end", "America/New_York", "0 2,3 * * *", "2026-03-07T12:00:00-05:00",
			[]string{"2026-03-08T03:00-04:00 02:00 03:00", "2026-03-09T02:00-04:00"}},
		{"C3 a fixed time in a fold runs once", "America/New_York", "30 1 * * *", "2026-10-31T12:00:00-04:00",
			[]string{"2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"}},
		{"C5 a wildcard time in a fold runs twice", "America/New_York", "30 * * * *", "2026-11-01T00:45:00-04:00",
			[]string{"2026-11-01T01:30-04:00", "2026-11-01T01:30-05:00 01:30#1", "2026-11-01T02:30-05:00"}},
		{"C5 a full range is no wildcard", "America/New_York", "30 0-23 * * *", "2026-11-01T00:45:00-04:00",
			[]string{"2026-11-01T01:30-04:00", "2026-11-01T02:30-05:00"}},
		{"C6 a wildcard time in a gap does not exist", "America/New_York", "0 */2 * * *", "2026-03-08T00:01:00-05:00",
			[]string{"2026-03-08T04:00-04:00"}},
		{"every minute jumps over a gap", "America/New_York", "* * * * *", "2026-03-08T01:58:00-05:00",
			[]string{"2026-03-08T01:59-05:00", "2026-03-08T03:00-04:00", "2026-03-08T03:01-04:00"}},
		{"C8 Berlin in autumn", "Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00+02:00",
			[]string{"2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"}},
		{"Berlin in spring", "Europe/Berlin", "30 2 * * *", "2026-03-28T12:00:00+01:00",
			[]string{"2026-03-29T03:00+02:00 02:30", "2026-03-30T02:30+02:00"}},
		{"C9 a shift of half an hour keeps the day", "Australia/Lord_Howe", "0 12 * * *", "2026-10-03T13:00:00+10:30",
			[]string{"2026-10-04T12:00+11:00"}},
		{"C11 a gap of half an hour", "Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00:00+10:30",
			[]string{"2026-10-04T02:30+11:00 02:15"}},
		{"C12 a fold of half an hour", "Australia/Lord_Howe", "45 1 * * *", "2026-04-04T12:00:00+11:00",
			[]string{"2026-04-05T01:45+11:00", "2026-04-06T01:45+10:30"}},
		{"C14 midnight does not exist in Cairo", "Africa/Cairo", "0 0 * * *", "2026-04-23T12:00:00+02:00",
			[]string{"2026-04-24T01:00+03:00 00:00"}},
		{"C14 midnight does not exist in Beirut", "Asia/Beirut", "0 0 * * *", "2026-03-28T12:00:00+02:00",
			[]string{"2026-03-29T01:00+03:00 00:00"}},
		{"C14 midnight does not exist in Santiago", "America/Santiago", "0 0 * * *", "2026-09-05T12:00:00-04:00",
			[]string{"2026-09-06T01:00-03:00 00:00"}},
		{"C14 midnight does not exist in Havana", "America/Havana", "0 0 * * *", "2026-03-07T12:00:00-05:00",
			[]string{"2026-03-08T01:00-04:00 00:00"}},
		{"C15 a day without midnight is still its weekday", "Africa/Cairo", "0 5 * * fri", "2026-04-18T00:00:00+02:00",
			[]string{"2026-04-24T05:00+03:00"}},
		{"C17 no run on a day that does not match", "Africa/Cairo", "0 1 * * thu", "2026-04-23T02:00:00+02:00",
			[]string{"2026-04-30T01:00+03:00"}},
		{"C18 nor in Santiago", "America/Santiago", "0 1 * * sat", "2026-09-05T02:00:00-04:00",
			[]string{"2026-09-12T01:00-03:00"}},
		{"C18 nor in Havana", "America/Havana", "0 1 7 3 *", "2026-03-07T02:00:00-05:00",
			[]string{"2027-03-07T01:00-05:00"}},
		{"C20 Ramadan begins", "Africa/Casablanca", "30 2 * * *", "2026-02-14T12:00:00+01:00",
			[]string{"2026-02-15T02:30+01:00", "2026-02-16T02:30+00:00"}},
		{"C20 Ramadan ends", "Africa/Casablanca", "30 2 * * *", "2026-03-21T12:00:00+00:00",
			[]string{"2026-03-22T03:00+01:00 02:30"}},
		{"C21 a shift of two hours", "Antarctica/Troll", "30 1 * * *", "2026-03-28T12:00:00+00:00",
			[]string{"2026-03-29T03:00+02:00 01:30"}},
		{"a wildcard in Lord Howe's half hour comes twice", "Australia/Lord_Howe", "*/15 1 * * *", "2026-04-05T01:30:00+11:00",
			[]string{"2026-04-05T01:45+11:00", "2026-04-05T01:30+10:30 01:30#1", "2026-04-05T01:45+10:30 01:45#1", "2026-04-06T01:00+10:30"}},
		{"Cairo's autumn repeats 23:00", "Africa/Cairo", "30 23 * * *", "2026-10-29T12:00:00+03:00",
			[]string{"2026-10-29T23:30+03:00", "2026-10-30T23:30+02:00"}},
		{"a wildcard minute in Cairo's autumn", "Africa/Cairo", "*/30 23 * * thu", "2026-10-29T12:00:00+03:00",
			[]string{"2026-10-29T23:00+03:00", "2026-10-29T23:30+03:00", "2026-10-29T23:00+02:00 23:00#1", "2026-10-29T23:30+02:00 23:30#1", "2026-11-05T23:00+02:00"}},
		{"Troll's autumn repeats two hours", "Antarctica/Troll", "30 1,2 * * *", "2026-10-25T00:00:00+02:00",
			[]string{"2026-10-25T01:30+02:00", "2026-10-25T02:30+02:00", "2026-10-26T01:30+00:00"}},
		{"Apia skips 30 December 2011 whole", "Pacific/Apia", "0 */6 * * *", "2011-12-29T17:00:00-10:00",
			[]string{"2011-12-29T18:00-10:00", "2011-12-31T00:00+14:00", "2011-12-31T06:00+14:00"}},
		{"a day that the calendar leaves out does not exist", "Pacific/Apia", "30 2 * * *", "2011-12-29T03:00:00-10:00",
			[]string{"2011-12-31T02:30+14:00"}},
		{"C23 29 February", "UTC", "0 0 29 2 *", "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00+00:00"}},
		{"C23 29 February over 2100", "UTC", "0 0 29 2 *", "2096-03-01T00:00:00Z", []string{"2104-02-29T00:00+00:00"}},
		{"C24 end of the year", "UTC", "59 23 31 12 *", "2026-12-31T23:58:00Z", []string{"2026-12-31T23:59+00:00", "2027-12-31T23:59+00:00"}},
		{"C24 new year", "UTC", "0 0 1 1 *", "2026-12-31T23:59:00Z", []string{"2027-01-01T00:00+00:00"}},
		{"C26 a quarter begins under daylight saving", "America/New_York", "* * * */3 *", "2015-02-15T00:00:00-05:00",
			[]string{"2015-04-01T00:00-04:00"}},
		{"C27 the zone of the machine does not matter", "UTC", "30 1 * * *", "2026-10-25T00:00:00+01:00",
			[]string{"2026-10-25T01:30+00:00", "2026-10-26T01:30+00:00"}},
		{"C29 a zone by name only", "Asia/Singapore", "0 9 * * *", "2026-06-01T12:00:00+08:00", []string{"2026-06-02T09:00+08:00"}},
		{"P28 OR though the date never comes", "UTC", "0 0 30 2 mon", "2026-01-01T00:00:00Z",
			[]string{"2026-02-02T00:00+00:00", "2026-02-09T00:00+00:00"}},
		{"P29 a step keeps the star flag", "UTC", "0 0 */2 * mon", "2026-01-01T00:00:00Z",
			[]string{"2026-01-05T00:00+00:00", "2026-01-19T00:00+00:00"}},
		{"P29 a full range has no star flag", "UTC", "0 0 1-31 * mon", "2026-01-01T00:00:00Z",
			[]string{"2026-01-02T00:00+00:00", "2026-01-03T00:00+00:00"}},
		{"P29 13th or Friday", "UTC", "0 0 13 * fri", "2026-01-03T00:00:00Z",
			[]string{"2026-01-09T00:00+00:00", "2026-01-13T00:00+00:00", "2026-01-16T00:00+00:00"}},
		{"P29 a full week has no star flag", "UTC", "0 0 13 * 0-6", "2026-01-03T00:00:00Z", []string{"2026-01-04T00:00+00:00"}},
		{"parts of a second do not matter", "UTC", "* * * * *", "2026-01-03T00:00:59.999Z", []string{"2026-01-03T00:01+00:00"}},
		{"31 December of a leap year in a zone with a rule", "Australia/Lord_Howe", "0 12 * * *", "2012-12-30T13:00:00+11:00",
			[]string{"2012-12-31T12:00+11:00", "2013-01-01T12:00+11:00"}},
		{"31 December of a leap year in New York", "America/New_York", "0 */12 * * *", "2028-12-31T01:00:00-05:00",
			[]string{"2028-12-31T12:00-05:00", "2029-01-01T00:00-05:00"}},
		{"before 1970", "Europe/Berlin", "0 0 * * *", "1944-04-02T12:00:00+01:00", []string{"1944-04-03T00:00+01:00", "1944-04-04T00:00+02:00"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cal, now := mustParse(t, c.expr, c.zone), at(t, c.now)
			for _, want := range c.want {
				d, ok := cal.Next(now)
				if got := show(d); !ok || got != want {
					t.Fatalf("%s %s after %s: %s, want %s", c.zone, c.expr, now, got, want)
				}
				now = d.At
			}
		})
	}
}

func TestNextSaysSoWhenNothingComesWithinNineYears(t *testing.T) {
	// After 2032 the next 29 February on a Saturday or a Sunday is in 2048.
	c := mustParse(t, "0 0 29 2 */6", "UTC")
	if d, ok := c.Next(at(t, "2032-02-28T00:00:00Z")); !ok || d.At.Year() != 2032 {
		t.Errorf("in time: %v %v", d, ok)
	}
	if d, ok := c.Next(at(t, "2032-03-01T00:00:00Z")); ok {
		t.Errorf("beyond the horizon: %v", d)
	}
}

func TestNotesTellWhatIsUnusual(t *testing.T) {
	for _, c := range []struct{ expr, now, want string }{
		{"0,30 2 * * *", "2026-03-07T12:00:00-05:00",
			"the clocks skip 02:00 on this day, so it runs when they go on|02:30 falls on the same instant and does not run again"},
		{"30 * * * *", "2026-11-01T01:40:00-04:00", "second pass of a repeated hour"},
		{"30 * * * *", "2026-07-01T01:40:00-04:00", ""},
	} {
		d, _ := mustParse(t, c.expr, "America/New_York").Next(at(t, c.now))
		if got := strings.Join(d.Notes(), "|"); got != c.want {
			t.Errorf("%s: %q", c.expr, got)
		}
	}
}

func TestSpanCountsWhatWasDue(t *testing.T) {
	c := mustParse(t, "* * * * *", "UTC")
	s, ok := c.Span(at(t, "2026-01-01T00:00:00Z"), at(t, "2026-01-04T00:00:30Z"))
	if !ok || s.Count != 4320 || s.First.Civil != "2026-01-01T00:01" || s.Last.Civil != "2026-01-04T00:00" {
		t.Errorf("%+v", s)
	}
	if _, ok := c.Span(at(t, "2026-01-01T00:00:00Z"), at(t, "2026-01-01T00:00:59Z")); ok {
		t.Error("a span without a slot")
	}
	ny := mustParse(t, "0,30 2 * * *", "America/New_York")
	s, _ = ny.Span(at(t, "2026-03-08T00:00:00-05:00"), at(t, "2026-03-08T12:00:00-04:00"))
	if s.Count != 2 || s.First.Civil != "2026-03-08T02:00" || s.Last.Civil != "2026-03-08T02:30" || !s.FirstAt.Equal(s.LastAt) {
		t.Errorf("%+v", s)
	}
}

func TestResumeNeverMakesASlotDueAgain(t *testing.T) {
	ny := mustParse(t, "0,30 2 * * *", "America/New_York")
	d, _ := ny.Next(at(t, "2026-03-07T12:00:00-05:00"))
	r, err := ny.Resume(d.Slots[0])
	if err != nil || len(r.Rest) != 1 || r.Rest[0] != d.Slots[1] || !r.At.Equal(d.At) {
		t.Fatalf("%+v, %v", r, err)
	}
	if next, _ := ny.Next(r.After); next.At.Day() != 9 {
		t.Errorf("next is %v", next.At)
	}
	if r, _ = ny.Resume(d.Slots[1]); len(r.Rest) != 0 {
		t.Errorf("rest %v", r.Rest)
	}
	every, err := Every(61, at(t, "2026-11-01T05:20:37Z"), "America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Calendar{every, mustParse(t, "* * * * *", "America/New_York"), mustParse(t, "7 0-23 * * *", "America/New_York")} {
		now := at(t, "2026-11-01T05:20:00Z")
		for range 300 {
			d, _ := c.Next(now)
			r, err := c.Resume(d.Slots[0])
			if err != nil {
				t.Fatal(err)
			}
			want, _ := c.Next(d.At)
			if got, _ := c.Next(r.After); got.Slots[0] != want.Slots[0] {
				t.Fatalf("%s after %s: %v, want %v", c, d.Slots[0], got, want)
			}
			now = d.At
		}
	}
	if _, err := ny.Resume(mustParse(t, "@daily", "UTC").slot(0, 0)); err == nil {
		t.Error("a slot of another zone is accepted")
	}
}

func TestNextIsFast(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	now := at(t, "2026-06-01T00:00:30Z")
	for _, expr := range []string{"* * * * *", "30 2 * * *", "0 0 29 2 *", "0 0 1 1 *"} {
		c := mustParse(t, expr, "Europe/Berlin")
		const n = 2000
		began := time.Now()
		for range n {
			c.NextAt(now)
		}
		if each := time.Since(began) / n; each > time.Millisecond {
			t.Errorf("%s takes %v", expr, each)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	now := at(b, "2026-06-01T00:00:30Z")
	for _, expr := range []string{"* * * * *", "*/5 * * * *", "30 2 * * *", "0 0 1 1 *", "0 0 29 2 *"} {
		c := mustParse(b, expr, "Europe/Berlin")
		b.Run(strings.ReplaceAll(expr, " ", "_"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.NextAt(now)
			}
		})
	}
}
