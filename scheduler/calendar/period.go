package calendar

import (
	"math"
	"time"
)

// period is a stretch of time in which a zone keeps one offset from UTC. Inside
// it civil time runs evenly, so a zone is a chain of periods with gaps (the
// offset grows) and folds (it shrinks) between them. Two neighbours may have the
// same offset: Go cuts periods at the turn of the year.
type period struct {
	start, end int64 // Unix time, end excluded
	offset     int64 // seconds east of UTC
	before     int64 // offset just before start
}

func readPeriod(loc *time.Location, at int64) period {
	t := time.Unix(at, 0).In(loc)
	_, offset := t.Zone()
	p := period{start: math.MinInt64, end: math.MaxInt64, offset: int64(offset), before: int64(offset)}
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		p.start = start.Unix()
		_, before := start.Add(-time.Second).Zone()
		p.before = int64(before)
	}
	if !end.IsZero() {
		p.end = end.Unix()
	}
	if p.end <= at {
		// Where a zone follows a yearly rule, Go 1.26 ends its last period of a
		// year 365 days after the first of January, which on 31 December of a
		// leap year has passed (time/zoneinfo.go, tzset). The rule holds until
		// the year ends in UTC.
		p.end = time.Date(t.UTC().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	return p
}

// after is the period that follows; p must end.
func (p period) after(z *zone) period { return periodAt(z, p.end) }

// repeated is the civil time up to which this period repeats the one before it,
// or the smallest number.
func (p period) repeated() int64 {
	if p.before <= p.offset {
		return math.MinInt64
	}
	return p.start + p.before
}

// fold is 1 for a civil time that this period shows for the second time.
func (p period) fold(civil int64) int {
	if civil < p.repeated() {
		return 1
	}
	return 0
}

// reach is more than any zone was ever away from UTC, in seconds.
const reach = 26 * hourSeconds

// instants returns when a zone's clocks show a civil time: never, once or twice.
// For a time that is skipped, end is when the gap ends.
func instants(z *zone, civil int64) (at []int64, end int64) {
	for p := periodAt(z, civil-reach); ; p = p.after(z) {
		if t := civil - p.offset; p.start <= t && t < p.end {
			at = append(at, t)
		}
		if p.end >= civil+reach {
			return at, end
		}
		if next := periodAt(z, p.end); civil-p.offset >= p.end && civil-next.offset < p.end {
			end = p.end
		}
	}
}
