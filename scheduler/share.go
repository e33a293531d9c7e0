package scheduler

import (
	"container/heap"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// share names whose runs are counted together: those of one principal in one tier.
type share struct {
	principal jobspec.Principal
	tier      jobspec.Tier
}

// Shares bound how many runs of a principal, and of a tier, are prepared or going on
// at one time. What is not listed has no bound of its own.
type Shares struct {
	Principals map[jobspec.Principal]int
	Tiers      map[jobspec.Tier]int
}

// sharesLast is how long one answer to what the shares are is gone by.
const sharesLast = 5 * time.Second

// seats counts the runs that are prepared or going on. A principal never has all of
// the seats while others have jobs too: one is kept for each of the others, up to
// half of all. So whoever fills the machine with slow jobs delays the own ones.
type seats struct {
	most       int // of all
	taken      int
	principals map[jobspec.Principal]int
	tiers      map[jobspec.Tier]int
	bounds     Shares
	sharing    int // principals with jobs in force
	asked      time.Duration
}

func newSeats(most int) seats {
	return seats{most: most, principals: map[jobspec.Principal]int{}, tiers: map[jobspec.Tier]int{}}
}

// free reports whether a run of this share may take a seat.
func (s *seats) free(of share) bool {
	if s.taken >= s.most || s.principals[of.principal] >= s.fair() {
		return false
	}
	if most, ok := s.bounds.Principals[of.principal]; ok && s.principals[of.principal] >= most {
		return false
	}
	most, ok := s.bounds.Tiers[of.tier]
	return !ok || s.tiers[of.tier] < most
}

// fair is how many seats one principal may have at most.
func (s *seats) fair() int {
	return s.most - min(max(s.sharing-1, 0), s.most/2)
}

func (s *seats) take(of share) {
	s.taken++
	s.principals[of.principal]++
	s.tiers[of.tier]++
}

func (s *seats) leave(of share) {
	s.taken--
	if s.principals[of.principal]--; s.principals[of.principal] == 0 {
		delete(s.principals, of.principal)
	}
	s.tiers[of.tier]--
}

// sit gives a run its seat, under the share that it has now. The caller holds mu.
func (s *Scheduler) sit(r *run) {
	r.seated = true
	r.sits = r.how.share
	s.seats.take(r.sits)
}

// rise takes the seat of a run back. The caller holds mu.
func (s *Scheduler) rise(r *run) {
	if r.seated {
		r.seated = false
		s.seats.leave(r.sits)
	}
}

// askShares asks what the policy bounds, outside of mu.
func (s *Scheduler) askShares(boot time.Duration) {
	if s.o.Shares == nil {
		return
	}
	s.mu.Lock()
	again := s.seats.asked == 0 || boot-s.seats.asked > sharesLast
	s.mu.Unlock()
	if !again {
		return
	}
	bounds, ok := s.o.Shares()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seats.asked = max(boot, 1)
	if ok {
		s.seats.bounds = bounds
	}
}

// line are the waiting runs of one share, in the order of the queue.
type line struct{ runs runHeap }

// queue holds runs that wait for room: the oldest slot first, by name where two
// are the same, among those whose share has a seat. Catch-ups wait for their moment
// too.
type queue struct {
	lines map[share]*line
	apart apartHeap // wait for their moment
	n     int
}

// Len is how many wait for room; those whose moment has not come are not counted.
func (q *queue) Len() int { return q.n }

// pop takes the run that is next, nil where none may have a seat.
func (q *queue) pop(may func(share) bool) *run {
	var best *line
	for of, l := range q.lines {
		if may(of) && (best == nil || l.runs.less(l.runs[0], best.runs[0])) {
			best = l
		}
	}
	if best == nil {
		return nil
	}
	return q.take(best, 0)
}

// wants reports whether a run waits that may have a seat.
func (q *queue) wants(may func(share) bool) bool {
	for of := range q.lines {
		if may(of) {
			return true
		}
	}
	return false
}

// come moves those whose moment has come to their lines.
func (q *queue) come(boot time.Duration) {
	for len(q.apart) > 0 && q.apart[0].notBefore <= boot {
		q.enter(heap.Pop(&q.apart).(*run))
	}
}

// takeAll empties the queue in its order.
func (q *queue) takeAll() []*run {
	for len(q.apart) > 0 {
		q.enter(heap.Pop(&q.apart).(*run))
	}
	var all []*run
	for q.n > 0 {
		all = append(all, q.pop(func(share) bool { return true }))
	}
	return all
}
