package scheduler

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// push adds a run: to its line, or apart where its moment has not come.
func (q *queue) push(r *run) {
	if r.notBefore > 0 {
		heap.Push(&q.apart, r)
		return
	}
	q.enter(r)
}

// enter adds a run to its line.
func (q *queue) enter(r *run) {
	if q.lines == nil {
		q.lines = map[share]*line{}
	}
	r.line = r.how.share
	l := q.lines[r.line]
	if l == nil {
		l = &line{}
		q.lines[r.line] = l
	}
	heap.Push(&l.runs, r)
	q.n++
}

// take removes a place of a line. A line without runs goes.
func (q *queue) take(l *line, i int) *run {
	r := heap.Remove(&l.runs, i).(*run)
	q.n--
	if len(l.runs) == 0 {
		delete(q.lines, r.line)
	}
	return r
}

// remove takes out a run; false where it does not wait.
func (q *queue) remove(r *run) bool {
	if i := slices.Index(q.apart, r); i >= 0 {
		heap.Remove(&q.apart, i)
		return true
	}
	l := q.lines[r.line]
	if l == nil {
		return false
	}
	i := slices.Index(l.runs, r)
	if i < 0 {
		return false
	}
	q.take(l, i)
	return true
}

type runHeap []*run

func (h runHeap) Len() int { return len(h) }

func (h runHeap) less(a, b *run) bool {
	return cmp.Or(a.order.Compare(b.order), strings.Compare(string(a.key.Job), string(b.key.Job)), strings.Compare(a.id, b.id)) < 0
}

func (h runHeap) Less(i, j int) bool { return h.less(h[i], h[j]) }

func (h runHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *runHeap) Push(x any) { *h = append(*h, x.(*run)) }

func (h *runHeap) Pop() any {
	old := *h
	r := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return r
}

// apartHeap is ordered by the moment that runs wait for.
type apartHeap []*run

func (h apartHeap) Len() int { return len(h) }

func (h apartHeap) Less(i, j int) bool { return h[i].notBefore < h[j].notBefore }

func (h apartHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *apartHeap) Push(x any) { *h = append(*h, x.(*run)) }

func (h *apartHeap) Pop() any {
	old := *h
	r := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return r
}
