package calendar

import "time"

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
