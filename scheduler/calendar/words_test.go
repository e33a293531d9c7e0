package calendar

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestWordsSayWhatTheTextMeans(t *testing.T) {
	for expr, want := range map[string]string{
		"30 2 * * *":            "every day at 02:30",
		"@daily":                "every day at 00:00",
		"@hourly":               "every hour on the hour",
		"* * * * *":             "every minute",
		"*/5 * * * *":           "every 5 minutes",
		"*/35 * * * *":          "at minutes 0 and 35 of every hour",
		"30 * * * *":            "at minute 30 of every hour",
		"0,30 8,18 * * *":       "every day at 08:00, 08:30, 18:00 and 18:30",
		"0 9 * * mon-fri":       "on Monday to Friday at 09:00",
		"0 9 * * 7":             "on Sunday at 09:00",
		"0 9 1,15 * *":          "on day 1 and 15 of the month at 09:00",
		"0 9 1 jan,jul *":       "on day 1 of January and July at 09:00",
		"0 9 * dec *":           "every day in December at 09:00",
		"0 0 13 * fri":          "on day 13 of the month or on Friday at 00:00",
		"0 0 13 * 0-6":          "every day at 00:00",
		"0 0 */10 * mon":        "on Monday that is also day 1, 11, 21 and 31 of the month at 00:00",
		"*/15 9-17 * * mon-fri": "every 15 minutes from 09:00 to 17:59 on Monday to Friday",
		"* 9 * * *":             "every minute from 09:00 to 09:59",
		"0 */2 * * *":           "at minute 0 of every 2nd hour from 00 on",
		"5,10,20 1-3,9 * * *":   "at minutes 5, 10 and 20 from 01:00 to 03:59 and 09:00 to 09:59",
		"0 0 30 2 mon":          "on day 30 of February or on Monday in February at 00:00",
	} {
		if got := mustParse(t, expr, "UTC").Words(); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
	if got := mustParse(t, "30 2 * * *", "Europe/Berlin").String(); got != "every day at 02:30, Europe/Berlin" {
		t.Error(got)
	}
	for seconds, want := range map[int64]string{60: "every minute", 90: "every 90 seconds", 7200: "every 2 hours", 86400: "every day", 172800: "every 2 days"} {
		if got := (everyRule{seconds: seconds}).words(); got != want {
			t.Errorf("%d: %q, want %q", seconds, got, want)
		}
	}
}

func TestWarningsTellWhatAWriterMayNotExpect(t *testing.T) {
	for _, c := range []struct {
		expr, zone string
		want       string // code: part of the sentence, joined by "; "
	}{
		{"30 2 * * *", "Europe/Berlin", ""},
		{"*/15 */6 * */3 *", "UTC", ""},
		{"*/35 * * * *", "UTC", "step_uneven: 25 instead of 35"},
		{"*/7 * * * *", "UTC", "step_uneven: 60 minutes: the last interval has 4 instead of 7"},
		{"0 */23 * * *", "UTC", "step_uneven: 24 hours: the last interval has 1 instead of 23"},
		{"*/7 */5 * * *", "UTC", "step_uneven: 60 minutes; step_uneven: 24 hours: the last interval has 4 instead of 5"},
		{"0 0 */2 * *", "UTC", "step_uneven: day 1 of each month, so two days can come closer than 2"},
		{"0 0 1 */5 *", "UTC", "step_uneven: 12 months: the last interval has 2 instead of 5"},
		{"0 0 * * */2", "UTC", "step_uneven: 7 days: the last interval has 1 instead of 2"},
		{"*/35,7 * * * *", "UTC", ""},
		{"*/1 */1 */1 */1 */1", "UTC", ""},
		{"0 0 13 * fri", "UTC", "days_either: not only when both do"},
		{"0 0 30 2 mon", "UTC", "date_never: never comes in these months"},
		{"0 0 31 * *", "UTC", "months_left_out: no day matches in February, April, June, September and November"},
		{"0 0 29 * *", "UTC", "months_left_out: February of a year of 365 days"},
		{"0 0 29 2 *", "UTC", "months_left_out: February of a year of 365 days"},
		{"0 0 30,31 1,2,3 *", "UTC", "months_left_out: no day matches in February"},
		{"0 0 28,31 * *", "UTC", ""},
		{"0 0 * * *", "EST", "zone_old: old name"},
		{"0 0 * * *", "EST5EDT", "zone_old: old name"},
		{"0 0 * * *", "Etc/GMT+5", "zone_sign: 5 hours west of UTC"},
		{"0 0 * * *", "Etc/GMT-14", "zone_sign: 14 hours east of UTC"},
		{"0 0 * * *", "Etc/GMT+0", ""},
		{"0 0 * * *", "Etc/UTC", ""},
	} {
		got := mustParse(t, c.expr, c.zone).WarningData()
		var want []string
		if c.want != "" {
			want = strings.Split(c.want, "; ")
		}
		if len(got) != len(want) {
			t.Errorf("%s %s: %q", c.zone, c.expr, got)
			continue
		}
		for i, w := range got {
			code, part, _ := strings.Cut(want[i], ": ")
			if string(w.Code) != code || !strings.Contains(w.String(), part) {
				t.Errorf("%s %s: %s: %q, want %q", c.zone, c.expr, w.Code, w, want[i])
			}
		}
	}
}

func TestApartSaysHowCloseStartsMayCome(t *testing.T) {
	for expr, want := range map[string]string{
		"* * * * *":    "at least 1m lie between two starts",
		"*/35 * * * *": "at least 25m lie between two starts",
		"30 2 * * *":   "at least 23h30m lie between two starts",
		"0 0 13 * fri": "at least 1d lie between two starts",
	} {
		if got := mustParse(t, expr, "Europe/Berlin").Apart(); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

func TestGapIsTheSmallestDistance(t *testing.T) {
	const hours, days = 3600, 86400
	for _, c := range []struct {
		expr, zone string
		want       int64
	}{
		{"* * * * *", "UTC", 60},
		{"*/5 * * * *", "UTC", 300},
		{"*/35 * * * *", "UTC", 25 * 60},
		{"0 9,17 * * *", "UTC", 8 * hours},
		{"0 0,23 * * *", "UTC", 1 * hours},
		{"30 2 * * *", "UTC", 1 * days},
		{"30 4 * * *", "Europe/Berlin", 23 * hours},
		{"30 2 * * *", "Europe/Berlin", 23*hours + 30*60},
		{"0 9 * * mon", "UTC", 7 * days},
		{"0 0 1 1 *", "UTC", 365 * days},
		{"0 0 29 2 *", "UTC", (3*365 + 366) * days},
		{"0 1,4 * * *", "America/New_York", 2 * hours},
		{"30 4 9,10 3 *", "America/New_York", 23 * hours}, // first in 2030
		{"12 2 28 * *", "Europe/Berlin", 28*days - hours}, // February to March 2029
		{"30 2,3 * * *", "Europe/Berlin", 30 * 60},        // 02:30 at 03:00
	} {
		if got := mustParse(t, c.expr, c.zone).Gap(); got != c.want {
			t.Errorf("%s %s: %d, want %d", c.zone, c.expr, got, c.want)
		}
	}
}

// Eight years of random schedules, walked start by start.
func TestNoTwoStartsComeCloserThanTheGap(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(13, seed))
	zones := []string{"UTC", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo", "America/Havana", "Antarctica/Troll", "Africa/Casablanca"}
	want := 60
	if soak() {
		want = 2000
	}
	for done := 0; done < want; {
		m, zone := randomModel(r), zones[r.IntN(len(zones))]
		c, err := Parse(m.text, zone)
		if err != nil || m.star[0] || m.star[1] {
			continue
		}
		done++
		gap, least := c.Gap(), int64(horizon)
		last := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for first := true; ; first = false {
			next, ok := c.NextAt(last)
			if !ok || next.Year() > 2033 {
				break
			}
			if !first {
				least = min(least, next.Unix()-last.Unix())
			}
			last = next
		}
		if least < gap {
			t.Errorf("%s %q: gap %d, but two starts are %d apart", zone, m.text, gap, least)
		}
	}
}
