package calendar

import "time"

// gapDays is how far gap looks, in days from 2026 on. The years are fixed, so
// that the same schedule has the same gap whenever it is asked for.
const gapDays = 9 * 366

// gap looks at one matching day, at the distance between matching days, and at
// what comes before and after each change of offset.
func (p *cronRule) gap(loc *time.Location) int64 {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	least, first, last := p.inDay()
	before := int64(-1)
	for day := int64(0); day < gapDays && least > minuteSeconds; day++ {
		t := time.Unix(from+day*daySeconds, 0).UTC()
		if !p.day(t.Day(), t.Month(), int(t.Weekday())) {
			continue
		}
		if before >= 0 {
			least = min(least, (day-before)*daySeconds-last+first)
		}
		before = day
	}
	for at := periodAt(loc, from).end; at < from+gapDays*daySeconds && least > minuteSeconds; at = periodAt(loc, at).end {
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

// gapAround measures the distances that a change of offset has a part in: from
// the last due before it to the first after it, and on to the second, since the
// first may be one that the clocks skipped. All others are those of a plain day.
func (p *cronRule) gapAround(loc *time.Location, at int64) int64 {
	least := int64(horizon)
	before, known := p.lastBefore(loc, at)
	after := at - 1
	for range 2 {
		d, ok := p.next(loc, after, at+2*daySeconds)
		if !ok {
			break
		}
		if known {
			least = min(least, d.at-before.at)
		}
		before, known, after = d, true, d.at
	}
	return least
}

// lastBefore is the last due before an instant, within two days.
func (p *cronRule) lastBefore(loc *time.Location, at int64) (last due, ok bool) {
	for _, back := range []int64{hourSeconds, daySeconds, 2 * daySeconds} {
		d, found := p.next(loc, at-back-1, at-1)
		for ; found; d, found = p.next(loc, d.at, at-1) {
			last, ok = d, true
		}
		if ok {
			return last, true
		}
	}
	return due{}, false
}
