package calendar

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

func TestTextThatOthersReadInSeveralWaysIsRefusedWithAHint(t *testing.T) {
	for _, c := range []struct{ expr, detail, hint string }{
		{"TZ=UTC", "zone prefix", "timezone field"},
		{"TZ=", "zone prefix", "timezone field"},
		{"CRON_TZ=", "zone prefix", "timezone field"},
		{"TZ=0", "zone prefix", "timezone field"},
		{"CRON_TZ=America/New_York 0 0 * * *", "zone prefix", "timezone field"},
		{"TZ=UTC\t0\t0\t*\t*\t*", "zone prefix", "timezone field"},
		{"CRON_TZ=Local 0 0 * * *", "zone prefix", "timezone field"},
		{"", "empty", "five fields"},
		{"  \t ", "empty", "five fields"},
		{"0 0 * *", "4 fields, want 5; missing: day of week", "minute, hour"},
		{", * * * *", "empty list item", "remove the comma"},
		{"0 0 , * ,", "empty list item", "remove the comma"},
		{"1,,2 * * * *", "empty list item", "remove the comma"},
		{", * * * * *", "6 fields", ""},
		{"* */15 * * * *", "6 fields, want 5", `did you mean "*/15 * * * *"?`},
		{"0 0 0 1 1 * 2026", "7 fields", "seconds or years"},
		{"0 0 0 1 1 * 2026", "7 fields", `did you mean "0 0 1 1 *"?`},
		{"30 2 * * * 2026", "6 fields", `did you mean "30 2 * * *"?`},
		{"30 2 * * * /usr/bin/backup", "6 fields", "the command follows --"},
		{"30 2 * * * root backup --full", "8 fields", "the command follows --"},
		{"daily", "1 field, want 5", "write @daily"},
		{"02:30", "1 field, want 5", `write "30 2 * * *"`},
		{"90m", "1 field, want 5", `use every = "90m"`},
		{"every 90m", "2 fields, want 5", `use every = "90m"`},
		{"every 5 minutes", "3 fields, want 5", `use every = "6h"`},
		{"reboot", "1 field, want 5", "give the job a time"},
		{"*-5 * * * *", "begin with a star", ""},
		{"?-foo * * * *", `"?" is not supported`, "write *"},
		{"*-zz/2 * * * *", "begin with a star", ""},
		{"*5 * * * *", "begin with a star", ""},
		{"+5 * * * *", "no sign", ""},
		{"-5 * * * *", "no sign", ""},
		{"000000005 * * * *", "at most two digits", ""},
		{"005 * * * *", "at most two digits", ""},
		{"60 * * * *", "not a value", "0 to 59"},
		{"* 24 * * *", "not a value", "0 to 23"},
		{"* * 0 * *", "not a value", "1 to 31"},
		{"* * * 13 *", "not a value", "1 to 12, or a name such as jan"},
		{"* * * * 8", "not a value", "0 to 7"},
		{"*/60 * * * *", "larger than the range 0-59", `every = "60m"`},
		{"*/61 * * * *", "larger than the range", `every = "61m"`},
		{"0 */36 * * *", "larger than the range 0-23", `every = "36h"`},
		{"0 0 */45 * *", "larger than the range 1-31", `every = "45d"`},
		{"0 0 1 */12 *", "larger than the range 1-12", "write the values"},
		{"0-59/61 * * * *", "larger than the range", ""},
		{"* * * * */7", "larger than the range 0-6", ""},
		{"*/0 * * * *", "not a number", "at least 1"},
		{"*/-1 * * * *", "not a number", ""},
		{"*/ * * * *", "not a number", ""},
		{"*/5/5 * * * *", "not a number", ""},
		{"5/15 * * * *", "step after a single value", "write 5-59/n"},
		{"0 22-2 * * *", "ends before it begins", "write 22-23,0-2"},
		{"30-10 * * * *", "ends before it begins", "write 30-59,0-10"},
		{"0 0 * * fri-mon", "ends before it begins", "write 5-6,0-1"},
		{"0 0 * * 7-2", "ends before it begins", "write 0-2"},
		{"0 0 * * 5-0", "ends before it begins", "write 5-7"},
		{"0 0 L * *", `"L" is not supported`, ""},
		{"0 0 * * 5L", `"L" is not supported`, ""},
		{"0 0 15W * *", `"W" is not supported`, ""},
		{"0 0 LW * *", `"W" is not supported`, ""},
		{"0 0 * * 1#2", `"#" is not supported`, ""},
		{"H * * * *", `"H" is not supported`, "jitter"},
		{"H(0-5) * * * *", `"H" is not supported`, "jitter"},
		{"0~30 * * * *", `"~" is not supported`, "jitter"},
		{"0 0 * * monday", "three letters", "write mon"},
		{"0 0 * january *", "three letters", "write jan"},
		{"0 0 * * mo", "not a value", ""},
		{"0 jan * * *", "not a value", ""},
		{"@reboot", "@reboot is not supported", "give the job a time"},
		{"@every 1h", "@every is not supported", `every = "1h"`},
		{"@every 1ms", "@every is not supported", `every = "6h"`},
		{"@every 9999999h", "@every is not supported", `every = "6h"`},
		{"@every 0s", "@every is not supported", ""},
		{"@every -5m", "@every is not supported", ""},
		{"@Daily", "lower case", "write @daily"},
		{"@daily x", "unknown name", "@hourly"},
		{"@fortnightly", "unknown name", "@hourly"},
		{"@", "unknown name", ""},
		{"0\u00a00\u00a0*\u00a0*\u00a0*", "not ASCII", "plain ASCII"},
		{"0\u30000 * * *", "not ASCII", ""},
		{"\ufeff0 0 * * *", "not ASCII", ""},
		{"0\u200b 0 * * *", "not ASCII", ""},
		{"\uff15 * * * *", "not ASCII", ""},
		{"\u0665 * * * *", "not ASCII", ""},
		{"\xff * * * *", "not ASCII", ""},
		{"0 0 * * *\x00", "control character", ""},
		{"\x1b[31m0 0 * * *", "control character", ""},
		{"\x7f 0 * * *", "not ASCII", ""},
		{"0 0 * * * # nightly", "comment", "note"},
		{"# nightly", "fields", ""},
		{"0 0 * * *\n0 1 * * *", "more than one line", "second job"},
		{"\n0 0 * * *", "more than one line", ""},
		{"0 0 30 2 *", "no day of any year", ""},
		{"0 0 31 4,6,9,11 *", "no day of any year", ""},
		{strings.Repeat("1,", 200) + "1 * * * *", "at most 256", ""},
	} {
		_, err := Parse(c.expr, "UTC")
		var refused *Error
		if !errors.As(err, &refused) {
			t.Errorf("%q: %v, want a refusal", c.expr, err)
			continue
		}
		if !strings.Contains(err.Error(), c.detail) || !strings.Contains(refused.Hint(), c.hint) {
			t.Errorf("%q: %v (hint: %s)\nwant %q (hint: %q)", c.expr, err, refused.Hint(), c.detail, c.hint)
		}
		if jobspec.CodeOf(err) != jobspec.CodeScheduleInvalid {
			t.Errorf("%q: code %s", c.expr, refused.Code())
		}
		if strings.IndexFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
			t.Errorf("%q: the message %q carries raw characters", c.expr, err)
		}
	}
}

