package calendar

import (
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// civilLayout is how a slot writes its civil time.
const civilLayout = "2006-01-02T15:04"

// Resumed says where to go on after a slot that is accounted for.
type Resumed struct {
	At    time.Time      // when the slot is due by today's zone data
	After time.Time      // what to give to Next
	Rest  []jobspec.Slot // the slots of the same due that follow it
}

// Resume works out where to go on after a slot from its civil time and today's
// zone data, so that data which moved the slot cannot make it due again.
func (c *Calendar) Resume(s jobspec.Slot) (Resumed, error) {
	t, err := time.Parse(civilLayout, s.Civil)
	if err != nil || s.Zone != c.zone {
		return Resumed{}, fmt.Errorf("resume after slot %q: not a slot of %s", s, c.zone)
	}
	at, end := instants(c.in, t.Unix())
	when := end
	if len(at) > 0 {
		when = at[min(max(s.Fold, 0), len(at)-1)]
	}
	when += c.shift
	// A slot is a whole minute, and its due may lie inside it.
	r := Resumed{At: time.Unix(when, 0).In(c.in.loc), After: time.Unix(when+minuteSeconds-1, 0).In(c.in.loc)}
	if d, ok := c.next(when - 1); ok && d.at == when && d.count > 1 {
		r.Rest = following(c.due(d).Slots, s)
	}
	return r, nil
}

// following returns what follows s in the list, or nothing.
func following(all []jobspec.Slot, s jobspec.Slot) []jobspec.Slot {
	for i := range all {
		if all[i] == s {
			return all[i+1:]
		}
	}
	return nil
}

// Notes tell what is unusual about a due instant, in sentences.
func (d Due) Notes() []string {
	var notes []string
	shown := d.At.Add(-d.Shift).Format(civilLayout)
	if d.Shift > 0 {
		notes = append(notes, fmt.Sprintf("starts %s after its slot %s: the job's jitter", jobspec.FormatSpan(d.Shift), d.Slots[0].Civil[11:]))
	}
	for i, s := range d.Slots {
		switch {
		case i == 0 && s.Fold == 1:
			notes = append(notes, "second pass of a repeated hour")
		case i == 0 && s.Civil < shown:
			notes = append(notes, fmt.Sprintf("the clocks skip %s on this day, so it runs when they go on", s.Civil[11:]))
		case i > 0:
			notes = append(notes, fmt.Sprintf("%s falls on the same instant and does not run again", s.Civil[11:]))
		}
	}
	return notes
}
