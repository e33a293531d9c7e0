package scheduler

import (
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// claim makes the started row durable, with the rows that waited for it.
func (s *Scheduler) claim(r *run, started *record.Leaf) error {
	s.mu.Lock()
	rows := append([]*record.Leaf{started}, r.later...)
	r.later = nil
	s.mu.Unlock()
	return s.write(rows...)
}

// attach makes a released run known, and ends it if somebody wanted that in the
// meantime.
func (s *Scheduler) attach(r *run, proc Process) {
	s.mu.Lock()
	r.proc, r.stage, r.began = proc, running, s.o.Clock.Now()
	h, killed := r.halt, s.killed
	s.mu.Unlock()
	switch {
	case killed:
		proc.Kill(jobspec.CodeShutdown)
	case h != nil:
		proc.Cancel(h.code)
	}
}

// flush writes the rows that came behind the first one, until none waits.
func (s *Scheduler) flush(r *run) {
	for {
		s.mu.Lock()
		rows := r.later
		r.later = nil
		r.recorded = len(rows) == 0
		s.mu.Unlock()
		if len(rows) == 0 || s.write(rows...) != nil {
			return
		}
	}
}

// settle makes the final row durable and only then lets the job's next slot
// start. A nil row means that the ledger broke.
func (s *Scheduler) settle(r *run, final *record.Leaf) {
	for r != nil {
		if r = s.settleOne(r, final); r != nil {
			final = s.halted(r)
		}
	}
}

// settleOne returns the run that has waited for this one and will not start any
// more.
func (s *Scheduler) settleOne(r *run, final *record.Leaf) *run {
	if final != nil && s.write(final) != nil {
		final = nil
	}
	if final != nil {
		s.noteBreaker(final)
	}
	for {
		s.flush(r)
		s.mu.Lock()
		if len(r.later) == 0 || s.broken != nil {
			break
		}
		s.mu.Unlock()
	}
	defer s.mu.Unlock()
	if s.live[r.key.Job] == r {
		delete(s.live, r.key.Job)
	}
	s.rise(r)
	s.settled(r)
	next := s.promote(r.key.Job)
	if next != nil && s.phase == serving {
		s.queue.push(next)
		next = nil
	}
	s.pump()
	r.handle.finish(final)
	return next
}

// standUp lets another run begin as soon as nothing is left of this one: that its end
// is put on record takes syncs of the disk, and a seat is for what runs. Of runs that
// are being put on record no more than there are seats have given theirs away.
func (s *Scheduler) standUp(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending >= s.o.MaxParallel {
		return
	}
	r.ending = true
	s.ending++
	s.rise(r)
	s.pump()
}

// settled is the end of what standUp began. The caller holds mu.
func (s *Scheduler) settled(r *run) {
	if r.ending {
		r.ending = false
		s.ending--
	}
}

// dismiss ends runs that never left the queue: they hold no seat.
func (s *Scheduler) dismiss(runs []*run) {
	for _, r := range runs {
		s.mu.Lock()
		s.abandon(r)
		s.mu.Unlock()
		s.settle(r, s.halted(r))
	}
}

func (s *Scheduler) haltOf(r *run) *halt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.halt
}

// stopRun tells one run to end. The caller holds mu and calls what it returns
// without it.
func (s *Scheduler) stopRun(r *run, h *halt) (end func()) {
	if r.halt == nil {
		r.halt = h
	}
	switch proc := r.proc; {
	case proc != nil:
		return func() { proc.Cancel(h.code) }
	case r.abort != nil:
		r.abort()
	case r.stage == queued && s.queue.remove(r):
		s.runs.Add(1)
		return func() {
			defer s.runs.Done()
			s.dismiss([]*run{r})
		}
	}
	return func() {}
}

// Cancel ends one run: a queued one does not start, a running one gets TERM, its
// grace, KILL. The error is a *Refusal when no such run is alive.
func (s *Scheduler) Cancel(id string, by record.Requester) error {
	s.mu.Lock()
	r := s.find(id)
	if r == nil {
		s.mu.Unlock()
		return refusal(jobspec.CodeRunUnknown, "no run "+id+" is alive")
	}
	end := s.stopRun(r, &halt{code: jobspec.CodeCanceled, by: &by})
	s.mu.Unlock()
	end()
	return nil
}

// find looks a living run up. The caller holds mu.
func (s *Scheduler) find(id string) *run {
	for _, all := range []map[jobspec.Name]*run{s.live, s.waiting} {
		for _, r := range all {
			if r.id == id {
				return r
			}
		}
	}
	return nil
}
