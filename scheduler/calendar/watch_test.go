package calendar

import "fmt"

// A watch is a clock on a wall that somebody looks at each minute, as crond does.
// It knows nothing of periods, of Next or of the parser.
type watch struct {
	start int64   // Unix time of the first minute
	civil []int64 // what the clock shows, in minutes since 1970-01-01T00:00
	again []bool  // it has shown that before
	days  map[int64]date
}

type date struct{ year, month, day, weekday int }

// firing is one instant and the slots that are due at it.
type firing struct {
	at    int64
	slots []string
}

// newWatch looks at a zone's clock from one minute on, for so many minutes.
func newWatch(at, offset []int64, start int64, minutes int) watch {
	w := watch{start: start, civil: make([]int64, 0, minutes), again: make([]bool, 0, minutes), days: map[int64]date{}}
	highest, change := int64(-1<<62), 0
	for i := range minutes {
		now := start + int64(i)*60
		for change+1 < len(at) && at[change+1] <= now {
			change++
		}
		civil := (now + offset[change]) / 60
		w.civil = append(w.civil, civil)
		w.again = append(w.again, civil <= highest)
		highest = max(highest, civil)
	}
	w.nameDays()
	return w
}

// nameDays counts from 1970 on, a day at a time.
func (w *watch) nameDays() {
	first, last := w.civil[0]/1440-2, w.civil[len(w.civil)-1]/1440+2
	d := date{1970, 1, 1, 4}
	for n := int64(0); n <= last; n++ {
		if n >= first {
			w.days[n] = d
		}
		d.day, d.weekday = d.day+1, (d.weekday+1)%7
		if d.day > monthLength(d.year, d.month) {
			d.day, d.month = 1, d.month+1
		}
		if d.month > 12 {
			d.month, d.year = 1, d.year+1
		}
	}
}

func (w *watch) slot(civil int64, again bool) string {
	d, of := w.days[civil/1440], civil%1440
	fold := 0
	if again {
		fold = 1
	}
	return fmt.Sprintf("%04d-%02d-%02dT%02d:%02d#%d", d.year, d.month, d.day, of/60, of%60, fold)
}

// fire replays crond: it looks at how far the clock moved since the last minute.
// Beyond three hours that is a correction; up to them, fixed times that were
// skipped are made up for, and those that come again wait.
func (w *watch) fire(m *model) []firing {
	var out []firing
	wild := m.star[0] || m.star[1]
	served := w.civil[0] // the latest minute whose fixed times were served
	for i := 1; i < len(w.civil); i++ {
		now, jump := w.civil[i], w.civil[i]-w.civil[i-1]-1
		if jump > 180 || jump < -180 {
			served = now - 1
		}
		var slots []string
		if wild && m.matches(w, now) {
			slots = append(slots, w.slot(now, w.again[i]))
		}
		for !wild && served < now {
			if served++; m.matches(w, served) {
				slots = append(slots, w.slot(served, false))
			}
		}
		if slots != nil {
			out = append(out, firing{w.start + int64(i)*60, slots})
		}
	}
	return out
}

func (m *model) matches(w *watch, civil int64) bool {
	of := civil % 1440
	if !m.set[0][of%60] || !m.set[1][of/60] {
		return false
	}
	d := w.days[civil/1440]
	if !m.set[3][d.month] {
		return false
	}
	dom, dow := m.set[2][d.day], m.set[4][d.weekday]
	if m.star[2] || m.star[4] {
		return dom && dow
	}
	return dom || dow
}
