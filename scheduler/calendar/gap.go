package calendar

import (
	"fmt"
	"time"
)

// gap looks at one matching day, at the distance between matching days, and at
// two days around each change of offset within two years.
func (p *cronRule) gap(loc *time.Location) int64 {
	const days = 9 * 366
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	least, first, last := p.inDay()
	before := int64(-1)
	for day := int64(0); day < days && least > minuteSeconds; day++ {
		t := time.Unix(from+day*daySeconds, 0).UTC()
		if !p.day(t.Day(), t.Month(), int(t.Weekday())) {
			continue
		}
		if before >= 0 {
			least = min(least, (day-before)*daySeconds-last+first)
		}
		before = day
	}
	for at := periodAt(loc, from).end; at < from+2*366*daySeconds && least > minuteSeconds; at = periodAt(loc, at).end {
		least = min(least, p.gapAround(loc, at))
	}
	return least
}

// inDay returns the smallest distance within a matching day, and its first and
// last second that match.
func (p *cronRule) inDay() (least, first, last int64) {
	least, first, last = horizon, -1, -1
	for s, ok := p.within(0); ok; s, ok = p.within(s + minuteSeconds) {
		if first < 0 {
			first = s
		} else {
			least = min(least, s-last)
		}
		if last = s; least == minuteSeconds {
			return least, first, last
		}
	}
	return least, first, last
}

func (p *cronRule) gapAround(loc *time.Location, at int64) int64 {
	least := int64(horizon)
	before, ok := p.next(loc, at-2*daySeconds, at+2*daySeconds)
	for ok {
		var d due
		if d, ok = p.next(loc, before.at, at+2*daySeconds); ok {
			least, before = min(least, d.at-before.at), d
		}
	}
	return least
}

func (p *cronRule) warnings() []string {
	var all []string
	for i, unit := range map[int]string{minute: "minutes", hour: "hours"} {
		if w := unevenStep(p.raw[i], fields[i].hi+1, unit); w != "" {
			all = append(all, w)
		}
	}
	if len(all) == 2 && all[0] > all[1] {
		all[0], all[1] = all[1], all[0]
	}
	either := !p.star[dayOfMonth] && !p.star[dayOfWeek]
	switch {
	case either && !p.dateExists():
		all = append(all, "the day of month never comes in these months, so only the day of week counts")
	case either:
		all = append(all, "a day matches when the day of month or the day of week does, not only when both do")
	}
	return all
}

// unevenStep tells of "*/n" where n does not divide the field.
func unevenStep(raw string, size int, unit string) string {
	var n int
	if _, err := fmt.Sscanf(raw, "*/%d", &n); err != nil || n == 0 || size%n == 0 {
		return ""
	}
	return fmt.Sprintf("*/%d starts again each %d %s: the last interval has %d instead of %d", n, size, unit, size%n, n)
}

// dateExists reports whether a matching month has a matching day of month.
func (p *cronRule) dateExists() bool {
	lowest := p.list(dayOfMonth)[0]
	for m := 1; m <= 12; m++ {
		longest := time.Date(2000, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day()
		if p.bits.has(month, m) && lowest <= longest {
			return true
		}
	}
	return false
}
