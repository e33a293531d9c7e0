package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
)

func TestNextUntilAnInstantListsAllThatComesBefore(t *testing.T) {
	b := newBench(t)
	if code := b.run("--json", "next", "--expr", "0 */4 * * *", "--until", "2d"); code != 0 {
		t.Fatal(b.err.String())
	}
	var doc struct{ Items []api.Next }
	if err := json.Unmarshal(b.out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	// From noon on, noon excluded; noon two days later is excluded, too.
	if n := len(doc.Items); n != 11 || !doc.Items[n-1].UTC.Equal(noon.Add(44*time.Hour)) {
		t.Errorf("%d: %+v", n, doc.Items)
	}
	b.run("next", "x", "--from", "2026-12-01T00:00:00Z", "--until", "2026-12-02T00:00:00Z")
	b.run("next")
	if q := b.svc.nexts; len(q) != 2 || q[0].Count != maxNext || q[0].Until.Day() != 2 || q[1].Count != defaultNext || !q[1].Until.IsZero() {
		t.Errorf("%+v", q)
	}
	for _, args := range []string{"--until 2026-11-30T12:00:00Z", "--until soon", "-n -1", "-n 1001", "--timezone UTC", "--month=2027-13", "--month=2026-10", "--month -n 3", "--month --until 2d"} {
		if code := b.run(append([]string{"next"}, strings.Fields(args)...)...); code != 64 {
			t.Errorf("%s: exit %d", args, code)
		}
	}
}

func TestTheRuleOfDaylightSavingThatMadeATimeIsToldBesideIt(t *testing.T) {
	b := newBench(t)
	for from, want := range map[string]string{"2027-03-27T12:00:00Z": "the clocks skip 02:30", "2026-10-25T00:45:00Z": "second pass"} {
		expr := map[string]string{"2027-03-27T12:00:00Z": "30 2 * * *", "2026-10-25T00:45:00Z": "30 * * * *"}[from]
		if b.run("next", "--expr", expr, "--timezone", "Europe/Berlin", "--from", from, "-n", "1") != 0 || !strings.Contains(b.out.String(), want) {
			t.Errorf("%s: %s%s", from, b.out.String(), b.err.String())
		}
	}
}

const december = `December 2026, Europe/Berlin
Mon        Tue        Wed        Thu        Fri        Sat        Sun
            1 1440x    2 -        3 12kx     4 2x       5 -        6 -
                                               02:30
                                               14:00
 7 -        8 -        9 -       10 -       11 -       12 -       13 -
14 -       15 -       16 -       17 -       18 -       19 -       20 -
21 -       22 -       23 -       24 -       25 -       26 -       27 -
28 -       29 -       30 -       31 -
2026-12-04: a: odd
`

func TestAMonthIsAGridThatFitsTheTerminal(t *testing.T) {
	b := newBench(t)
	b.svc.month = []api.Day{{Date: "2026-12-01", Count: 1440}, {Date: "2026-12-03", Count: 12345}, {Date: "2026-12-04", Count: 2, Times: []string{"02:30", "14:00"}, Notes: []string{"a: odd"}}}
	if b.run("next", "--month=2026-12") != 0 || b.out.String() != december {
		t.Errorf("%s%s", b.out.String(), b.err.String())
	}
	q := b.svc.days[0]
	if q.Timezone != "Europe/Berlin" || q.Until.UTC() != time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC) || q.From.UTC() != time.Date(2026, 11, 30, 22, 59, 59, 0, time.UTC) {
		t.Errorf("%+v", q)
	}
	// What is over is not counted, and is told from what has nothing due.
	b.svc.month = nil
	if b.run("next", "--month"); !strings.Contains(b.out.String(), "\n30 -\n") || !strings.Contains(b.out.String(), "23         24         25 ") {
		t.Error(b.out.String())
	}
	if b.run("next", "--month", "--timezone", "Asia/Tokyo"); b.svc.days[2].Timezone != "Asia/Tokyo" {
		t.Errorf("%+v", b.svc.days[2])
	}
	b.svc.jobs = []api.Job{{Job: "x", Timezone: "America/New_York"}}
	if b.run("next", "x", "--month") != 0 || b.svc.days[3].Timezone != "America/New_York" || b.svc.days[3].Job != "x" {
		t.Errorf("%+v", b.svc.days)
	}
	if code := b.run("next", "y", "--month"); code != 4 {
		t.Errorf("exit %d", code)
	}
}

func TestNoLineOfAMonthIsWiderThanTheTerminal(t *testing.T) {
	m := month{first: time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC), from: time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC), days: map[string]api.Day{}}
	for d := 1; d <= 28; d++ {
		m.days[m.date(d)] = api.Day{Count: 999_999, Times: []string{"02:30", "03:30", "04:30"}}
	}
	for _, width := range []int{20, 40, 62, 63, 70, 80, 200} {
		lines := m.lines(width)
		for _, l := range lines {
			if len(l) > width && len(l) > 40 {
				t.Errorf("width %d: %d columns: %s", width, len(l), l)
			}
		}
		if list := len(lines) == 29; list != (width < 63) {
			t.Errorf("width %d: %d lines", width, len(lines))
		}
		for d := 1; d <= 28; d++ {
			if !strings.Contains(strings.Join(lines, "\n"), fmt.Sprintf("%2d 999kx", d)) {
				t.Errorf("width %d: day %d is missing", width, d)
			}
		}
	}
}
