package calendar

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Texts that other schedulers crash on, read as something else, or accept with a
// meaning that nobody wants. The numbers are those of TestNextFollowsTheRules...,
// which has the cases of the calendar.
func TestScheduleTextCases(t *testing.T) {
	const every = "every minute"
	for _, c := range []struct {
		name    string
		refused []string
		detail  string
		hint    string
		words   map[string]string // accepted: text to words, "; " and codes of warnings
	}{
		{name: "P1 zone prefixes", refused: []string{"TZ=UTC", "TZ=", "CRON_TZ=", "TZ=0", "CRON_TZ=America/New_York"}, detail: "zone prefix", hint: "timezone field"},
		{name: "P2 a zone prefix and tabs", refused: []string{"TZ=UTC\t0\t0\t*\t*\t*", "TZ=UTC\t0\t0\t*\t* *"}, detail: "zone prefix", hint: "timezone field"},
		{name: "P4 the machine's zone", refused: []string{"CRON_TZ=Local 0 0 * * *"}, detail: "zone prefix", hint: "timezone field"},
		{name: "P7 empty lists", refused: []string{", * * * *", "0 0 , * ,", "* , * * *", "* * , * *", "* * * , *", "* * * * ,", "1,,2 * * * *"}, detail: "empty list item", hint: "comma"},
		{name: "P8 an empty list of seconds", refused: []string{", * * * * *"}, detail: "6 fields"},
		{name: "P10 junk after a star", refused: []string{"*-5 * * * *", "*-zz/2 * * * *", "*5 * * * *"}, detail: "begin with a star"},
		{name: "P10 junk after a question mark", refused: []string{"?-foo * * * *"}, detail: "not supported", hint: "write *"},
		{name: "P11 signs", refused: []string{"+5 * * * *", "-5 * * * *"}, detail: "no sign"},
		{name: "P11 many digits", refused: []string{"000000005 * * * *", "005 * * * *"}, detail: "two digits"},
		{name: "P13 steps that never step", refused: []string{"*/60 * * * *", "*/61 * * * *", "0-59/61 * * * *"}, detail: "never step", hint: "every ="},
		{name: "P14 short last intervals", words: map[string]string{
			"*/35 * * * *": "at minutes 0 and 35 of every hour; step_uneven",
			"*/7 1 * * *":  "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 from 01:00 to 01:59; step_uneven",
			"0 */23 * * *": "every day at 00:00 and 23:00; step_uneven"}},
		{name: "P16 Sunday is 7 too", words: map[string]string{
			"0 0 * * 7":       "on Sunday at 00:00",
			"0 0 * * 5-7":     "on Sunday, Friday and Saturday at 00:00",
			"0 0 * * sat-sun": "on Sunday and Saturday at 00:00"}},
		{name: "P17 ranges that wrap", refused: []string{"0 22-2 * * *"}, detail: "ends before it begins", hint: "write 22-23,0-2"},
		{name: "P17 weeks that wrap", refused: []string{"0 0 * * fri-mon"}, detail: "ends before it begins", hint: "write 5-6,0-1"},
		{name: "P17 minutes that wrap", refused: []string{"30-10 * * * *"}, detail: "ends before it begins", hint: "write 30-59,0-10"},
		{name: "P19 short intervals", refused: []string{"@every 0s", "@every -5m", "@every 1ms", "@every 1500ms", "@every 1.9s"}, detail: "@every", hint: "every ="},
		{name: "P20 odd and long intervals", refused: []string{"@every 1d", "@every 5", "@every 1h ", "@every 9999999h", "@every 2562047h47m16s"}, detail: "@every", hint: "every ="},
		{name: "P22 spaces that are none", refused: []string{"0 0\u00a0* * *", "0\u30000 * * *", "0\u20280 * * *"}, detail: "not ASCII", hint: "blanks"},
		{name: "P23 characters that hide", refused: []string{"\ufeff0 0 * * *", "0\u200b 0 * * *", "\uff15 0 * * *", "\u0665 0 * * *"}, detail: "not ASCII"},
		{name: "P23 characters that command a terminal", refused: []string{"0 0 * * *\x00", "\x1b[2J0 0 * * *", "0 0 * *\x07 *"}, detail: "control character", hint: "remove"},
		{name: "P25 seconds first", refused: []string{"* */15 * * * *"}, detail: "6 fields", hint: `did you mean "*/15 * * * *"?`},
		{name: "P26 comments", refused: []string{"0 0 * * * # nightly"}, detail: "comment", hint: "note"},
		{name: "P26 two lines", refused: []string{"0 0 * * *\n0 1 * * *", "0 0 * * *\r\n0 1 * * *"}, detail: "more than one line", hint: "second job"},
		{name: "P26 a line end is dropped", words: map[string]string{"0 0 * * *\r\n": "every day at 00:00", "* * * * *\n": every}},
		{name: "P28 a date that never comes beside a weekday", words: map[string]string{
			"0 0 30 2 mon": "on day 30 of February or on Monday in February at 00:00; date_never"}},
		{name: "P29 the star flag in words", words: map[string]string{
			"0 0 */2 * mon":  "on Monday that is also day 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29 and 31 of the month at 00:00; step_uneven",
			"0 0 1-31 * mon": "every day at 00:00; days_either",
			"0 0 13 * fri":   "on day 13 of the month or on Friday at 00:00; days_either",
			"0 0 13 * 0-6":   "every day at 00:00; days_either"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, text := range c.refused {
				refusedWith(t, text, c.detail, c.hint)
			}
			for text, want := range c.words {
				cal := mustParse(t, text, "UTC")
				got := cal.Words()
				for _, w := range cal.WarningData() {
					got += "; " + string(w.Code)
				}
				if got != want {
					t.Errorf("%q: %q, want %q", text, got, want)
				}
			}
		})
	}
}

