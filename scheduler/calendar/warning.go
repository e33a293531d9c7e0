package calendar

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// WarningCode is the stable name of a warning.
type WarningCode string

// The warnings that there are.
const (
	WarnStepUneven    WarningCode = "step_uneven"     // the last interval of a step is shorter
	WarnDaysEither    WarningCode = "days_either"     // both day fields are restricted, and either suffices
	WarnDateNever     WarningCode = "date_never"      // the day of month never comes, so only the weekday counts
	WarnMonthsLeftOut WarningCode = "months_left_out" // a month that is named has no day that matches
	WarnZoneOld       WarningCode = "zone_old"        // the zone is a name for old systems
	WarnZoneSign      WarningCode = "zone_sign"       // the sign of the zone's name is the opposite of an offset's
)

// Warning is something that is allowed and that a writer may not expect.
type Warning struct {
	Code WarningCode `json:"code"`
	Text string      `json:"text"` // one plain sentence
}

// String is the sentence.
func (w Warning) String() string { return w.Text }

func warn(code WarningCode, format string, args ...any) Warning {
	return Warning{Code: code, Text: fmt.Sprintf(format, args...)}
}

// WarningData tells what a writer may not expect, in the order of the fields.
func (c *Calendar) WarningData() []Warning {
	return append(c.rule.warnings(), zoneWarnings(c.zone)...)
}

// Warnings are the sentences of WarningData.
func (c *Calendar) Warnings() []string {
	var all []string
	for _, w := range c.WarningData() {
		all = append(all, w.Text)
	}
	return all
}

// Apart says how close two starts may come: "at least 23h30m lie between two
// starts". It is empty when a second start is beyond the horizon.
func (c *Calendar) Apart() string {
	gap := c.Gap()
	if gap >= horizon {
		return ""
	}
	return fmt.Sprintf("at least %s lie between two starts", jobspec.FormatSpan(time.Duration(gap)*time.Second))
}

func (p *cronRule) warnings() []Warning {
	var all []Warning
	for f := range fields {
		if text := p.unevenStep(f); text != "" {
			all = append(all, warn(WarnStepUneven, "%s", text))
		}
	}
	either := !p.star[dayOfMonth] && !p.star[dayOfWeek]
	switch months := p.monthsLeftOut(); {
	case either && !p.dateExists():
		all = append(all, warn(WarnDateNever, "the day of month never comes in these months, so only the day of week counts"))
	case either:
		all = append(all, warn(WarnDaysEither, "a day matches when the day of month or the day of week does, not only when both do"))
	case months != "":
		all = append(all, warn(WarnMonthsLeftOut, "no day matches in %s", months))
	}
	return all
}

// unevenStep tells of "*/n" where n does not divide what the field counts.
func (p *cronRule) unevenStep(f int) string {
	digits, stepped := strings.CutPrefix(p.raw[f], "*/")
	n, err := strconv.Atoi(digits)
	if !stepped || err != nil || n < 2 {
		return "" // a list says itself what it is
	}
	size := fields[f].top() - fields[f].lo + 1
	switch {
	case f == dayOfMonth:
		return fmt.Sprintf("*/%d starts again on day 1 of each month, so two days can come closer than %d", n, n)
	case size%n == 0:
		return ""
	}
	unit := [...]string{minute: "minutes", hour: "hours", month: "months", dayOfWeek: "days"}[f]
	return fmt.Sprintf("*/%d starts again each %d %s: the last interval has %d instead of %d", n, size, unit, size%n, n)
}

// dateExists reports whether a matching month has a matching day of month.
func (p *cronRule) dateExists() bool {
	lowest := p.list(dayOfMonth)[0]
	for _, m := range p.list(month) {
		if lowest <= longest(m) {
			return true
		}
	}
	return false
}

// monthsLeftOut names the matching months whose days all lie below the lowest
// matching day of month.
func (p *cronRule) monthsLeftOut() string {
	lowest := p.list(dayOfMonth)[0]
	var never []string
	for _, m := range p.list(month) {
		switch {
		case lowest > longest(m):
			never = append(never, time.Month(m).String())
		case lowest == longest(m) && m == int(time.February):
			never = append(never, "February of a year of 365 days")
		}
	}
	return join(never, "and")
}

// longest is the number of days of a month in a leap year.
func longest(m int) int { return time.Date(2000, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day() }

// zoneWarnings tells of names that do not mean what they seem to.
func zoneWarnings(name string) []Warning {
	if sign, ok := strings.CutPrefix(name, "Etc/GMT"); ok && len(sign) > 1 && sign[1:] != "0" {
		side := map[byte]string{'+': "west", '-': "east"}[sign[0]]
		return []Warning{warn(WarnZoneSign, "%s is %s hours %s of UTC: the sign is the opposite of an offset's", name, sign[1:], side)}
	}
	if strings.Contains(name, "/") || name == "UTC" {
		return nil
	}
	return []Warning{warn(WarnZoneOld, "%s is an old name without a place; a name such as America/New_York follows the place's daylight saving", name)}
}
