package scheduler

import "github.com/sbxcron/sbxcron/jobspec"

// Shutdown ends the service's work: nothing new starts, what runs gets the drain
// time, then TERM, its grace, KILL. A second call ends at once. Run returns when
// all is over; Shutdown does not wait.
func (s *Scheduler) Shutdown() {
	s.mu.Lock()
	again := s.asked && !s.killed
	s.killed = s.killed || s.asked
	s.asked = true
	s.mu.Unlock()
	if again {
		close(s.kill)
	}
	s.begin()
}

// begin enters the drain, once.
func (s *Scheduler) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != draining {
		s.phase = draining
		close(s.stop)
		s.nudge()
	}
}

// drain waits for the runs and ends those that take too long.
func (s *Scheduler) drain() {
	s.begin()
	s.mu.Lock()
	s.asked = true // whoever asked by ending the context asked once
	s.mu.Unlock()
	s.dismiss(s.leftInQueue())
	s.dropAllAhead()
	s.abortPreparations()

	over := make(chan struct{})
	go func() {
		defer close(over)
		s.runs.Wait()
	}()
	select {
	case <-over:
		return
	case <-s.o.After(s.o.Drain):
		s.endAll(Process.Cancel)
	case <-s.kill:
	}
	select {
	case <-over:
		return
	case <-s.kill:
		s.endAll(Process.Kill)
	}
	<-over
}

// leftInQueue takes what waits for room, after the turn at hand has ended.
func (s *Scheduler) leftInQueue() []*run {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	var left []*run
	for _, r := range s.queue.takeAll() {
		if r.resume == nil { // else its own goroutine sees the end
			left = append(left, r)
		}
	}
	return left
}

// abortPreparations ends what would not be released any more.
func (s *Scheduler) abortPreparations() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.live {
		if (r.stage == preparing || r.stage == armed) && r.abort != nil && !r.claimed {
			r.abort()
		}
	}
}

// endAll tells every released run to end, and marks those that are about to be.
func (s *Scheduler) endAll(end func(Process, jobspec.Code)) {
	s.mu.Lock()
	var procs []Process
	for _, r := range s.live {
		if r.halt == nil {
			r.halt = &halt{code: jobspec.CodeShutdown}
		}
		if r.proc != nil {
			procs = append(procs, r.proc)
		}
	}
	s.mu.Unlock()
	for _, p := range procs {
		end(p, jobspec.CodeShutdown)
	}
}
