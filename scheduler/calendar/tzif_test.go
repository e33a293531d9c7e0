package calendar

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// This reads zone files a second time, by RFC 8536 and with nothing of the time
// package, so that the clock which Next is held against shares no code with it.

// tzif is what a zone file says: changes of offset, and a rule for later years.
type tzif struct {
	at     []int64
	offset []int64 // from at[i] on
	rule   posixRule
}

type posixRule struct {
	std, dst   int64
	start, end yearDay // of daylight saving; zero where there is none
}

// yearDay is "Mm.w.d/time": weekday d of week w (5 is the last) of month m.
type yearDay struct {
	month, week, day int
	time             int64
}

func readTZif(t testing.TB, f *zip.File) tzif {
	t.Helper()
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil || len(data) < 88 || string(data[:4]) != "TZif" || data[4] < '2' {
		t.Fatalf("%s: %v, or no zone file of version 2", f.Name, err)
	}
	n := tzifCounts(data)
	data = data[44+n.times*5+n.types*6+n.chars+n.leaps*8+n.std+n.utc:]
	n, data = tzifCounts(data), data[44:]
	var z tzif
	types := data[n.times*9:]
	for i := range n.times {
		z.at = append(z.at, int64(binary.BigEndian.Uint64(data[i*8:])))
		kind := int(data[n.times*8+i])
		z.offset = append(z.offset, int64(int32(binary.BigEndian.Uint32(types[kind*6:]))))
	}
	foot := types[n.types*6+n.chars+n.leaps*12+n.std+n.utc:]
	z.rule = readPOSIX(t, string(bytes.Trim(foot, "\n")))
	return z
}

type tzifHeader struct{ utc, std, leaps, times, types, chars int }

func tzifCounts(data []byte) tzifHeader {
	at := func(i int) int { return int(binary.BigEndian.Uint32(data[20+4*i:])) }
	return tzifHeader{utc: at(0), std: at(1), leaps: at(2), times: at(3), types: at(4), chars: at(5)}
}

// readPOSIX reads "EST5EDT,M3.2.0,M11.1.0" and its like.
func readPOSIX(t testing.TB, text string) posixRule {
	t.Helper()
	head, dates, yearly := strings.Cut(text, ",")
	var rule posixRule
	head = afterName(head)
	std := len(head) - len(strings.TrimLeft(head, "+-0123456789:"))
	rule.std = -hms(t, head[:std])
	if !yearly {
		return rule
	}
	rule.dst = rule.std + 3600
	if own := afterName(head[std:]); own != "" {
		rule.dst = -hms(t, own)
	}
	start, end, _ := strings.Cut(dates, ",")
	rule.start, rule.end = readYearDay(t, start), readYearDay(t, end)
	return rule
}

func afterName(s string) string {
	if strings.HasPrefix(s, "<") {
		return s[strings.Index(s, ">")+1:]
	}
	return strings.TrimLeft(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
}

func readYearDay(t testing.TB, text string) yearDay {
	t.Helper()
	date, clock, timed := strings.Cut(text, "/")
	parts := strings.Split(strings.TrimPrefix(date, "M"), ".")
	if len(parts) != 3 || date[0] != 'M' {
		t.Fatalf("rule of a zone %q: only the form Mm.w.d is known here", text)
	}
	d := yearDay{month: atoi(t, parts[0]), week: atoi(t, parts[1]), day: atoi(t, parts[2]), time: 2 * 3600}
	if timed {
		d.time = hms(t, clock)
	}
	return d
}

func hms(t testing.TB, text string) int64 {
	t.Helper()
	sign := int64(1)
	if strings.HasPrefix(text, "-") {
		sign = -1
	}
	var seconds, unit int64 = 0, 3600
	for part := range strings.SplitSeq(strings.TrimLeft(text, "+-"), ":") {
		seconds, unit = seconds+unit*int64(atoi(t, part)), unit/60
	}
	return sign * seconds
}

func atoi(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// in is the second of a year's local clock at which the day begins or ends.
func (d yearDay) in(year int) int64 {
	first := dayNumber(year, d.month)
	day := first + int64((d.day-weekdayOf(first)+7)%7) + int64(7*(d.week-1))
	for day >= first+int64(monthLength(year, d.month)) {
		day -= 7
	}
	return day*86400 + d.time
}

// changesIn lists the changes of offset of the years, the first entry being what
// holds when they begin.
func (z tzif) changesIn(from, to int) (at, offset []int64) {
	all := map[int64]int64{}
	var last int64 = -1 << 62
	for i := range z.at {
		all[z.at[i]], last = z.offset[i], z.at[i]
	}
	if z.rule.start != z.rule.end {
		for year := from - 2; year <= to+1; year++ {
			if s := z.rule.start.in(year) - z.rule.std; s > last {
				all[s] = z.rule.dst
			}
			if e := z.rule.end.in(year) - z.rule.dst; e > last {
				all[e] = z.rule.std
			}
		}
	}
	begin, end := dayNumber(from, 1)*86400, dayNumber(to+1, 1)*86400
	at, offset = []int64{begin}, []int64{z.rule.std}
	for _, when := range slices.Sorted(maps.Keys(all)) {
		switch now := all[when]; {
		case when <= begin:
			offset[0] = now
		case when < end && now != offset[len(offset)-1]:
			at, offset = append(at, when), append(offset, now)
		}
	}
	return at, offset
}

func leap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func monthLength(year, m int) int {
	if m == 2 && leap(year) {
		return 29
	}
	return [...]int{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[m]
}

// dayNumber counts the days from 1970-01-01, a Thursday, to the first of a month.
func dayNumber(year, m int) int64 {
	var days int64
	for y := 1970; y < year; y++ {
		if days += 365; leap(y) {
			days++
		}
	}
	for k := 1; k < m; k++ {
		days += int64(monthLength(year, k))
	}
	return days
}

func weekdayOf(day int64) int { return int((day + 4) % 7) }
