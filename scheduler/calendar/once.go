package calendar

import (
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// onceRule is one instant.
type onceRule struct {
	at   int64
	said string // in the zone of the job
}

// once is due at one instant, which must lie behind the anchor and within nine
// years of it.
func once(at jobspec.Instant, anchor time.Time, zone string) (*Calendar, error) {
	in, err := zoneOf(zone)
	if err != nil {
		return nil, err
	}
	t := at.Time().In(in.loc)
	switch {
	case !t.After(anchor):
		return nil, refuse("choose an instant that is yet to come", "it has passed already").in("at", at.String())
	case t.Unix() > anchor.Unix()+horizon:
		return nil, refuse("choose an instant that comes sooner", "it lies more than nine years ahead").in("at", at.String())
	}
	return &Calendar{zone: zone, in: in, rule: onceRule{at: t.Unix(), said: onceWords(t)}}, nil
}

func onceWords(t time.Time) string {
	clock := "15:04"
	if t.Second() != 0 {
		clock = "15:04:05"
	}
	return fmt.Sprintf("once, on %s at %s (UTC%s)", t.Format("2006-01-02"), t.Format(clock), t.Format("-07:00"))
}

func (o onceRule) next(z *zone, after, limit int64) (due, bool) {
	if o.at <= after {
		return due{}, false
	}
	p := periodAt(z, o.at)
	civil, _ := floor(o.at+p.offset, minuteSeconds)
	return due{at: o.at, first: civil, last: civil, count: 1, fold: p.fold(civil)}, o.at <= limit
}

func (o onceRule) slots(d due) []int64 { return []int64{d.first} }

func (o onceRule) gap(*zone) int64 { return horizon }

func (o onceRule) words() string { return o.said }

func (o onceRule) warnings() []Warning { return nil }
