package calendar

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// Any text in any zone at any time: a refusal in plain ASCII with a hint where
// there is one, or a schedule that goes on, is worded, and answers in time.
func FuzzCron(f *testing.F) {
	for i, seed := range []string{"* * * * *", "30 2 * * *", "@daily", "0 0 29 2 *", "*/7 1-3 */2 jan-mar sat-sun", "TZ=", ", * * * *", "0 0 31 2 7", "5/15 * * * *",
		"0 0 * * fri-mon", "0 0 L * *", "* * * * * *", "30 2 * * * 2026", "every 5m", "02:30", "*/35,7 0-23/3 13 */5 fri", "59 23 31 12 *", "\x00", "0 0 30 2 mon"} {
		f.Add(seed, int64(1774000000)+int64(i)*86400, uint16(i*31))
	}
	all, err := zones()
	if err != nil {
		f.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(all))
	f.Fuzz(func(t *testing.T, expr string, now int64, z uint16) {
		began := time.Now()
		c, err := Parse(expr, names[int(z)%len(names)])
		if err != nil {
			refused, ok := err.(*Error)
			if c != nil || !ok || strings.IndexFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
				t.Fatalf("%q: a refusal comes with a calendar, without words or with raw characters: %v", expr, err)
			}
			if hint := refused.Hint(); strings.Contains(hint, "did you mean") {
				_, meant, _ := strings.Cut(hint, `did you mean "`)
				if _, err := Parse(strings.TrimSuffix(meant, `"?`), "UTC"); err != nil && !strings.Contains(err.Error(), "no day of any year") {
					t.Fatalf("%q: the hint %q is refused: %v", expr, hint, err)
				}
			}
			return
		}
		if c.Words() == "" || c.Gap() < 60 {
			t.Errorf("%q: words %q, gap %d", expr, c.Words(), c.Gap())
		}
		walk(t, c, expr, time.Unix(now%(1<<33), 0))
		c.Warnings()
		if spent := time.Since(began); spent > 2*time.Second {
			t.Errorf("%q: took %v", expr, spent)
		}
	})
}

// walk takes twenty steps. Each is later than the one before, stands for slots
// in their order, and is not due again when the scheduler goes on from its slot.
func walk(t *testing.T, c *Calendar, expr string, at time.Time) {
	t.Helper()
	for range 20 {
		d, ok := c.Next(at)
		if !ok {
			return
		}
		if !d.At.After(at) || len(d.Slots) == 0 || d.Slots[0].Civil > d.At.Format(civilLayout) {
			t.Fatalf("%q %s: next after %v is %v", expr, c.Zone(), at, d)
		}
		for i, s := range d.Slots {
			if i > 0 && d.Slots[i-1].Civil >= s.Civil {
				t.Fatalf("%q %s: slots %v", expr, c.Zone(), d.Slots)
			}
		}
		r, err := c.Resume(d.Slots[len(d.Slots)-1])
		if err != nil || len(r.Rest) != 0 || !r.At.Equal(d.At) {
			t.Fatalf("%q %s: resumed after %v at %v, %v, %v", expr, c.Zone(), d, r.At, r.Rest, err)
		}
		if next, ok := c.NextAt(r.After); ok && !next.After(d.At) {
			t.Fatalf("%q %s: %v is due again after %v", expr, c.Zone(), d, r.After)
		}
		d.Notes()
		at = d.At
	}
}
