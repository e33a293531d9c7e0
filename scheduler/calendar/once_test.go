package calendar

import (
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

func onceAt(t *testing.T, when, zone string) (*Calendar, error) {
	t.Helper()
	return FromSpec(jobspec.Schedule{At: jobspec.InstantOf(at(t, when)), Timezone: zone}, at(t, "2026-10-01T00:00:00Z"))
}

func TestOneInstantIsDueOnceAndNeverAgain(t *testing.T) {
	for _, c := range []struct{ when, zone, slot, words string }{
		{"2026-12-24T18:00:00+01:00", "Europe/Berlin", "2026-12-24T18:00/Europe/Berlin#0", "once, on 2026-12-24 at 18:00 (UTC+01:00)"},
		{"2026-10-25T02:30:00+02:00", "Europe/Berlin", "2026-10-25T02:30/Europe/Berlin#0", "once, on 2026-10-25 at 02:30 (UTC+02:00)"},
		{"2026-10-25T02:30:00+01:00", "Europe/Berlin", "2026-10-25T02:30/Europe/Berlin#1", "once, on 2026-10-25 at 02:30 (UTC+01:00)"},
		{"2026-12-24T18:00:30Z", "UTC", "2026-12-24T18:00/UTC#0", "once, on 2026-12-24 at 18:00:30 (UTC+00:00)"},
	} {
		cal, err := onceAt(t, c.when, c.zone)
		if err != nil {
			t.Fatal(err)
		}
		when := at(t, c.when)
		d, ok := cal.Next(when.Add(-48 * time.Hour))
		if !ok || !d.At.Equal(when) || len(d.Slots) != 1 || d.Slots[0].String() != c.slot || cal.Words() != c.words {
			t.Errorf("%s: %v %v, %q", c.when, d, ok, cal.Words())
		}
		if d, ok := cal.Next(when); ok {
			t.Errorf("%s: due again at %s", c.when, d.At)
		}
		r, err := cal.Resume(d.Slots[0])
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := cal.Next(r.After); ok {
			t.Errorf("%s: due at %s after its slot was accounted for", c.when, d.At)
		}
	}
}

func TestAnInstantThatHasPassedOrIsTooFarIsRefusedWithAHint(t *testing.T) {
	for _, when := range []string{"2026-10-01T00:00:00Z", "2026-09-30T23:59:59Z", "2040-01-01T00:00:00Z"} {
		_, err := onceAt(t, when, "UTC")
		if jobspec.CodeOf(err) != jobspec.CodeScheduleInvalid {
			t.Errorf("%s: %v", when, err)
		}
		if h, ok := err.(interface{ Hint() string }); !ok || h.Hint() == "" {
			t.Errorf("%s: no hint: %v", when, err)
		}
	}
	if _, err := onceAt(t, "2026-12-24T18:00:00Z", "Local"); err == nil {
		t.Error("a zone of the machine is accepted")
	}
}

func TestJitterMovesTheStartAndNeverTheSlot(t *testing.T) {
	anchor := at(t, "2026-10-01T00:00:00Z")
	plain := jobspec.Schedule{Cron: "30 2 * * *", Timezone: "Europe/Berlin"}
	s := plain
	s.JitterSeconds = 300
	seen := map[time.Duration]int{}
	for i := range 2000 {
		op := jobspec.DigestOf([]byte{byte(i), byte(i >> 8)})
		j := Jitter(s, op)
		if j < 0 || j > 300*time.Second || j != Jitter(s, op) {
			t.Fatalf("jitter %s", j)
		}
		seen[j]++
	}
	if len(seen) < 250 || seen[0] == 0 || seen[300*time.Second] == 0 {
		t.Errorf("%d of 301 shifts were taken", len(seen))
	}
	op := jobspec.DigestOf([]byte("an op"))
	shifted, err := Of(s, anchor, op)
	if err != nil {
		t.Fatal(err)
	}
	base, err := Of(plain, anchor, op)
	if err != nil {
		t.Fatal(err)
	}
	by := Jitter(s, op)
	a, b := anchor, anchor
	for range 400 { // both changes of the clocks
		p, ok := base.Next(a)
		q, also := shifted.Next(b)
		if !ok || !also || !q.At.Equal(p.At.Add(by)) || q.Slots[0] != p.Slots[0] || q.Shift != by {
			t.Fatalf("%v and %v", p, q)
		}
		r, err := shifted.Resume(q.Slots[0])
		if err != nil || !r.At.Equal(q.At) || r.After.Before(q.At) {
			t.Fatalf("resume after %s: %+v %v", q.Slots[0], r, err)
		}
		if again, _ := shifted.Next(r.After); again.Slots[0] == q.Slots[0] {
			t.Fatalf("%s is due again", q.Slots[0])
		}
		a, b = p.At, q.At
	}
	if d, _ := shifted.Next(anchor); !strings.Contains(strings.Join(d.Notes(), " "), "the job's jitter") {
		t.Errorf("notes %q", d.Notes())
	}
}

func TestAJitterIsShorterThanThePeriod(t *testing.T) {
	for _, c := range []struct {
		cron string
		by   int64
		ok   bool
	}{
		{"* * * * *", 59, true}, {"* * * * *", 60, false}, {"0 * * * *", 3599, true}, {"0 * * * *", 3600, false},
		{"0 0 1 * *", 86400, true}, {"0 0 1 * *", 86401, false},
	} {
		s := jobspec.Schedule{Cron: c.cron, Timezone: "UTC", JitterSeconds: c.by}
		if err := mustParse(t, c.cron, "UTC").CheckJitter(s); (err == nil) != c.ok || err != nil && jobspec.CodeOf(err) != jobspec.CodeScheduleInvalid {
			t.Errorf("%s with %d s: %v", c.cron, c.by, err)
		}
	}
}
