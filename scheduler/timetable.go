package scheduler

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// MissedAfter is how late a slot may be noticed and still run. What is older at
// a wake, because the service was off or the machine slept, is missed.
const MissedAfter = 2 * time.Minute

// Turn is what came due for one entry: perhaps slots that are too old, then
// those that may start.
type Turn struct {
	Key     Key
	Missed  calendar.Span // Count is 0 for none
	Dues    []calendar.Due
	CatchUp bool // the only due is one that was missed
	how     *manner
}

// trigger is what made the dues of a turn start.
func (t Turn) trigger() record.Trigger {
	if t.CatchUp {
		return record.ByCatchUp
	}
	return record.BySchedule
}

// Key names the spec that a slot belongs to.
type Key struct {
	Job jobspec.Name
	Op  jobspec.Digest
	Seq int64
}

// item is one job of the table, kept small: there may be a million.
type item struct {
	job jobspec.Name
	op  jobspec.Digest
	cal *calendar.Calendar
	use *sharing
	how *manner
	seq uint32 // a chain that could be stored has far fewer ops
	pos int32
}

func (it *item) key() Key { return Key{it.job, it.op, int64(it.seq)} }

// Timetable knows when each job is due next. The zero value is empty. It is not
// safe for use by several goroutines.
type Timetable struct {
	heap   dueHeap
	byJob  itemIndex
	turns  []Turn // of the last call of Due, and their dues
	dues   []calendar.Due
	room   itemRoom
	shared calendars

	manners manners
}

// Expect makes room for so many jobs in all, of which there may be a million at once.
func (t *Timetable) Expect(jobs int) {
	t.byJob.expect(jobs)
	t.heap = slices.Grow(t.heap, max(0, jobs-len(t.heap)))
}

// Confirm takes note that a job was put in force again with the same spec; its
// next due stays. It is false when the table holds another spec, or none.
func (t *Timetable) Confirm(e Entry) bool {
	it := t.byJob.find(e.Job)
	return it != nil && it.key() == (Key{e.Job, e.Op, e.Seq})
}

// Set puts an entry in the place of its job's former one. Its first due is the
// first after the given instant. The error is the calendar's; the former entry
// is gone then too, since it is no longer in force.
func (t *Timetable) Set(e Entry, after time.Time) error {
	slot, tag, free := t.byJob.free(e.Job)
	if !free {
		t.Delete(e.Job)
		slot, tag, _ = t.byJob.free(e.Job)
	}
	if e.Seq < 0 || e.Seq > math.MaxUint32 {
		return refusal(jobspec.CodeSeqInvalid, "no chain has so many ops")
	}
	cal, use, err := t.shared.take(e)
	if err != nil {
		return err
	}
	next, ok := cal.NextAt(after)
	if !ok {
		t.shared.giveBack(use)
		if !e.Schedule.At.IsZero() {
			return nil // its one instant is over
		}
		return refusal(jobspec.CodeScheduleInvalid, "no due time within nine years")
	}
	it := t.room.take()
	*it = item{job: e.Job, op: e.Op, seq: uint32(e.Seq), cal: cal, use: use, how: t.manners.take(e)}
	t.byJob.fill(slot, tag, it)
	t.heap.push(it, next.Unix())
	return nil
}

// calendar gives the calendar of an entry for looking only.
func (t *Timetable) calendar(e Entry) (*calendar.Calendar, error) {
	cal, use, err := t.shared.take(e)
	if err != nil {
		return nil, err
	}
	t.shared.giveBack(use)
	return cal, nil
}

// Delete takes a job out.
func (t *Timetable) Delete(job jobspec.Name) {
	it := t.byJob.find(job)
	if it == nil {
		return
	}
	t.heap.remove(int(it.pos))
	t.byJob.remove(it)
	t.shared.giveBack(it.use)
	t.manners.giveBack(it.how)
	t.room.giveBack(it)
}

// Jobs lists the names in the table, in no order.
func (t *Timetable) Jobs() []jobspec.Name {
	all := make([]jobspec.Name, 0, len(t.heap))
	for _, e := range t.heap {
		all = append(all, e.it.job)
	}
	return all
}

// Len is the number of jobs.
func (t *Timetable) Len() int { return len(t.heap) }

// NextAt is the earliest due instant of all, false when the table is empty.
func (t *Timetable) NextAt() (time.Time, bool) {
	if len(t.heap) == 0 {
		return time.Time{}, false
	}
	return time.Unix(t.heap[0].next, 0), true
}

// KeyOf names the spec that the table holds for a job.
func (t *Timetable) KeyOf(job jobspec.Name) Key {
	if it := t.byJob.find(job); it != nil {
		return it.key()
	}
	return Key{Job: job}
}

// NextOf is the next due instant of one job.
func (t *Timetable) NextOf(job jobspec.Name) (time.Time, bool) {
	it := t.byJob.find(job)
	if it == nil {
		return time.Time{}, false
	}
	return time.Unix(t.heap.at(it), 0), true
}

// keptTurns bounds how many turns are kept between two calls of Due.
const keptTurns = 256

// Due takes out what is due at now and sets each of those jobs to its next due
// after now. Turns come with the oldest startable slot first, by name where two
// are the same. They are valid until the next call.
func (t *Timetable) Due(now time.Time) []Turn {
	clear(t.turns) // lets go of what they hold
	clear(t.dues)
	turns, dues := t.turns[:0], t.dues[:0]
	for len(t.heap) > 0 && t.heap[0].next <= now.Unix() {
		it := t.heap[0].it
		var next int64
		var ok bool
		turns = append(turns, Turn{})
		dues, next, ok = it.turn(&turns[len(turns)-1], dues, t.heap[0].next, now)
		if ok {
			t.heap.set(0, next)
		} else {
			t.Delete(it.job)
		}
	}
	if t.turns, t.dues = turns, dues; len(turns) > keptTurns {
		t.turns, t.dues = nil, nil
	}
	slices.SortStableFunc(turns, func(a, b Turn) int {
		return cmp.Or(a.first().Compare(b.first()), cmp.Compare(a.Key.Job, b.Key.Job))
	})
	return turns
}

// turn says what came due since an instant, with its dues behind the given ones, and
// when the job is due next; false where that is never.
func (it *item) turn(turn *Turn, dues []calendar.Due, since int64, now time.Time) (all []calendar.Due, next int64, ok bool) {
	turn.Key, turn.how = it.key(), it.how
	first := time.Unix(since-1, 0)
	from := first
	if young := now.Add(-MissedAfter); from.Before(young) {
		turn.Missed, _ = it.cal.Span(from, young)
		from = young
	}
	for all = dues; ; {
		due, again := it.cal.NextWithin(from, now)
		if next, ok = due.At.Unix(), again; !ok || len(due.Slots) == 0 {
			break
		}
		all, from = append(all, due), due.At
	}
	turn.Dues = all[len(dues):len(all):len(all)]
	if it.how.once && turn.Missed.Count > 0 {
		*turn = it.catchUp(*turn, first, now)
	}
	return all, next, ok
}

func (t *Turn) first() time.Time {
	if len(t.Dues) > 0 {
		return t.Dues[0].At
	}
	return t.Missed.LastAt
}
