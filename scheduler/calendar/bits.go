package calendar

import (
	"errors"
	"fmt"
	mathbits "math/bits"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// bits are the sets of numbers that a cron text stands for, one bit a number.
type bits [5]uint64

// parseBits turns a checked text into sets. The parser panics on some texts and
// reads others loosely; none of those passes the gate, and recover stands here
// in case one should.
func parseBits(c checked) (b bits, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parser of cron text: %v", p)
		}
	}()
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	parsed, err := parser.Parse(strings.Join(c.text[:], " "))
	if err != nil {
		return bits{}, err
	}
	s, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return bits{}, fmt.Errorf("parser of cron text: unexpected %T", parsed)
	}
	b = bits{minute: s.Minute, hour: s.Hour, dayOfMonth: s.Dom, month: s.Month, dayOfWeek: s.Dow}
	for i := range b {
		// The parser marks a star with bit 63. Our star flags are crond's.
		if b[i] &= 1<<(fields[i].hi+1) - 1; b[i] == 0 {
			return bits{}, errors.New(fields[i].name + " matches nothing")
		}
	}
	return b, nil
}

func (b *bits) has(f, v int) bool { return b[f]&(1<<v) != 0 }

// from is the least number from v on that is in a set, and 64 where there is none.
func (b *bits) from(f, v int) int { return mathbits.TrailingZeros64(b[f] >> v << v) }

func (b *bits) full(f int) bool {
	for v := fields[f].lo; v <= fields[f].top(); v++ {
		if !b.has(f, v) {
			return false
		}
	}
	return true
}

const (
	daySeconds    = 24 * 60 * 60
	hourSeconds   = 60 * 60
	minuteSeconds = 60
)

// day reports whether the day matches: crond's rule with the star flags.
func (p *cronRule) day(dom int, m time.Month, dow int) bool {
	if !p.bits.has(month, int(m)) {
		return false
	}
	a, b := p.bits.has(dayOfMonth, dom), p.bits.has(dayOfWeek, dow)
	if p.star[dayOfMonth] || p.star[dayOfWeek] {
		return a && b
	}
	return a || b
}

// match returns the first matching civil minute not before civil and not after
// limit. Civil times are seconds since 1970-01-01T00:00 of a clock that never
// changes its offset.
func (p *cronRule) match(civil, limit int64) (int64, bool) {
	start, within := floor(civil, daySeconds)
	for d := dayAt(start); d.start <= limit; within = 0 {
		if !p.bits.has(month, int(d.month)) {
			d.skip(d.left() + 1)
			continue
		}
		if p.day(d.dom, d.month, d.dow) {
			if s, ok := p.within(within); ok {
				return d.start + s, d.start+s <= limit
			}
		}
		d.skip(p.idle(&d))
	}
	return 0, false
}

// idle is after how many days the next one may match, at most up to the first of the
// next month. Where a star joins the two day fields, the day of the month must match.
func (p *cronRule) idle(d *day) int {
	if !p.star[dayOfMonth] && !p.star[dayOfWeek] {
		return 1
	}
	return min(p.bits.from(dayOfMonth, d.dom+1)-d.dom, d.left()+1)
}

// within returns the first matching minute of a day from second s of it on.
func (p *cronRule) within(s int64) (int64, bool) {
	s += (minuteSeconds - s%minuteSeconds) % minuteSeconds
	h, m := int(s/hourSeconds), int(s%hourSeconds/minuteSeconds)
	if p.bits.has(hour, h) {
		if m = p.bits.from(minute, m); m <= 59 {
			return int64(h*hourSeconds + m*minuteSeconds), true
		}
	}
	if h = p.bits.from(hour, h+1); h <= 23 {
		return int64(h*hourSeconds + p.bits.from(minute, 0)*minuteSeconds), true
	}
	return 0, false
}

// floor splits n into a multiple of unit and a rest that is not negative.
func floor(n, unit int64) (base, rest int64) {
	rest = ((n % unit) + unit) % unit
	return n - rest, rest
}

func ceil(n, unit int64) int64 {
	base, rest := floor(n, unit)
	if rest == 0 {
		return base
	}
	return base + unit
}
