package engine

import (
	"context"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

const (
	maxDays     = 62        // of one question
	maxCounted  = 5_000_000 // dues that one question computes: about a second
	maxDayTimes = 24        // a longer list of a day's times nobody reads
	maxDayNotes = 5
)

// Days counts what comes due on each day, of one job or of all that are in force.
func (e *Engine) Days(ctx context.Context, q api.DaysQuery) ([]api.Day, error) {
	loc, err := calendar.Location(q.Timezone)
	if err != nil {
		return nil, err
	}
	if q.From.IsZero() || !q.From.Before(q.Until) || q.Until.Sub(q.From) > maxDays*24*time.Hour {
		return nil, api.New(jobspec.CodeSpecMalformed, fmt.Sprintf("want a stretch of at most %d days", maxDays))
	}
	jobs, err := e.scheduled(q.Job)
	if err != nil {
		return nil, err
	}
	c := newCounter(loc, q.From, q.Until)
	for _, g := range alike(jobs, q, e.windows()) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := c.add(g); err != nil {
			return nil, err
		}
	}
	return c.answer(), nil
}

// DaysOf counts what comes due of one calendar.
func DaysOf(c *calendar.Calendar, from, until time.Time) ([]api.Day, error) {
	loc, err := calendar.Location(c.Zone())
	if err != nil {
		return nil, err
	}
	count := newCounter(loc, from, until)
	if err := count.add(&group{cal: c, until: until, jobs: 1}); err != nil {
		return nil, err
	}
	return count.answer(), nil
}

// group are jobs that come due at the same instants: they are counted once.
type group struct {
	cal   *calendar.Calendar
	until time.Time
	jobs  int
	name  jobspec.Name // of the first

	outside func(time.Time) (string, bool) // of the windows; nil: there are none
}

func alike(jobs []shown, q api.DaysQuery, closed *windows) []*group {
	type key struct {
		schedule jobspec.Schedule
		anchor   int64
		until    int64
		shift    time.Duration
		bound    jobspec.Principal // whose windows bind it, "" for nobody's
	}
	groups := map[key]*group{}
	var order []*group
	for _, s := range jobs {
		until := q.Until
		if end := s.op.Spec.ExpiresAt.Time(); end.Unix() > 0 && end.Before(until) {
			until = end
		}
		k := key{schedule: s.op.Spec.Schedule, until: until.Unix()}
		k.schedule.Words = ""
		k.shift = calendar.Jitter(s.op.Spec.Schedule, s.SpecOp)
		if k.schedule.EverySeconds > 0 || k.shift > 0 { // only these begin at the op's own time
			k.anchor = s.op.Created.Time().Unix()
		}
		outside := closed.of(s.op.Principal)
		if outside != nil {
			k.bound = s.op.Principal
		}
		if groups[k] == nil {
			c, err := calendar.Of(s.op.Spec.Schedule, s.op.Created.Time(), s.SpecOp)
			if err != nil {
				continue // explain says why
			}
			groups[k] = &group{cal: c, until: until, name: s.Name, outside: outside}
			order = append(order, groups[k])
		}
		groups[k].jobs++
	}
	return order
}

// counter counts by day.
type counter struct {
	loc         *time.Location
	from, until time.Time
	left        int // dues that may still be computed
	days        map[string]*counted
}

type counted struct {
	starts  int64
	jobs    int
	minutes [(24*60 + 63) / 64]uint64
	notes   []string
}

func newCounter(loc *time.Location, from, until time.Time) *counter {
	return &counter{loc: loc, from: from, until: until, left: maxCounted, days: map[string]*counted{}}
}

func (c *counter) add(g *group) error {
	var last *counted
	for at := c.from; ; {
		due, ok := g.cal.Next(at)
		if !ok || !due.At.Before(g.until) {
			return nil
		}
		if c.left--; c.left < 0 {
			return api.New(jobspec.CodeSpecMalformed, fmt.Sprintf("more than %d starts lie in that stretch: ask for one job, or for fewer days", maxCounted))
		}
		at = due.At
		day := c.day(at.In(c.loc))
		if day != last {
			day.jobs += g.jobs
			last = day
		}
		day.starts += int64(g.jobs)
		minute := at.In(c.loc).Hour()*60 + at.In(c.loc).Minute()
		day.minutes[minute/64] |= 1 << (minute % 64)
		due.At, due.Shift = due.At.Add(-due.Shift), 0 // a jitter is nothing unusual
		day.note(g.name, due.Notes())
		if g.outside != nil {
			if list, outside := g.outside(at); outside {
				day.note(g.name, []string{windowNote + list})
			}
		}
	}
}

func (c *counter) day(at time.Time) *counted {
	date := at.Format(time.DateOnly)
	if c.days[date] == nil {
		c.days[date] = &counted{}
	}
	return c.days[date]
}

func (d *counted) note(name jobspec.Name, notes []string) {
	for _, n := range notes {
		if name != "" {
			n = string(name) + ": " + n
		}
		if len(d.notes) < maxDayNotes && !slices.Contains(d.notes, n) {
			d.notes = append(d.notes, n)
		}
	}
}

func (d *counted) times() []string {
	n := 0
	for _, w := range d.minutes {
		n += bits.OnesCount64(w)
	}
	times := []string{}
	if n > maxDayTimes {
		return times
	}
	for m := range 24 * 60 {
		if d.minutes[m/64]&(1<<(m%64)) != 0 {
			times = append(times, fmt.Sprintf("%02d:%02d", m/60, m%60))
		}
	}
	return times
}

func (c *counter) answer() []api.Day {
	out := []api.Day{}
	for _, date := range slices.Sorted(maps.Keys(c.days)) {
		d := c.days[date]
		out = append(out, api.Day{Date: date, Count: d.starts, Jobs: d.jobs, Times: d.times(), Notes: orEmpty(d.notes)})
	}
	return out
}
