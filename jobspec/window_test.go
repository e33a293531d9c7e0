package jobspec

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func berlin(name string) (*time.Location, error) {
	if name != "Europe/Berlin" {
		return nil, errors.New("unknown")
	}
	return time.FixedZone("CET", 3600), nil
}

func TestWindowsHold(t *testing.T) {
	at := func(day int, clock string) time.Time { // November 2026 began on a Sunday
		c, err := time.Parse("15:04", clock)
		if err != nil {
			t.Fatal(err)
		}
		return time.Date(2026, 11, day, c.Hour(), c.Minute(), 30, 0, time.UTC)
	}
	for _, c := range []struct {
		window string
		day    int
		clock  string
		want   bool
	}{
		{"Mon-Fri 01:00-05:00", 2, "01:00", true},
		{"Mon-Fri 01:00-05:00", 2, "00:59", false},
		{"Mon-Fri 01:00-05:00", 2, "04:59", true},
		{"Mon-Fri 01:00-05:00", 2, "05:00", false},
		{"Mon-Fri 01:00-05:00", 1, "02:00", false},
		{"Mon-Fri 01:00-05:00", 7, "02:00", false},
		{"Mon-Fri 01:00-05:00 Europe/Berlin", 2, "00:30", true},
		{"Mon-Fri 01:00-05:00 Europe/Berlin", 2, "04:30", false},
		{"Mon-Fri 01:00-05:00 Mars/Olympus", 2, "02:00", false},
		{"Sat 22:00-02:00", 7, "23:00", true},
		{"Sat 22:00-02:00", 8, "01:59", true},
		{"Sat 22:00-02:00", 7, "01:00", false},
		{"Sat 22:00-02:00", 8, "22:30", false},
		{"Fri-Mon 00:00-24:00", 1, "23:59", true},
		{"Fri-Mon 00:00-24:00", 3, "12:00", false},
		{"00:00-24:00", 3, "12:00", true},
		{"Sat,Sun 12:00-13:00", 8, "12:30", true},
	} {
		w, err := ParseWindow(c.window)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Holds(at(c.day, c.clock), berlin); got != c.want {
			t.Errorf("%s on %d at %s: %v", c.window, c.day, c.clock, got)
		}
		if again, err := ParseWindow(w.String()); err != nil || again != w {
			t.Errorf("%q is read as %+v, %v", w.String(), again, err)
		}
	}
	if w, _ := ParseWindow("01:00-05:00 Europe/Berlin"); w.Holds(at(2, "02:00"), nil) || (Window{}).Holds(at(2, "02:00"), berlin) {
		t.Error("without a zone it holds")
	}
}

func TestTextsThatAreNoWindow(t *testing.T) {
	for _, s := range []string{"", "Mon", "01:00", "01:00-01:00", "1:00-2:00", "01:00-25:00", "24:00-01:00", "01:60-02:00", "mon 01:00-02:00",
		"Mon-Xyz 01:00-02:00", "Mon- 01:00-02:00", "Mon  01:00-02:00", "Mon 01:00-02:00 ", "Mon 01:00-02:00 UTC more", "Mon 01:00-02:00 Local", "Mon 01:00 - 02:00"} {
		if w, err := ParseWindow(s); err == nil {
			t.Errorf("%q is %+v", s, w)
		}
	}
}

func TestARunStartsOnlyInsideAllWindows(t *testing.T) {
	window := func(s string) []Window {
		w, err := ParseWindow(s)
		if err != nil {
			t.Fatal(err)
		}
		return []Window{w}
	}
	for _, c := range []struct {
		windows [][]Window
		want    bool
	}{
		{nil, true},
		{[][]Window{window("12:00-14:00")}, true}, // the good input is at 13:00 UTC
		{[][]Window{window("14:00-15:00")}, false},
		{[][]Window{append(window("14:00-15:00"), window("13:00-13:01")...)}, true},
		{[][]Window{window("12:00-14:00"), window("13:30-14:00")}, false},
		{[][]Window{{}}, false},
	} {
		for _, phase := range phases {
			in := goodInput(t, goodDraft(), goodFacts())
			in.alice(func(a *Ceiling) { a.Windows = c.windows })
			d := Decide(phase, in)
			want := c.want || phase == PhaseAdd || phase == PhaseApply
			if d.Allowed() != want || !want && !slices.Contains(codesOf(d), CodeWindowClosed) {
				t.Errorf("phase %d, %v: %v", phase, c.windows, d.Refusals())
			}
		}
	}
}
