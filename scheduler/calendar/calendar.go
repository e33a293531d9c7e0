package calendar

import (
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// horizon is how far Next looks: long enough for 29 February across a year such
// as 2100 that is no leap year.
const horizon = 9 * 366 * daySeconds

// Calendar says when a job is due. It never changes and may be shared.
type Calendar struct {
	zone  string
	in    *zone
	rule  rule
	shift int64 // seconds from a slot to its start
	from  int64 // with a shift: slots up to this instant are not due
}

// rule is what comes due: a cron text, an interval or one instant.
type rule interface {
	// next returns the first due instant after the given one, at most limit.
	next(z *zone, after, limit int64) (due, bool)
	// slots lists the civil minutes that a due stands for.
	slots(d due) []int64
	// gap is the smallest distance between two dues, in seconds.
	gap(z *zone) int64
	words() string
	warnings() []Warning
}

// due is one due instant in numbers.
type due struct {
	at          int64 // Unix time
	first, last int64 // civil minutes of the first and the last slot
	count       int64
	fold        int
}

// Due is one instant at which a job is due. Slots has one entry, but where a gap
// of daylight saving makes several fall on one instant: the first is the one
// that runs, the others are coalesced with it. The list is not to be changed: dues of
// one instant may share it.
type Due struct {
	At    time.Time // in the calendar's zone, with the shift
	Slots []jobspec.Slot
	Shift time.Duration // from the slot to its start
}

// Span is a run of due slots that are told of together.
type Span struct {
	First, Last     jobspec.Slot
	FirstAt, LastAt time.Time
	Count           int64
}

// Parse reads a cron text, which is refused with an *Error unless it is exactly
// five strict fields or one of the @names, in the named zone.
func Parse(expr, zone string) (*Calendar, error) {
	in, err := zoneOf(zone)
	if err != nil {
		return nil, err
	}
	c, r := check(expr)
	if r != nil {
		return nil, r.in("schedule", expr)
	}
	b, err := parseBits(c)
	if err != nil {
		return nil, &Error{What: "schedule", Text: expr, Detail: err.Error()}
	}
	p := &cronRule{bits: b, raw: c.raw, star: c.star}
	if !p.ever() {
		return nil, refuse("choose a day that its month has", "no day of any year matches").in("schedule", expr)
	}
	return &Calendar{zone: zone, in: in, rule: p}, nil
}

// Every is due each so many seconds from the anchor on, the anchor itself
// excluded. The distance is 1 minute to 366 days; fractions of a second in the
// anchor are dropped.
func Every(seconds int64, anchor time.Time, zone string) (*Calendar, error) {
	in, err := zoneOf(zone)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("every %d seconds", seconds)
	switch {
	case seconds < minuteSeconds:
		return nil, refuse("the shortest interval is 1 minute", "too short").in("schedule", text)
	case seconds > 366*daySeconds:
		return nil, refuse("the longest interval is 366 days", "too long").in("schedule", text)
	case anchor.Unix() <= 0:
		return nil, refuse("", "no anchor").in("schedule", text)
	}
	return &Calendar{zone: zone, in: in, rule: everyRule{seconds: seconds, anchor: anchor.Unix()}}, nil
}

// FromSpec reads the schedule of a signed spec. The anchor is when the op that
// holds the spec was created.
func FromSpec(s jobspec.Schedule, anchor time.Time) (*Calendar, error) {
	switch {
	case !s.At.IsZero() && s.Cron == "" && s.EverySeconds == 0:
		return once(s.At, anchor, s.Timezone)
	case !s.At.IsZero() || (s.Cron != "") == (s.EverySeconds != 0):
		return nil, refuse("give a cron text, every or at", "want exactly one of cron, every and at").in("schedule", s.Cron)
	case s.Cron != "":
		return parseAfter(s, anchor)
	}
	return Every(s.EverySeconds, anchor, s.Timezone)
}

// parseAfter refuses what Next would answer with never, from the day on that
// the op was made: a job that is never due is a mistake, and says so at add.
func parseAfter(s jobspec.Schedule, anchor time.Time) (*Calendar, error) {
	c, err := Parse(s.Cron, s.Timezone)
	if err != nil {
		return nil, err
	}
	if _, ok := c.next(anchor.Unix()); !ok {
		return nil, refuse("choose a day that comes sooner", "no day of the next nine years matches").in("schedule", s.Cron)
	}
	return c, nil
}

// Zone is the IANA name that the calendar is read in.
func (c *Calendar) Zone() string { return c.zone }

// Next returns the first due instant strictly after the given one. It is false
// when none comes within nine years.
func (c *Calendar) Next(after time.Time) (Due, bool) {
	d, ok := c.next(after.Unix())
	if !ok {
		return Due{}, false
	}
	return c.due(d), true
}

// NextWithin is Next for callers that take up only what is due up to an instant: of a
// later due nothing is told but At, and Slots is empty.
func (c *Calendar) NextWithin(after, until time.Time) (Due, bool) {
	d, ok := c.next(after.Unix())
	if !ok {
		return Due{}, false
	}
	if d.at > until.Unix() {
		return Due{At: time.Unix(d.at, 0).In(c.in.loc)}, true
	}
	return c.due(d), true
}

// NextAt is Next for callers that need the instant only.
func (c *Calendar) NextAt(after time.Time) (time.Time, bool) {
	d, ok := c.next(after.Unix())
	return time.Unix(d.at, 0).In(c.in.loc), ok
}

func (c *Calendar) next(after int64) (due, bool) {
	if c.shift > 0 {
		after = max(after-c.shift, c.from)
	}
	d, ok := c.rule.next(c.in, after, after+horizon)
	if ok && d.at <= after {
		// A rule that does not advance would start a job without end. It is a
		// defect, and the job stops rather than the machine.
		return due{}, false
	}
	d.at += c.shift
	return d, ok
}

func (c *Calendar) due(d due) Due {
	out := Due{At: time.Unix(d.at, 0).In(c.in.loc), Shift: time.Duration(c.shift) * time.Second}
	if d.count == 1 {
		out.Slots = c.in.slotsOf(d.first, d.fold, c.zone)
		return out
	}
	for _, civil := range c.rule.slots(d) {
		out.Slots = append(out.Slots, c.slot(civil, d.fold))
	}
	return out
}

func (c *Calendar) slot(civil int64, fold int) jobspec.Slot {
	return jobspec.SlotAt(time.Unix(civil, 0).UTC(), c.zone, fold)
}

// Span gathers all slots that are due after one instant and not after another.
// It is false when there is none.
func (c *Calendar) Span(after, until time.Time) (Span, bool) {
	var first, last due
	var count int64
	for at := after.Unix(); ; at = last.at {
		d, ok := c.next(at)
		if !ok || d.at > until.Unix() {
			break
		}
		if count == 0 {
			first = d
		}
		last, count = d, count+d.count
	}
	if count == 0 {
		return Span{}, false
	}
	return Span{
		First: c.slot(first.first, first.fold), Last: c.slot(last.last, last.fold),
		FirstAt: time.Unix(first.at, 0).In(c.in.loc), LastAt: time.Unix(last.at, 0).In(c.in.loc), Count: count,
	}, true
}

// Words is a plain sentence without the zone, as it stands in a signed spec:
// "every day at 02:30".
func (c *Calendar) Words() string { return c.rule.words() }

// String is the sentence with the zone: "every day at 02:30, Europe/Berlin".
func (c *Calendar) String() string { return c.rule.words() + ", " + c.zone }

// Gap is the smallest distance between two due instants, in seconds, with the
// changes of offset of 2026 to 2034. It is nine years when a schedule comes but
// once in that time.
func (c *Calendar) Gap() int64 { return c.rule.gap(c.in) }
