package scheduler

import (
	"container/heap"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// looked bounds how many entries one look ahead passes over. Whoever lies behind
// so many others is not found, and simply is not built ahead.
const looked = 256

// Upcoming is a due that has not come yet.
type Upcoming struct {
	Key Key
	Due calendar.Due
}

// Upcoming lists what is due up to an instant for the jobs that may be armed, the
// soonest first, and at most so many. It changes nothing.
func (t *Timetable) Upcoming(until time.Time, may func(jobspec.Name) bool, most int) []Upcoming {
	var all []Upcoming
	if most <= 0 {
		return nil
	}
	t.ascend(func(it *item, next int64) bool {
		if next > until.Unix() {
			return false
		}
		if !may(it.job) {
			return true
		}
		if due, ok := it.cal.Next(time.Unix(next-1, 0)); ok && due.At.Unix() == next {
			all = append(all, Upcoming{it.key(), due})
		}
		return len(all) < most
	})
	return all
}

// After is the earliest due instant behind another; false where there is none, or
// where too many lie before it.
func (t *Timetable) After(at time.Time) (next time.Time, ok bool) {
	t.ascend(func(_ *item, due int64) bool {
		if due <= at.Unix() {
			return true
		}
		next, ok = time.Unix(due, 0), true
		return false
	})
	return next, ok
}

// Take gives the slots of one due to a run before they come: the entry goes on to
// its next due. It is false where the table holds another spec or another due.
func (t *Timetable) Take(key Key, at time.Time) bool {
	it := t.byJob.find(key.Job)
	if it == nil || it.key() != key || t.heap.at(it) != at.Unix() {
		return false
	}
	next, ok := it.cal.NextAt(at)
	if !ok {
		t.Delete(key.Job)
		return true
	}
	t.heap.set(int(it.pos), next.Unix())
	return true
}

// ascend visits entries in the order of their due instants until visit has seen
// enough. It takes the heap apart from its top without changing it.
func (t *Timetable) ascend(visit func(it *item, next int64) bool) {
	if len(t.heap) == 0 {
		return
	}
	front := &frontier{t.heap, []int{0}}
	for range looked {
		if front.Len() == 0 {
			return
		}
		pos := heap.Pop(front).(int)
		if !visit(t.heap[pos].it, t.heap[pos].next) {
			return
		}
		for below := heapWidth*pos + 1; below <= heapWidth*(pos+1) && below < len(t.heap); below++ {
			heap.Push(front, below)
		}
	}
}

// frontier are the places of a heap whose parents were visited.
type frontier struct {
	of  dueHeap
	pos []int
}

func (f *frontier) Len() int      { return len(f.pos) }
func (f *frontier) Swap(i, j int) { f.pos[i], f.pos[j] = f.pos[j], f.pos[i] }
func (f *frontier) Push(x any)    { f.pos = append(f.pos, x.(int)) }

// Less puts those that are due at one instant in the order of their names.
func (f *frontier) Less(i, j int) bool {
	a, b := f.of[f.pos[i]], f.of[f.pos[j]]
	return a.next < b.next || a.next == b.next && a.it.job < b.it.job
}

func (f *frontier) Pop() any {
	last := len(f.pos) - 1
	x := f.pos[last]
	f.pos = f.pos[:last]
	return x
}
