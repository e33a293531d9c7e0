package scheduler

import (
	"context"

	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// tick takes what is due now. Rows of slots that do not run become durable
// before a run of the same job is queued, so that the rows of one job come in the
// order of its slots and the last one tells how far the job is covered.
func (s *Scheduler) tick() {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.tickLocked()
}

func (s *Scheduler) tickLocked() {
	s.mu.Lock()
	clocks, written := s.watchClock()
	now, boot := clocks.wall, clocks.boot
	if s.phase != serving {
		s.mu.Unlock()
		return
	}
	s.openSlots(now)
	s.dropStale(boot)
	if s.doubt != "" {
		s.mu.Unlock()
		_ = s.write(written...) // an error stops the service
		return
	}
	var starts []*run
	for _, turn := range s.table.Due(now) {
		rows, start := s.take(turn)
		if start != nil && len(rows) == 0 {
			s.queue.push(start) // no row of this job comes before it
			continue
		}
		written = append(written, rows...)
		if start != nil {
			starts = append(starts, start)
		}
	}
	s.pump()
	s.claimAhead(now)
	s.armAhead(now)
	s.mu.Unlock()
	if err := s.write(written...); err != nil {
		s.forget(starts)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range starts {
		s.queue.push(r)
	}
	s.pump()
}

// take turns one entry's dues into rows and at most one run.
func (s *Scheduler) take(turn Turn) (rows []*record.Leaf, start *run) {
	job := turn.Key.Job
	put := func(row *record.Leaf) {
		// A row behind a run that has no row yet must wait for it.
		if r := s.live[job]; r != nil && !r.recorded {
			r.later = append(r.later, row)
			return
		}
		rows = append(rows, row)
	}
	if turn.Missed.Count > 0 {
		put(s.because(s.rows.missed(turn.Key, turn.Missed)))
	}
	for _, due := range turn.Dues {
		switch hold, held := s.holds[job]; {
		case held:
			put(s.rows.held(turn.Key, due, hold))
		case s.live[job] != nil:
			put(s.rows.overlap(turn.Key, due, s.live[job].id))
		default:
			if start = s.takeAhead(turn.Key, due.At); start == nil {
				start = s.newRun(turn.Key, record.BySchedule, due.At)
				s.due(start, due)
			}
			s.live[job] = start
		}
	}
	s.dropAhead(job) // built for a slot that does not run
	return rows, start
}

// due gives a run its slots.
func (s *Scheduler) due(r *run, due calendar.Due) {
	r.due = due
	if len(due.Slots) > 1 {
		r.later = append(r.later, s.rows.coalesced(r.key, due.Slots[1:], due.At))
	}
}

// pump starts queued runs while there is room. The caller holds mu.
func (s *Scheduler) pump() {
	for s.phase == serving && s.free > 0 && s.queue.Len() > 0 {
		r := s.queue.pop()
		s.free--
		// The context ends a preparation and never a released run, which is ended
		// through its process.
		ctx, abort := context.WithTimeoutCause(context.Background(), PrepareTime, errTooLong)
		r.stage, r.abort = preparing, abort
		s.runs.Add(1)
		go s.drive(ctx, r)
	}
}

// forget drops runs that cannot be recorded: the ledger broke. Their slots have
// no row and are missed at the next start.
func (s *Scheduler) forget(runs []*run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range runs {
		delete(s.live, r.key.Job)
		s.abandon(r)
		r.handle.finish(nil)
	}
}