func refusedWith(t *testing.T, text, detail, hint string) {
	t.Helper()
	c, err := Parse(text, "UTC")
	var refused *Error
	if c != nil || !errors.As(err, &refused) || !strings.Contains(err.Error(), detail) || !strings.Contains(refused.Hint(), hint) {
		t.Errorf("%q: %v, want %q with the hint %q", text, err, detail, hint)
		return
	}
	if strings.IndexFunc(err.Error()+refused.Hint(), func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
		t.Errorf("%q: the message carries raw characters: %q", text, err)
	}
}

func TestScheduleZoneCases(t *testing.T) {
	for name, zone := range map[string]string{
		"P4 Local": "Local", "P5 a path up": "../../etc/passwd", "P5 a path": "/etc/localtime", "P5 an offset": "UTC+2", "P5 lower case": "utc", "P5 quotes": `"UTC"`,
	} {
		t.Run(name, func(t *testing.T) {
			var refused *Error
			if c, err := Parse("0 0 * * *", zone); c != nil || !errors.As(err, &refused) || refused.Hint() == "" || jobspec.CodeOf(err) != jobspec.CodeScheduleInvalid {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("P5 old names are told of", func(t *testing.T) {
		for _, zone := range []string{"EST", "EST5EDT"} {
			if w := mustParse(t, "0 0 * * *", zone).WarningData(); len(w) != 1 || w[0].Code != WarnZoneOld {
				t.Errorf("%s: %v", zone, w)
			}
		}
	})
}

func TestScheduleIntervalCases(t *testing.T) {
	anchor := at(t, "2026-11-30T12:00:37Z")
	t.Run("P19 P20 bounds", func(t *testing.T) {
		for _, seconds := range []int64{0, -300, 1, 59, 366*86400 + 1, 9999999 * 3600} {
			if _, err := Every(seconds, anchor, "UTC"); jobspec.CodeOf(err) != jobspec.CodeScheduleInvalid {
				t.Errorf("%d: %v", seconds, err)
			}
		}
	})
	t.Run("T18 a restart keeps the phase", func(t *testing.T) {
		for hour := range 48 {
			restarted, err := Every(3600, anchor, "UTC")
			if err != nil {
				t.Fatal(err)
			}
			now := anchor.Add(time.Duration(hour)*time.Hour + 59*time.Minute)
			if d, _ := restarted.Next(now); !d.At.Equal(anchor.Add(time.Duration(hour+1) * time.Hour)) {
				t.Errorf("after %v: %v", now, d.At)
			}
		}
	})
}

// C30: the law of a zone changes between two triggers. A slot is a civil minute,
// so the old data's slot is not due a second time under the new data, wherever
// its instant went; later slots follow the new data.
func TestScheduleZoneDataCase(t *testing.T) {
	for name, c := range map[string]struct{ old, law, now, slot, next string }{
		"C30 the offset grows":        {"UTC", "Asia/Tokyo", "2026-05-01T12:00:00Z", "2026-05-02T02:30", "2026-05-03T02:30"},
		"C30 the offset shrinks":      {"Asia/Tokyo", "UTC", "2026-05-01T12:00:00Z", "2026-05-02T02:30", "2026-05-03T02:30"},
		"C30 the slot is now skipped": {"UTC", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T02:30", "2026-03-30T02:30"},
		"C30 the slot was skipped":    {"Europe/Berlin", "UTC", "2026-03-28T12:00:00Z", "2026-03-29T02:30", "2026-03-30T02:30"},
		"C30 the slot now repeats":    {"UTC", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T02:30", "2026-10-26T02:30"},
	} {
		t.Run(name, func(t *testing.T) {
			// One zone by name, two releases of its data.
			before, after := mustParse(t, "30 2 * * *", c.old), mustParse(t, "30 2 * * *", c.law)
			before.zone, after.zone = "Test/Zone", "Test/Zone"
			d, ok := before.Next(at(t, c.now))
			if !ok || d.Slots[0].Civil != c.slot {
				t.Fatalf("%v", d)
			}
			r, err := after.Resume(d.Slots[0])
			if err != nil {
				t.Fatal(err)
			}
			if next, _ := after.Next(r.After); next.Slots[0].Civil != c.next {
				t.Errorf("next is %v, want %s", next, c.next)
			}
		})
	}
}

func TestAScheduleThatIsNeverDueIsRefusedWhenItIsMade(t *testing.T) {
	s := jobspec.Schedule{Cron: "0 0 */30 2 mon", Timezone: "UTC"} // 1 February 2027 and 2038
	if _, err := FromSpec(s, at(t, "2027-01-01T00:00:00Z")); err != nil {
		t.Error(err)
	}
	_, err := FromSpec(s, at(t, "2027-02-02T00:00:00Z"))
	var refused *Error
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "next nine years") || refused.Hint() == "" || refused.Code() != string(jobspec.CodeScheduleInvalid) {
		t.Errorf("%v", err)
	}
}
