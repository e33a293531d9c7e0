package engine

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// maxNext bounds what one question returns.
const maxNext = 10_000

// Next lists coming slots: of an expression, of one job, or of all jobs merged.
func (e *Engine) Next(_ context.Context, q api.NextQuery) ([]api.Next, error) {
	q.Count = min(max(q.Count, 1), maxNext)
	if q.From.IsZero() {
		q.From = e.Now()
	}
	if q.Expr != "" {
		c, err := calendar.Parse(q.Expr, q.Timezone)
		if err != nil {
			return nil, err
		}
		return NextOf("", c, q.From, q.Until, q.Count), nil
	}
	jobs, err := e.scheduled(q.Job)
	if err != nil {
		return nil, err
	}
	return e.nextOfAll(jobs, q), nil
}

// nextOfAll merges the coming starts of jobs.
func (e *Engine) nextOfAll(jobs []shown, q api.NextQuery) []api.Next {
	var merged merge
	closed := e.windows()
	for _, s := range jobs {
		st := streamOf(s, q.From, q.Until)
		if st.outside = closed.of(s.op.Principal); st.step() {
			merged = append(merged, st)
		}
	}
	return e.markHeld(merged.take(q.Count))
}

// scheduled are the jobs that next is asked for: the named one as it is, or all
// that are in force.
func (e *Engine) scheduled(name jobspec.Name) ([]shown, error) {
	if name != "" {
		s, _, err := e.find(name)
		return []shown{s}, err
	}
	all, _, err := e.shownJobs()
	if err != nil {
		return nil, err
	}
	active := all[:0]
	for _, s := range all {
		if s.State == jobspec.JobActive {
			active = append(active, s)
		}
	}
	return active, nil
}

// NextOf lists up to n coming dues of a calendar, before until if that is set.
func NextOf(job jobspec.Name, c *calendar.Calendar, from, until time.Time, n int) []api.Next {
	st := &stream{job: job, cal: c, after: from, until: until}
	out := []api.Next{}
	for len(out) < n && st.step() {
		out = append(out, st.next())
	}
	return out
}

// stream is the coming dues of one job, one at a time.
type stream struct {
	job     jobspec.Name
	cal     *calendar.Calendar
	after   time.Time
	until   time.Time // of the question; zero: none
	expires time.Time // of the approval; zero: none
	state   jobspec.JobState
	due     calendar.Due
	outside func(time.Time) (string, bool) // of the windows; nil: there are none
}

// streamOf has no calendar where the schedule cannot be read: explain says why.
func streamOf(s shown, from, until time.Time) *stream {
	c, err := calendar.Of(s.op.Spec.Schedule, s.op.Created.Time(), s.SpecOp)
	if err != nil {
		c = nil
	}
	return &stream{job: s.Name, cal: c, after: from, until: until, expires: s.op.Spec.ExpiresAt.Time(), state: s.State}
}

// step goes on to the next due, false where none comes before the end.
func (s *stream) step() bool {
	if s.cal == nil {
		return false
	}
	var ok bool
	if s.due, ok = s.cal.Next(s.after); !ok || !s.until.IsZero() && !s.due.At.Before(s.until) || s.expired(s.due.At) {
		return false
	}
	s.after = s.due.At
	return true
}

func (s *stream) expired(at time.Time) bool { return s.expires.Unix() > 0 && !at.Before(s.expires) }

// next describes the due that step went to.
func (s *stream) next() api.Next {
	notes := orEmpty(s.due.Notes())
	if s.expires.Unix() > 0 {
		if following, ok := s.cal.NextAt(s.due.At); ok && s.expired(following) {
			notes = append(notes, fmt.Sprintf("the last one: the approval ends %s", s.expires.UTC().Format(time.RFC3339)))
		}
	}
	if s.outside != nil {
		if list, outside := s.outside(s.due.At); outside {
			notes = append(notes, windowNote+list)
		}
	}
	if s.state == jobspec.JobDisabled {
		notes = append(notes, "disabled: it does not start until it is enabled")
	}
	return api.Next{Job: s.job, At: s.due.At.Format(time.RFC3339), UTC: s.due.At.UTC(), Slot: s.due.Slots[0].String(), Notes: notes}
}

// merge is a heap of streams, the one that is due first on top, by name where two
// are due at once. Only what is taken is computed: a million jobs have a million
// first dues, and no more.
type merge []*stream

func (m merge) Len() int      { return len(m) }
func (m merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m merge) Less(i, j int) bool {
	return cmp.Or(m[i].due.At.Compare(m[j].due.At), cmp.Compare(m[i].job, m[j].job)) < 0
}
func (m *merge) Push(x any) { *m = append(*m, x.(*stream)) }
func (m *merge) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

// take lists the first n dues of all.
func (m merge) take(n int) []api.Next {
	heap.Init(&m)
	out := []api.Next{}
	for len(out) < n && len(m) > 0 {
		out = append(out, m[0].next())
		if m[0].step() {
			heap.Fix(&m, 0)
		} else {
			heap.Pop(&m)
		}
	}
	return out
}

// heldNote is what stands beside a slot that comes while its job is held.
const heldNote = "held: it does not start until it is released"

// markHeld notes which slots will not start as things are. A hold that ends by
// itself is no matter of what comes after its end.
func (e *Engine) markHeld(next []api.Next) []api.Next {
	known := map[jobspec.Name]bool{}
	var holds map[jobspec.Name]*record.Leaf // read once, and only where something is held
	for i := range next {
		job := next[i].Job
		held, asked := known[job]
		if !asked {
			held = e.isHeld(job)
			known[job] = held
		}
		if !held {
			continue
		}
		if holds == nil {
			holds, _ = e.Holds() // damage is told of by Problems; what lies before it counts
		}
		if note := holdNote(holds[job], next[i].UTC); note != "" {
			next[i].Notes = append(next[i].Notes, note)
		}
	}
	return next
}

// holdNote is "" for a slot behind the end of the hold.
func holdNote(l *record.Leaf, at time.Time) string {
	if l == nil || l.Until == "" {
		return heldNote
	}
	until, err := time.Parse(time.RFC3339Nano, l.Until)
	switch {
	case err != nil:
		return heldNote
	case at.Before(until):
		return "held until " + until.UTC().Format(time.RFC3339)
	}
	return ""
}
