package scheduler

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec/record"
)

// jumpSeen is the smallest step of the wall clock that is worth a line in the log.
const jumpSeen = 5 * time.Second

// tick takes what is due now. Rows of slots that do not run become durable
// before the runs of the same turn are queued, so that the rows of one job come
// in the order of its slots and the last one tells how far the job is covered.
func (s *Scheduler) tick() {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.tickLocked()
}

func (s *Scheduler) tickLocked() {
	now, boot := s.o.Clock.Now(), s.o.Clock.Boot()
	s.mu.Lock()
	s.watchClock(now, boot)
	if s.phase != serving {
		s.mu.Unlock()
		return
	}
	var written []*record.Leaf
	var starts []*run
	for _, turn := range s.table.Due(now) {
		rows, start := s.take(turn)
		written = append(written, rows...)
		if start != nil {
			starts = append(starts, start)
		}
	}
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
		put(s.rows.missed(turn.Key, turn.Missed))
	}
	for _, due := range turn.Dues {
		switch hold, held := s.holds[job]; {
		case held:
			put(s.rows.held(turn.Key, due, hold))
		case s.live[job] != nil:
			put(s.rows.overlap(turn.Key, due, s.live[job].id))
		default:
			start = s.newRun(turn.Key, record.BySchedule, due.At)
			start.due = due
			if len(due.Slots) > 1 {
				start.later = append(start.later, s.rows.coalesced(turn.Key, due.Slots[1:], due.At))
			}
			s.live[job] = start
		}
	}
	return rows, start
}

// watchClock compares the wall clock with the one that nobody can set.
func (s *Scheduler) watchClock(now time.Time, boot time.Duration) {
	if !s.wall.IsZero() {
		jump := now.Sub(s.wall) - (boot - s.boot)
		if jump > jumpSeen || jump < -jumpSeen {
			s.o.Log.Warn("the wall clock jumped", "by_seconds", int64(jump.Seconds()))
		}
	}
	s.wall, s.boot = now.Round(0), boot
}

// pump starts queued runs while there is room. The caller holds mu.
func (s *Scheduler) pump() {
	for s.phase == serving && s.free > 0 && s.queue.Len() > 0 {
		r := s.queue.pop()
		s.free--
		r.stage = preparing
		s.runs.Add(1)
		go s.drive(r)
	}
}

// forget drops runs that cannot be recorded: the ledger broke. Their slots have
// no row and are missed at the next start.
func (s *Scheduler) forget(runs []*run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range runs {
		delete(s.live, r.key.Job)
		r.handle.finish(nil)
	}
}