func TestOneMeaningHasManySpellings(t *testing.T) {
	for _, c := range []struct{ a, b string }{
		{"0 0 * * 7", "0 0 * * 0"},
		{"0 0 * * 5-7", "0 0 * * 0,5,6"},
		{"0 0 * * sat-sun", "0 0 * * 0,6"},
		{"0 0 * * sun-tue", "0 0 * * 0-2"},
		{"0 0 * * 0-7", "0 0 * * 0-6"},
		{"0 0 * * 1-7/2", "0 0 * * 0,1,3,5"},
		{"0 0 * * MON,Wed,fri", "0 0 * * 1,3,5"},
		{"0 0 1 JAN-mar *", "0 0 1 1,2,3 *"},
		{"0 0 * * *\r\n", "@daily"},
		{" 0\t0  * * * ", "@midnight"},
		{"0 0 * * 0", "@weekly"},
		{"0 0 1 * *", "@monthly"},
		{"0 0 1 1 *", "@yearly"},
		{"@annually", "@yearly"},
		{"0 * * * *", "@hourly"},
		{"05 02 * * *", "5 2 * * *"},
		{"0-59/20 * * * *", "0,20,40 * * * *"},
	} {
		a, b := mustParse(t, c.a, "UTC"), mustParse(t, c.b, "UTC")
		if a.rule.(*cronRule).bits != b.rule.(*cronRule).bits {
			t.Errorf("%q and %q differ", c.a, c.b)
		}
	}
}

