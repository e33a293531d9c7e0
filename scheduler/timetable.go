package scheduler

import (
	"cmp"
	"container/heap"
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

// item is one entry of the heap, kept small: there may be a million.
type item struct {
	key   Key
	since int64 // Unix time; tells a job that was put in force again
	next  int64
	cal   *calendar.Calendar
	how   *manner
	pos   int32
}

// Timetable knows when each job is due next. The zero value is empty. It is not
// safe for use by several goroutines.
type Timetable struct {
	heap   dueHeap
	byJob  itemIndex
	room   itemRoom
	shared calendars

	manners map[manner]*manner
}

// Confirm takes note that a job was put in force again with the same spec; its
// next due stays. It is false when the table holds another spec, or none.
func (t *Timetable) Confirm(e Entry) bool {
	it := t.byJob.find(e.Job)
	if it == nil || it.key != (Key{e.Job, e.Op, e.Seq}) {
		return false
	}
	it.since = e.Since.Unix()
	return true
}

// Set puts an entry in the place of its job's former one. Its first due is the
// first after the given instant. The error is the calendar's; the former entry
// is gone then too, since it is no longer in force.
func (t *Timetable) Set(e Entry, after time.Time) error {
	t.Delete(e.Job)
	cal, err := t.shared.take(e)
	if err != nil {
		return err
	}
	next, ok := cal.NextAt(after)
	if !ok {
		t.shared.giveBack(cal)
		if !e.Schedule.At.IsZero() {
			return nil // its one instant is over
		}
		return refusal(jobspec.CodeScheduleInvalid, "no due time within nine years")
	}
	it := t.room.take()
	*it = item{key: Key{e.Job, e.Op, e.Seq}, since: e.Since.Unix(), next: next.Unix(), cal: cal, how: t.manner(e)}
	t.byJob.add(it)
	heap.Push(&t.heap, it)
	return nil
}

// calendar gives the calendar of an entry for looking only.
func (t *Timetable) calendar(e Entry) (*calendar.Calendar, error) {
	cal, err := t.shared.take(e)
	if err != nil {
		return nil, err
	}
	t.shared.giveBack(cal)
	return cal, nil
}

// Delete takes a job out.
func (t *Timetable) Delete(job jobspec.Name) {
	it := t.byJob.find(job)
	if it == nil {
		return
	}
	heap.Remove(&t.heap, int(it.pos))
	t.byJob.remove(it)
	t.shared.giveBack(it.cal)
	t.room.giveBack(it)
}

// Jobs lists the names in the table, in no order.
func (t *Timetable) Jobs() []jobspec.Name {
	all := make([]jobspec.Name, 0, len(t.heap))
	for _, it := range t.heap {
		all = append(all, it.key.Job)
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
		return it.key
	}
	return Key{Job: job}
}

// NextOf is the next due instant of one job.
func (t *Timetable) NextOf(job jobspec.Name) (time.Time, bool) {
	it := t.byJob.find(job)
	if it == nil {
		return time.Time{}, false
	}
	return time.Unix(it.next, 0), true
}

// Due takes out what is due at now and sets each of those jobs to its next due
// after now. Turns come with the oldest startable slot first, by name where two
// are the same.
func (t *Timetable) Due(now time.Time) []Turn {
	var turns []Turn
	for len(t.heap) > 0 && t.heap[0].next <= now.Unix() {
		it := t.heap[0]
		turns = append(turns, it.turn(now))
		next, ok := it.cal.NextAt(now)
		if !ok {
			t.Delete(it.key.Job)
			continue
		}
		it.next = next.Unix()
		heap.Fix(&t.heap, int(it.pos))
	}
	slices.SortStableFunc(turns, func(a, b Turn) int {
		return cmp.Or(a.first().Compare(b.first()), cmp.Compare(a.Key.Job, b.Key.Job))
	})
	return turns
}

func (it *item) turn(now time.Time) Turn {
	turn := Turn{Key: it.key, how: it.how}
	first := time.Unix(it.next-1, 0)
	from := first
	if young := now.Add(-MissedAfter); from.Before(young) {
		turn.Missed, _ = it.cal.Span(from, young)
		from = young
	}
	for {
		due, ok := it.cal.Next(from)
		if !ok || due.At.After(now) {
			break
		}
		turn.Dues, from = append(turn.Dues, due), due.At
	}
	if it.how.once && turn.Missed.Count > 0 {
		return it.catchUp(turn, first, now)
	}
	return turn
}

func (t Turn) first() time.Time {
	if len(t.Dues) > 0 {
		return t.Dues[0].At
	}
	return t.Missed.LastAt
}

// dueHeap is ordered by due time, then by name.
type dueHeap []*item

func (h dueHeap) Len() int { return len(h) }

func (h dueHeap) Less(i, j int) bool {
	return h[i].next < h[j].next || h[i].next == h[j].next && h[i].key.Job < h[j].key.Job
}

func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = int32(i), int32(j)
}

func (h *dueHeap) Push(x any) {
	it := x.(*item)
	it.pos = int32(len(*h))
	*h = append(*h, it)
}

func (h *dueHeap) Pop() any {
	old := *h
	it := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return it
}
