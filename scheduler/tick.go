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
	s.askShares(s.o.Clock.Boot())
	s.mu.Lock()
	clocks, written := s.watchClock()
	now, boot := clocks.now, clocks.boot
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
	all := taken{rows: written}
	for _, turn := range s.table.Due(now) {
		t := s.take(turn)
		all.add(t)
		if t.start != nil && len(t.rows) == 0 && !turn.CatchUp {
			s.queue.push(t.start) // no row of this job comes before it
			continue
		}
		all.later(t.start, turn.CatchUp)
	}
	spread(all.catchUps, boot)
	s.queue.come(boot)
	all.rows = append(all.rows, s.expireHolds(now, boot)...)
	s.pump()
	s.claimAhead(now)
	s.armAhead(now)
	s.mu.Unlock()
	for _, end := range all.ends {
		end()
	}
	if err := s.write(all.rows...); err != nil {
		s.forget(all.starts, all.waits)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range all.starts {
		s.queue.push(r)
	}
	s.ready(all.waits)
	s.pump()
}

// taken is what came of one turn, or of all turns of a tick.
type taken struct {
	rows     []*record.Leaf
	start    *run   // of one turn
	starts   []*run // whose rows come first
	catchUps []*run // of those
	waits    []*run // that wait for the run of their job
	ends     []func()
}

func (t *taken) add(one taken) {
	t.rows, t.waits, t.ends = append(t.rows, one.rows...), append(t.waits, one.waits...), append(t.ends, one.ends...)
}

func (t *taken) later(start *run, catchUp bool) {
	if start == nil {
		return
	}
	t.starts = append(t.starts, start)
	if catchUp {
		t.catchUps = append(t.catchUps, start)
	}
}

// take turns one entry's dues into rows, at most one run that starts and at most
// one that waits.
func (s *Scheduler) take(turn Turn) (t taken) {
	job := turn.Key.Job
	put := s.putFor(job, &t.rows)
	if turn.Missed.Count > 0 {
		put(s.because(s.rows.missed(turn.Key, turn.Missed)))
	}
	for _, due := range turn.Dues {
		switch hold, held := s.holds[job]; {
		case held && hold.covers(due.At):
			put(s.rows.held(turn.Key, due, hold))
		case s.live[job] != nil:
			if wait, end := s.meet(turn, due, put); wait != nil {
				t.waits = append(t.waits, wait)
				t.ends = append(t.ends, end)
			}
		default:
			if t.start = s.takeAhead(turn.Key, due.At); t.start == nil {
				t.start = s.newRun(turn.Key, turn.trigger(), due.At)
				s.due(t.start, due)
			}
			t.start.how = turn.how.orSkip()
			s.live[job] = t.start
		}
	}
	s.dropAhead(job) // built for a slot that does not run
	return t
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
	for s.phase == serving {
		r := s.queue.pop(s.seats.free)
		if r == nil {
			return
		}
		s.sit(r)
		if r.resume != nil {
			close(r.resume) // its own goroutine goes on
			r.resume = nil
			continue
		}
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
func (s *Scheduler) forget(starts, waits []*run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range waits {
		if s.waiting[w.key.Job] == w {
			delete(s.waiting, w.key.Job)
			w.handle.finish(nil)
		}
	}
	for _, r := range starts {
		delete(s.live, r.key.Job)
		s.abandon(r)
		r.handle.finish(nil)
	}
}
