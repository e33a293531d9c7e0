package scheduler

import (
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// What becomes of a slot whose job has a run that is not over. That is asked of the
// runs of this process, never of a mark that was stored: a run that an earlier
// service left behind is lost, its processes are dead with it, and it blocks nothing.
//
// With skip the slot gets a row. With queue it waits for the end of the run, and so
// does the newest only: one that comes behind it takes its place. With replace the
// run is told to end, and the slot waits for that.
//
// A run that waits has no row, and every row about later slots of its job stands
// behind it. So the last row of a job still tells how far the job is covered.

// meet decides about a slot of a job that has a run. The rows are to be written; end
// ends the run that is replaced and is called without mu, which the caller holds.
func (s *Scheduler) meet(turn Turn, due calendar.Due, put func(*record.Leaf)) (wait *run, end func()) {
	job, how := turn.Key.Job, turn.how.orSkip()
	live := s.live[job]
	if how.overlap != overlapQueue && how.overlap != overlapReplace {
		put(s.rows.overlap(turn.Key, due, live.id))
		return nil, nil
	}
	s.displace(job, put)
	wait = s.newRun(turn.Key, turn.trigger(), due.At)
	wait.how, wait.waited = how, true
	s.due(wait, due)
	s.waiting[job] = wait
	end = func() {}
	if how.overlap == overlapReplace {
		end = s.stopRun(live, &halt{code: jobspec.CodeOverlapReplaced})
	}
	return wait, end
}

// displace takes the place of a run that waits: its slot is skipped, and what stood
// behind it stands behind the living run. The caller holds mu.
func (s *Scheduler) displace(job jobspec.Name, put func(*record.Leaf)) {
	w := s.waiting[job]
	if w == nil {
		return
	}
	delete(s.waiting, job)
	why, by := record.Reason{Code: jobspec.CodeOverlapSkipped, Target: s.live[job].id, Detail: "a newer slot waits in its place"}, (*record.Requester)(nil)
	if w.halt != nil {
		why, by = record.Reason{Code: w.halt.code}, w.halt.by
	}
	row := s.rows.skipped(w, why, by)
	for _, l := range append([]*record.Leaf{row}, w.later...) {
		put(l)
	}
	w.later = nil
	w.handle.finish(row)
}

// putFor gives the place of a job's further rows: behind the run that has no row
// yet, else into the list. The caller holds mu.
func (s *Scheduler) putFor(job jobspec.Name, rows *[]*record.Leaf) func(*record.Leaf) {
	return func(row *record.Leaf) {
		switch w, r := s.waiting[job], s.live[job]; {
		case w != nil:
			w.later = append(w.later, row)
		case r != nil && !r.recorded:
			r.later = append(r.later, row)
		default:
			*rows = append(*rows, row)
		}
	}
}

// ready lets runs that wait take their turn: the rows of earlier slots are durable.
// The caller holds mu.
func (s *Scheduler) ready(waits []*run) {
	for _, w := range waits {
		w.ready = true
		if s.live[w.key.Job] == nil && s.promote(w.key.Job) != nil {
			s.queue.push(w)
		}
	}
}

// promote makes the run that waits the living one. It is nil where none waits, or
// where rows that come before it are not durable yet. The caller holds mu.
func (s *Scheduler) promote(job jobspec.Name) *run {
	w := s.waiting[job]
	if w == nil || !w.ready {
		return nil
	}
	delete(s.waiting, job)
	s.live[job] = w
	return w
}
