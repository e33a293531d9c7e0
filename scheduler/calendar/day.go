package calendar

import "time"

// day is a day of the civil calendar that a search goes on from: counting is cheaper
// than asking package time for each of a year's days.
type day struct {
	start int64 // its midnight, in civil seconds
	year  int
	month time.Month
	dom   int // day of the month
	dow   int // of the week, Sunday is 0
}

// dayAt is the day that begins at a civil time.
func dayAt(start int64) day {
	t := time.Unix(start, 0).UTC()
	y, m, d := t.Date()
	return day{start, y, m, d, int(t.Weekday())}
}

// left is how many days of the month follow.
func (d *day) left() int { return monthDays(d.year, d.month) - d.dom }

// skip goes on by some days, at most to the first of the next month.
func (d *day) skip(days int) {
	left := d.left()
	d.start += int64(days) * daySeconds
	d.dow = (d.dow + days) % 7
	d.dom += days
	if days <= left {
		return
	}
	d.dom = 1
	if d.month++; d.month > time.December {
		d.year, d.month = d.year+1, time.January
	}
}

func monthDays(year int, m time.Month) int {
	switch m {
	case time.February:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case time.April, time.June, time.September, time.November:
		return 30
	}
	return 31
}
