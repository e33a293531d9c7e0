package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
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
		return NextOf("", c, q.From, time.Time{}, q.Count), nil
	}
	if q.Job != "" {
		s, _, err := e.find(q.Job)
		if err != nil {
			return nil, err
		}
		return e.markHeld(nextSlots(s, q)), nil
	}
	all, _, err := e.shownJobs()
	if err != nil {
		return nil, err
	}
	out := []api.Next{}
	for _, s := range all {
		if s.State == jobspec.JobActive {
			out = append(out, nextSlots(s, q)...)
		}
	}
	slices.SortFunc(out, func(a, b api.Next) int {
		return cmp.Or(a.UTC.Compare(b.UTC), cmp.Compare(a.Job, b.Job))
	})
	return e.markHeld(out[:min(len(out), q.Count)]), nil
}

// heldNote is what stands beside a slot that comes while its job is held.
const heldNote = "held: it does not start until it is released"

// markHeld notes which slots will not start as things are.
func (e *Engine) markHeld(next []api.Next) []api.Next {
	known := map[jobspec.Name]bool{}
	for i := range next {
		job := next[i].Job
		held, asked := known[job]
		if !asked {
			held = e.isHeld(job)
			known[job] = held
		}
		if held {
			next[i].Notes = append(next[i].Notes, heldNote)
		}
	}
	return next
}

func nextSlots(s shown, q api.NextQuery) []api.Next {
	c, err := calendar.Of(s.op.Spec.Schedule, s.op.Created.Time(), s.SpecOp)
	if err != nil {
		return []api.Next{}
	}
	return NextOf(s.Name, c, q.From, s.op.Spec.ExpiresAt.Time(), q.Count)
}

// NextOf lists up to n coming dues of a calendar, before until if that is set.
func NextOf(job jobspec.Name, c *calendar.Calendar, from, until time.Time, n int) []api.Next {
	out := []api.Next{}
	for len(out) < n {
		due, ok := c.Next(from)
		if !ok || !until.IsZero() && !due.At.Before(until) {
			break
		}
		out = append(out, api.Next{Job: job, At: due.At.Format(time.RFC3339), UTC: due.At.UTC(),
			Slot: due.Slots[0].String(), Notes: orEmpty(due.Notes())})
		from = due.At
	}
	return out
}
