package calendar

import "time"

// gapDays is how far gap looks, in days from 2026 on. The years are fixed, so
// that the same schedule has the same gap whenever it is asked for.
const gapDays = 9 * 366

// gap looks at one matching day, at the distance between matching days, and at
// what comes before and after each change of offset.
func (p *cronRule) gap(z *zone) int64 {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	least, first, last := p.inDay()
	least = min(least, p.gapOfDays(from, least, first, last))
	for now := periodAt(z, from); now.end < from+gapDays*daySeconds && least > minuteSeconds; {
		then := now.after(z)
		if now.offset != then.offset { // else a cut at the turn of the year
			least = min(least, p.gapAround(z, now.end, least))
		}
		now = then
	}
	return least
}

// gapOfDays is the least distance from the last minute of a matching day to the
// first of the next one. It stops at what cannot matter any more.
func (p *cronRule) gapOfDays(from, least, first, last int64) int64 {
	neighbours := daySeconds - last + first
	if least <= neighbours {
		return least
	}
	before := int64(-1)
	for day := int64(0); day < gapDays && least > neighbours; day++ {
		t := time.Unix(from+day*daySeconds, 0).UTC()
		if !p.day(t.Day(), t.Month(), int(t.Weekday())) {
			continue
		}
		if before >= 0 {
			least = min(least, (day-before-1)*daySeconds+neighbours)
		}
		before = day
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
// first may be one that the clocks skipped. All others are those of plain days,
// and what lies further away than the least of those cannot be nearer.
func (p *cronRule) gapAround(z *zone, at, least int64) int64 {
	before, known := p.lastBefore(z, at, least)
	after := at - 1
	for range 2 {
		d, ok := p.next(z, after, at+2*least)
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

// lastBefore is the last due before an instant, within so many seconds.
func (p *cronRule) lastBefore(z *zone, at, within int64) (last due, ok bool) {
	d, found := p.next(z, at-within-1, at-1)
	for ; found; d, found = p.next(z, d.at, at-1) {
		last, ok = d, true
	}
	return last, ok
}
