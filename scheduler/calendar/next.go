package calendar

import "time"

// cronRule is a cron text, read.
type cronRule struct {
	bits bits
	raw  [5]string
	star [5]bool
}

// correction is the step of a clock from which crond takes it for a correction
// and no longer for daylight saving (crond(8): "less than 3 hours"), in seconds.
const correction = 3 * hourSeconds

func (p *cronRule) wildcard() bool { return p.star[minute] || p.star[hour] }

// next walks the periods of the zone. Inside a period it looks for a civil
// minute; between two periods it looks at what the clocks skip.
func (p *cronRule) next(z *zone, after, limit int64) (due, bool) {
	now := periodAt(z, after)
	civil := ceil(after+1+now.offset, minuteSeconds)
	for {
		civil = max(civil, p.firstPass(now))
		m, ok := p.match(civil, limit+reach)
		if !ok {
			return due{}, false
		}
		if at := m - now.offset; at < now.end {
			return due{at: at, first: m, last: m, count: 1, fold: now.fold(m)}, at <= limit
		}
		then := now.after(z)
		if d, ok := p.inGap(m, now, then); ok {
			return d, d.at <= limit
		}
		civil, now = ceil(now.end+then.offset, minuteSeconds), then
	}
}

// firstPass is the civil time before which a fixed time ran already, in the
// period before.
func (p *cronRule) firstPass(now period) int64 {
	if p.wildcard() || now.before-now.offset > correction {
		return ceil(now.start+now.offset, minuteSeconds)
	}
	return ceil(max(now.repeated(), now.start+now.offset), minuteSeconds)
}

// inGap gathers the fixed times that are skipped between two periods; m is the
// first match after the end of the first of them. They are due when the gap
// ends, together with what is due at that minute anyway.
func (p *cronRule) inGap(m int64, now, then period) (due, bool) {
	end := now.end + then.offset
	if p.wildcard() || then.offset-now.offset > correction || m >= end {
		return due{}, false
	}
	d := due{at: now.end, first: m}
	for ok := true; ok && m <= end; m, ok = p.match(m+minuteSeconds, end) {
		d.last, d.count = m, d.count+1
	}
	return d, true
}

func (p *cronRule) slots(d due) []int64 {
	all := make([]int64, 0, d.count)
	for m, ok := d.first, true; ok; m, ok = p.match(m+minuteSeconds, d.last) {
		all = append(all, m)
	}
	return all
}

// ever reports whether any day of the Gregorian cycle of 400 years matches.
func (p *cronRule) ever() bool {
	from := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	_, ok := p.match(from, from+146097*daySeconds)
	return ok
}

// everyRule is an interval counted from an anchor.
type everyRule struct{ seconds, anchor int64 }

func (e everyRule) next(z *zone, after, limit int64) (due, bool) {
	passed := max(after-e.anchor, 0) / e.seconds
	at := e.anchor + (passed+1)*e.seconds
	p := periodAt(z, at)
	civil, _ := floor(at+p.offset, minuteSeconds)
	return due{at: at, first: civil, last: civil, count: 1, fold: p.fold(civil)}, at <= limit
}

func (e everyRule) slots(d due) []int64 { return []int64{d.first} }

func (e everyRule) gap(*zone) int64 { return e.seconds }

func (e everyRule) warnings() []Warning { return nil }