// The sets come from a parser that is not ours; this reads the checked text a
// second time.
func TestBitsHoldExactlyWhatTheTextSays(t *testing.T) {
	c := mustParse(t, "*/35,7 1-9/4 1,31 feb-apr,12 sat-sun", "UTC").rule.(*cronRule)
	for f, want := range [5][]int{{0, 7, 35}, {1, 5, 9}, {1, 31}, {2, 3, 4, 12}, {0, 6}} {
		got := c.list(f)
		if len(got) != len(want) {
			t.Fatalf("%s: %v, want %v", fields[f].name, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", fields[f].name, got, want)
			}
		}
	}
}

func TestIntervalsAreOneMinuteToAYearInWholeSeconds(t *testing.T) {
	anchor := time.Date(2026, 11, 30, 12, 0, 37, 5e8, time.UTC)
	for _, seconds := range []int64{-300, 0, 1, 59, 366*86400 + 1, 1 << 62} {
		if _, err := Every(seconds, anchor, "UTC"); err == nil {
			t.Errorf("every %d seconds is accepted", seconds)
		}
	}
	if _, err := Every(60, time.Time{}, "UTC"); err == nil {
		t.Error("an interval without an anchor is accepted")
	}
	e, err := Every(3600, anchor, "UTC")
	if err != nil {
		t.Fatal(err)
	}
	// A restart at minute 59 of each hour must not move the phase.
	for _, now := range []string{"2026-11-30T12:59:00Z", "2026-11-30T12:00:37Z", "2020-01-01T00:00:00Z"} {
		d, _ := e.Next(at(t, now))
		if got := d.At.Format(time.RFC3339); got != "2026-11-30T13:00:37Z" || d.Slots[0].Civil != "2026-11-30T13:00" {
			t.Errorf("after %s: %s %v", now, got, d.Slots)
		}
	}
}

func TestSpecsAreReadWithTheirAnchorAndSayExactlyOneThing(t *testing.T) {
	anchor := at(t, "2026-11-30T12:00:00Z")
	c, err := FromSpec(jobspec.Schedule{EverySeconds: 21600, Timezone: "Europe/Berlin"}, anchor)
	if err != nil || c.String() != "every 6 hours, Europe/Berlin" || c.Gap() != 21600 {
		t.Errorf("every: %v %v", c, err)
	}
	if c, err = FromSpec(jobspec.Schedule{Cron: "30 2 * * *", Timezone: "Europe/Berlin"}, anchor); err != nil || c.Zone() != "Europe/Berlin" {
		t.Errorf("cron: %v %v", c, err)
	}
	for _, s := range []jobspec.Schedule{
		{Timezone: "UTC"},
		{Cron: "@daily", EverySeconds: 60, Timezone: "UTC"},
		{Cron: "@daily", At: jobspec.InstantOf(anchor.AddDate(0, 1, 0)), Timezone: "UTC"},
		{Cron: "@daily"},
	} {
		if _, err := FromSpec(s, anchor); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

func mustParse(t testing.TB, expr, zone string) *Calendar {
	t.Helper()
	c, err := Parse(expr, zone)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func at(t testing.TB, s string) time.Time {
	t.Helper()
	u, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
