package jobspec

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Window is a part of the week in one time zone, such as "Mon-Fri 01:00-05:00
// Europe/Berlin". The days are those on which it begins; it may pass midnight.
type Window struct {
	Days [7]bool // by time.Weekday
	From int     // minutes after midnight
	To   int     // the first minute that is outside; at most From: on the next day
	Zone string  // IANA name, "UTC" where none was written
}

// dayWords are the names of days, in the order of time.Weekday.
var dayWords = [7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}

// ParseWindow reads "[DAYS] HH:MM-HH:MM [ZONE]". DAYS is a day, a range of days
// or several of them with commas; left out it is every day. Whether the zone
// exists is for who loads the file to say: the zone data is not here.
func ParseWindow(s string) (Window, error) {
	bad := func(detail string) (Window, error) {
		return Window{}, fmt.Errorf("window %s: %s; write it like \"Mon-Fri 01:00-05:00 Europe/Berlin\"", Quote(s), detail)
	}
	w := Window{Zone: DefaultZone}
	parts := strings.Split(s, " ")
	if len(parts) > 0 && !strings.Contains(parts[0], ":") {
		var ok bool
		if w.Days, ok = parseDays(parts[0]); !ok {
			return bad("the days are Mon, Tue, Wed, Thu, Fri, Sat and Sun")
		}
		parts = parts[1:]
	} else {
		w.Days = [7]bool{true, true, true, true, true, true, true}
	}
	if len(parts) == 2 && parts[1] != "" && parts[1] != "Local" {
		w.Zone = parts[1]
		parts = parts[:1]
	}
	if len(parts) != 1 {
		return bad("days, times and zone are set apart by one space each")
	}
	from, to, _ := strings.Cut(parts[0], "-")
	var okFrom, okTo bool
	w.From, okFrom = parseMinute(from)
	w.To, okTo = parseMinute(to)
	if !okFrom || !okTo || w.From == w.To || w.From == 24*60 {
		return bad("the times are two different ones, 00:00 to 24:00")
	}
	return w, nil
}

// parseDays reads "Mon", "Mon-Fri" and "Sat,Sun"; a range may pass the end of
// the week.
func parseDays(s string) (days [7]bool, ok bool) {
	for part := range strings.SplitSeq(s, ",") {
		first, last, ranged := strings.Cut(part, "-")
		a, aok := dayOf(first)
		b, bok := a, aok
		if ranged {
			b, bok = dayOf(last)
		}
		if !aok || !bok {
			return days, false
		}
		for d := a; ; d = (d + 1) % 7 {
			days[d] = true
			if d == b {
				break
			}
		}
	}
	return days, true
}

func dayOf(word string) (int, bool) {
	for i, w := range dayWords {
		if w == word {
			return i, true
		}
	}
	return 0, false
}

// parseMinute reads exactly HH:MM, 00:00 to 24:00.
func parseMinute(s string) (int, bool) {
	if len(s) != 5 || s[2] != ':' || !isDigits(s[:2]) || !isDigits(s[3:]) {
		return 0, false
	}
	h, m := int(s[0]-'0')*10+int(s[1]-'0'), int(s[3]-'0')*10+int(s[4]-'0')
	if m > 59 || h > 24 || h == 24 && m > 0 {
		return 0, false
	}
	return h*60 + m, true
}

// Holds reports whether t lies in the window. Zones are looked up with zone,
// never with the machine's own data, which a variable can replace; where one is
// not found nothing lies in the window.
func (w Window) Holds(t time.Time, zone func(string) (*time.Location, error)) bool {
	where := time.UTC
	if w.Zone != DefaultZone {
		if zone == nil {
			return false
		}
		var err error
		if where, err = zone(w.Zone); err != nil || where == nil {
			return false
		}
	}
	t = t.In(where)
	minute, today := t.Hour()*60+t.Minute(), int(t.Weekday())
	if w.From < w.To {
		return w.Days[today] && minute >= w.From && minute < w.To
	}
	return w.Days[today] && minute >= w.From || w.Days[(today+6)%7] && minute < w.To
}

// Outside reports whether one of the lists of windows of c holds no start at an
// instant, and which, in words. A list of none holds nothing.
func (c Ceiling) Outside(at time.Time, zone func(string) (*time.Location, error)) (list string, outside bool) {
	for _, list := range c.Windows {
		if !slices.ContainsFunc(list, func(w Window) bool { return w.Holds(at, zone) }) {
			return windowsText(list), true
		}
	}
	return "", false
}

// windowsText names a list of windows for people.
func windowsText(list []Window) string {
	var all []string
	for _, w := range list {
		all = append(all, w.String())
	}
	return strings.Join(all, "; ")
}

// String is the form that ParseWindow reads.
func (w Window) String() string {
	var days []string
	for i := range 7 {
		if d := (i + 1) % 7; w.Days[d] { // a week begins on Monday
			days = append(days, dayWords[d])
		}
	}
	return fmt.Sprintf("%s %02d:%02d-%02d:%02d %s", strings.Join(days, ","), w.From/60, w.From%60, w.To/60, w.To%60, w.Zone)
}
