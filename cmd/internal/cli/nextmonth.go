package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/cmd/internal/ui"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// month is a month in a zone, and how often something comes due on its days.
type month struct {
	first time.Time // the first day at 00:00
	from  time.Time // what lies before it is not counted
	days  map[string]api.Day
}

// nextMonth shows what is still to come of a month.
func (a *App) nextMonth(ctx context.Context, o nextOptions, from time.Time) error {
	if o.expr != "" {
		c, err := a.exprCalendar(o)
		if err != nil {
			return err
		}
		m, err := a.monthOf(o.month, c.Zone(), from)
		if err != nil {
			return err
		}
		days, err := engine.DaysOf(c, m.from.Add(-time.Second), m.end())
		return a.printMonth(m, days, err)
	}
	return a.service(ctx, func(svc api.Service) error {
		zone, err := a.zoneOf(ctx, svc, o)
		if err != nil {
			return err
		}
		m, err := a.monthOf(o.month, zone, from)
		if err != nil {
			return err
		}
		// The stretch begins a second sooner, since what is due at its begin is not in it.
		days, err := svc.Days(ctx, api.DaysQuery{Job: o.job, Timezone: zone, From: m.from.Add(-time.Second), Until: m.end()})
		return a.printMonth(m, days, err)
	})
}

// zoneOf is where days are counted: what was asked for, the zone of the one job, the
// machine's.
func (a *App) zoneOf(ctx context.Context, svc api.Service, o nextOptions) (string, error) {
	if o.timezone != "" {
		return o.timezone, nil
	}
	if o.job == "" {
		return cmp.Or(a.Ports.Zone(), "UTC"), nil
	}
	j, err := svc.Listed(ctx, o.job)
	return cmp.Or(j.Timezone, "UTC"), err
}

func (a *App) monthOf(text, zone string, from time.Time) (month, error) {
	loc, err := calendar.Location(zone)
	if err != nil {
		return month{}, err
	}
	if from.IsZero() {
		from = a.Now()
	}
	from = from.In(loc)
	first := time.Date(from.Year(), from.Month(), 1, 0, 0, 0, 0, loc)
	if text != thisMonth {
		t, err := time.ParseInLocation("2006-01", text, loc)
		if err != nil || t.Year() < 1970 {
			return month{}, usageError("--month %q: want a month such as 2027-03, written --month=2027-03", text)
		}
		first = t
	}
	m := month{first: first, from: first}
	if from.After(first) {
		m.from = from
	}
	if !m.from.Before(m.end()) {
		return month{}, usageError("--month %s is over: sbxcron history shows what ran", first.Format("2006-01"))
	}
	return m, nil
}

func (m month) end() time.Time {
	return time.Date(m.first.Year(), m.first.Month()+1, 1, 0, 0, 0, 0, m.first.Location())
}

func (a *App) printMonth(m month, days []api.Day, err error) error {
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.items("month", days)
	}
	m.days = map[string]api.Day{}
	for _, d := range days {
		m.days[d.Date] = d
	}
	for _, l := range m.lines(a.UI.Width) {
		a.line("%s", l)
	}
	for _, d := range days {
		for _, n := range d.Notes {
			a.line("%s: %s", d.Date, n)
		}
	}
	return nil
}

// A cell holds "31 1440x"; seven of them are as wide as the narrowest terminal that
// a grid is drawn on. The widest is that of 80 columns, which is also taken where
// nobody knows the width.
const (
	leastCell = 9
	mostCell  = 11
	cellTimes = 6 // a day of more different times shows their number only
)

// lines draws the grid, or a list where the terminal is too narrow for one.
func (m month) lines(width int) []string {
	cell := mostCell
	if width > 0 {
		cell = min(width/7, mostCell)
	}
	head := fmt.Sprintf("%s, %s", m.first.Format("January 2006"), m.first.Location())
	if cell < leastCell {
		return append([]string{head}, m.list()...)
	}
	var all []string
	var names strings.Builder
	for d := range 7 {
		fmt.Fprintf(&names, "%-*s", cell, time.Weekday((d + 1) % 7).String()[:3])
	}
	all = append(all, head, strings.TrimRight(names.String(), " "))
	blank := (int(m.first.Weekday()) + 6) % 7 // a week begins on Monday
	for start := 1 - blank; start <= m.last(); start += 7 {
		all = append(all, m.week(start, cell)...)
	}
	return all
}

func (m month) last() int { return m.end().AddDate(0, 0, -1).Day() }

// week is a row of days, as high as its longest list of times.
func (m month) week(start, cell int) []string {
	height := 1
	for day := start; day < start+7; day++ {
		height = max(height, 1+len(m.shown(day)))
	}
	rows := make([]string, height)
	for i := range rows {
		var b strings.Builder
		for day := start; day < start+7; day++ {
			text := ""
			if times := m.shown(day); i == 0 {
				text = m.label(day)
			} else if i <= len(times) {
				text = "   " + times[i-1]
			}
			fmt.Fprintf(&b, "%-*s", cell, text)
		}
		rows[i] = strings.TrimRight(b.String(), " ")
	}
	return rows
}

// label is a day's number and how often something comes due on it: "-" for never,
// nothing where the day is over.
func (m month) label(day int) string {
	switch {
	case day < 1 || day > m.last():
		return ""
	case m.over(day):
		return fmt.Sprintf("%2d", day)
	}
	d, ok := m.days[m.date(day)]
	if !ok {
		return fmt.Sprintf("%2d -", day)
	}
	return fmt.Sprintf("%2d %s", day, often(d.Count))
}

// often is a count in at most five characters.
func often(n int64) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%dMx", n/1_000_000)
	case n >= 10_000:
		return fmt.Sprintf("%dkx", n/1000)
	}
	return fmt.Sprintf("%dx", n)
}

func (m month) over(day int) bool {
	return !time.Date(m.first.Year(), m.first.Month(), day+1, 0, 0, 0, 0, m.first.Location()).After(m.from)
}

func (m month) date(day int) string {
	return time.Date(m.first.Year(), m.first.Month(), day, 12, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// shown are the times of a day that fit below its number.
func (m month) shown(day int) []string {
	if day < 1 || day > m.last() {
		return nil
	}
	if t := m.days[m.date(day)].Times; len(t) <= cellTimes {
		return t
	}
	return nil
}

// list is a line a day.
func (m month) list() []string {
	var all []string
	for day := 1; day <= m.last(); day++ {
		if m.over(day) {
			continue
		}
		name := time.Date(m.first.Year(), m.first.Month(), day, 12, 0, 0, 0, time.UTC).Weekday().String()[:3]
		all = append(all, ui.Escape(strings.TrimRight(fmt.Sprintf("%s %s %s", name, m.label(day), strings.Join(m.shown(day), " ")), " ")))
	}
	return all
}
