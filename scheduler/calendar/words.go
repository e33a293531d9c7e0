package calendar

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// words says the rule as a person would.
func (p *cronRule) words() string {
	clock, often := p.clockWords()
	days := p.dayWords()
	switch {
	case often && days == "":
		return clock
	case often:
		return clock + " " + days
	case days == "":
		return "every day " + clock
	}
	return days + " " + clock
}

// clockWords says the time of day; often means that it speaks for itself and
// needs no "every day".
func (p *cronRule) clockWords() (text string, often bool) {
	minutes, hours := p.list(minute), p.list(hour)
	allMinutes, allHours := p.bits.full(minute), p.bits.full(hour)
	step := everyStep(p.raw[minute], 60)
	switch {
	case allMinutes && allHours:
		return "every minute", true
	case allMinutes:
		return "every minute from " + hourWords(hours), true
	case step > 0 && allHours:
		return fmt.Sprintf("every %d minutes", step), true
	case step > 0:
		return fmt.Sprintf("every %d minutes from %s", step, hourWords(hours)), true
	case len(minutes)*len(hours) <= 6:
		return "at " + join(clockTimes(hours, minutes), "and"), false
	case allHours && len(minutes) == 1 && minutes[0] == 0:
		return "every hour on the hour", true
	case allHours:
		return minuteWords(minutes) + " of every hour", true
	}
	if n := everyStep(p.raw[hour], 24); n > 0 && len(minutes) == 1 {
		return fmt.Sprintf("%s of every %s hour from 00 on", minuteWords(minutes), ordinal(n)), true
	}
	return minuteWords(minutes) + " from " + hourWords(hours), true
}

// everyStep is n for a field "*/n" whose steps are even.
func everyStep(raw string, size int) int {
	digits, ok := strings.CutPrefix(raw, "*/")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 2 || size%n != 0 {
		return 0
	}
	return n
}

func clockTimes(hours, minutes []int) []string {
	var all []string
	for _, h := range hours {
		for _, m := range minutes {
			all = append(all, fmt.Sprintf("%02d:%02d", h, m))
		}
	}
	return all
}

func minuteWords(minutes []int) string {
	if len(minutes) == 1 {
		return fmt.Sprintf("at minute %d", minutes[0])
	}
	return "at minutes " + join(ranges(minutes, strconv.Itoa), "and")
}

// hourWords says during which hours, with the last minute of each stretch.
func hourWords(hours []int) string {
	var all []string
	for _, r := range stretches(hours) {
		all = append(all, fmt.Sprintf("%02d:00 to %02d:59", r[0], r[1]))
	}
	return join(all, "and")
}

// dayWords says on which days, or "" for every day.
func (p *cronRule) dayWords() string {
	anyDate, anyWeekday, anyMonth := p.bits.full(dayOfMonth), p.bits.full(dayOfWeek), p.bits.full(month)
	both := p.star[dayOfMonth] || p.star[dayOfWeek]
	if !both && (anyDate || anyWeekday) {
		anyDate, anyWeekday = true, true
	}
	date := "on day " + join(ranges(p.list(dayOfMonth), strconv.Itoa), "and")
	weekday := "on " + join(ranges(p.list(dayOfWeek), func(d int) string { return time.Weekday(d).String() }), "and")
	of := " of the month"
	if !anyMonth {
		of = " of " + p.monthWords()
	}
	switch {
	case anyDate && anyWeekday && anyMonth:
		return ""
	case anyDate && anyWeekday:
		return "every day in " + p.monthWords()
	case anyWeekday:
		return date + of
	case anyDate && anyMonth:
		return weekday
	case anyDate:
		return weekday + " in " + p.monthWords()
	case both:
		return weekday + " that is also " + strings.TrimPrefix(date, "on ") + of
	case anyMonth:
		return date + of + " or " + weekday
	}
	return date + of + " or " + weekday + " in " + p.monthWords()
}

func (p *cronRule) monthWords() string {
	return join(ranges(p.list(month), func(m int) string { return time.Month(m).String() }), "and")
}

// list holds the numbers of a field in order, Sunday first.
func (p *cronRule) list(f int) []int {
	var all []int
	for v := fields[f].lo; v <= fields[f].top(); v++ {
		if p.bits.has(f, v) {
			all = append(all, v)
		}
	}
	return all
}

// stretches groups neighbouring numbers.
func stretches(numbers []int) [][2]int {
	var all [][2]int
	for _, n := range numbers {
		if k := len(all); k > 0 && all[k-1][1] == n-1 {
			all[k-1][1] = n
			continue
		}
		all = append(all, [2]int{n, n})
	}
	return all
}

// ranges writes a list, three and more neighbours as "a to b".
func ranges(numbers []int, say func(int) string) []string {
	var all []string
	for _, r := range stretches(numbers) {
		switch r[1] - r[0] {
		case 0:
			all = append(all, say(r[0]))
		case 1:
			all = append(all, say(r[0]), say(r[1]))
		default:
			all = append(all, say(r[0])+" to "+say(r[1]))
		}
	}
	return all
}

func join(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

func ordinal(n int) string {
	if n == 2 {
		return "2nd"
	}
	if n == 3 {
		return "3rd"
	}
	return strconv.Itoa(n) + "th"
}

// words of an interval, in the largest unit that divides it.
func (e everyRule) words() string {
	for _, u := range []struct {
		seconds int64
		name    string
	}{{daySeconds, "day"}, {hourSeconds, "hour"}, {minuteSeconds, "minute"}} {
		if n := e.seconds / u.seconds; n > 1 && e.seconds%u.seconds == 0 {
			return fmt.Sprintf("every %d %ss", n, u.name)
		} else if n == 1 && e.seconds == u.seconds {
			return "every " + u.name
		}
	}
	return fmt.Sprintf("every %d seconds", e.seconds)
}
