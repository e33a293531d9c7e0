package calendar

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
)

// model is a schedule held as sets, with its text made from them: it shares no
// code with the parser, with Next or with the zone's periods.
type model struct {
	text string
	set  [5][60]bool
	star [5]bool
}

func randomModel(r *rand.Rand) model {
	var m model
	var parts []string
	for f, b := range [5]struct{ lo, hi, wild int }{{0, 59, 3}, {0, 23, 3}, {1, 31, 7}, {1, 12, 8}, {0, 6, 6}} {
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
				if f == 1 && r.IntN(4) > 0 {
					v = r.IntN(5) // where zones change their offset
				}
				m.set[f][v] = true
				items = append(items, strconv.Itoa(v))
			}
			part = strings.Join(items, ",")
		default:
			lo := b.lo + r.IntN(b.hi-b.lo)
			hi := lo + 1 + r.IntN(b.hi-lo)
			n := 1 + r.IntN(hi-lo)
			part = fmt.Sprintf("%d-%d/%d", lo, hi, n)
			m.fill(f, lo, hi, n)
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

func (m *model) count(f int) int {
	n := 0
	for _, in := range m.set[f] {
		if in {
			n++
		}
	}
	return n
}

func soak() bool { return os.Getenv("SBXCRON_TEST_SOAK") == "1" }

// zoneFiles are all zones of the embedded archive, by the archive's own list.
func zoneFiles(t testing.TB) map[string]tzif {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(zoneinfo), int64(len(zoneinfo)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]tzif{}
	for _, f := range archive.File {
		if !strings.HasSuffix(f.Name, "/") && f.Name != "Factory" {
			all[f.Name] = readTZif(t, f)
		}
	}
	return all
}

// tally counts what was compared.
type tally struct{ zones, windows, specs, fired, asked, odd int }

// All zones change their offset in 2024 to 2030, with random schedules,
// around its changes and at the turn of a leap year: what Next says is what a
// clock that is watched minute by minute sees. CI takes one change a zone.
func TestNextAgreesWithAClockThatIsWatchedMinuteByMinute(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(7, seed))
	var n tally
	for name, z := range zoneFiles(t) {
		at, offset := z.changesIn(2024, 2030)
		if len(at) == 1 {
			continue
		}
		n.zones++
		windows, specs := append(at[1:len(at):len(at)], dayNumber(2028, 3)*86400, dayNumber(2029, 1)*86400), 20
		if !soak() {
			k := r.IntN(len(windows))
			windows, specs = windows[k:k+1], 4
		}
		for _, change := range windows {
			compareAround(t, r, &n, name, at, offset, change, specs)
		}
	}
	least := tally{zones: 150, fired: 10_000, odd: 50}
	if soak() {
		least.fired, least.odd = 1_000_000, 10_000
	}
	t.Logf("%d zones, %d windows of 60 hours, %d schedules, %d firings (%d of several slots or of a second pass), %d other instants: no difference",
		n.zones, n.windows, n.specs, n.fired, n.odd, n.asked)
	if n.zones < least.zones || n.fired < least.fired || n.odd < least.odd {
		t.Errorf("compared %+v, want at least %+v", n, least)
	}
}

func compareAround(t *testing.T, r *rand.Rand, n *tally, zone string, at, offset []int64, change int64, specs int) {
	t.Helper()
	w := newWatch(at, offset, change-change%60-30*3600, 60*60)
	n.windows++
	for range specs {
		m := randomModel(r)
		if c, err := Parse(m.text, zone); err == nil { // else a date that never comes
			n.specs++
			compare(t, r, n, c, &w, &m)
		}
	}
}

// compare walks from firing to firing, and asks from instants in between.
func compare(t *testing.T, r *rand.Rand, n *tally, c *Calendar, w *watch, m *model) {
	t.Helper()
	want := w.fire(m)
	end := w.start + int64(len(w.civil))*60
	check := func(after int64, f *firing) {
		d, ok := c.Next(time.Unix(after, 0))
		if !ok || d.At.Unix() >= end {
			if f != nil {
				t.Fatalf("%s %q after %d: nothing, want %v", c.Zone(), m.text, after, *f)
			}
			return
		}
		if f == nil || d.At.Unix() != f.at || !sameSlots(d, f.slots) {
			t.Fatalf("%s %q after %d: %d %v, want %v", c.Zone(), m.text, after, d.At.Unix(), d.Slots, f)
		}
	}
	// The watch serves nothing in its first minute.
	last := w.start + 59
	for i := range want {
		check(last, &want[i])
		last = want[i].at
		if len(want[i].slots) > 1 || strings.HasSuffix(want[i].slots[0], "#1") {
			n.odd++
		}
	}
	check(last, nil)
	n.fired += len(want)
	for range 6 {
		after := w.start + 60 + r.Int64N(end-w.start-60)
		i := sort.Search(len(want), func(i int) bool { return want[i].at > after })
		n.asked++
		if i == len(want) {
			check(after, nil)
		} else {
			check(after, &want[i])
		}
	}
}

func sameSlots(d Due, want []string) bool {
	if len(d.Slots) != len(want) {
		return false
	}
	for i, s := range d.Slots {
		if s.Civil+"#"+strconv.Itoa(s.Fold) != want[i] {
			return false
		}
	}
	return true
}

// The zones that surprise, watched without a break: seven years, and the year in
// which Samoa left out a day.
func TestNextAgreesWithAClockThatIsWatchedForYears(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(11, seed))
	files, specs := zoneFiles(t), 2
	if soak() {
		specs = 24
	}
	var n tally
	named := []string{"Australia/Lord_Howe", "Africa/Cairo", "Asia/Beirut", "America/Santiago", "America/Havana", "Pacific/Apia",
		"Antarctica/Troll", "Africa/Casablanca", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "UTC"}
	once := named[r.IntN(len(named))] // seven years in CI
	for _, zone := range named {
		for _, years := range [][2]int{{2011, 2012}, {2024, 2030}} {
			if years[0] == 2024 && !soak() && zone != once {
				continue
			}
			at, offset := files[zone].changesIn(years[0], years[1])
			w := newWatch(at, offset, at[0], int(dayNumber(years[1]+1, 1)-dayNumber(years[0], 1))*1440)
			n.zones++
			for done := 0; done < specs; {
				m := randomModel(r)
				if daily := m.count(0) * m.count(1); daily > 200 || daily > 24 && !soak() {
					continue // millions of firings
				}
				if c, err := Parse(m.text, zone); err == nil {
					compare(t, r, &n, c, &w, &m)
					done++
				}
			}
		}
	}
	t.Logf("%d stretches of 2 or 7 years, %d firings (%d odd): no difference", n.zones, n.fired, n.odd)
	if n.fired < 2_000 {
		t.Errorf("only %d firings compared", n.fired)
	}
}
