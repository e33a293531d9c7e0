package scheduler

import (
	"context"
	"time"
)

// How long before its slot a claimed run takes its last look: lookBase, and lookEach
// more for each run that waits for a slot, since all of them may be due at the same
// instant and look at the same time; at most LookAhead.
const (
	LookAhead = 50 * time.Millisecond
	lookBase  = 10 * time.Millisecond
	lookEach  = time.Millisecond
	// lookLasts is how old a look may be at the start, by the clock that nobody sets.
	lookLasts = 2 * LookAhead
)

// glance is a last look that was taken before the slot, for a start at the slot. The
// zero value stands for none.
type glance struct {
	yes  bool
	mark string        // of all that it was answered from, taken before it
	boot time.Duration // when it began
}

// lookAhead is how long before their slots armed runs look now. The caller holds mu.
func (s *Scheduler) lookAhead() time.Duration {
	ahead := lookBase
	for _, r := range s.live {
		if r.stage == armed {
			ahead += lookEach
		}
	}
	return min(ahead, LookAhead)
}

// glance waits until the slot is near and takes the last look. What it finds against
// the run is not told: the same is asked again at the slot, and told by a row then.
func (s *Scheduler) glance(ctx context.Context, r *run, k *kit) glance {
	select {
	case <-r.early.look:
	case <-r.early.slot:
		return glance{}
	case <-ctx.Done():
		return glance{}
	}
	g := glance{boot: s.o.Clock.Boot()}
	mark, ok := s.o.Verifier.Mark()
	if !ok {
		return glance{}
	}
	g.mark = mark
	fresh := s.ask(k.exam)
	defer fresh() // nothing is closed under it
	no := s.lastLook(r, k.v, k.exam)
	g.yes = fresh() && no == nil
	return g
}

// stands reports whether a look still answers at the slot. Every change of the chain,
// the trust files and the policy that came behind it sends the run to a new one. What
// was found of the files of the job is as old as the look: what was hashed is what
// runs, whatever becomes of their names, as on the plain road.
func (g glance) stands(s *Scheduler, r *run) bool {
	if !g.yes || s.o.Clock.Boot()-g.boot > lookLasts {
		return false
	}
	// The look was taken for the slot. A clock that was set ahead has left it.
	if s.o.Clock.Now().Sub(r.due.At) > lookLasts {
		return false
	}
	mark, ok := s.o.Verifier.Mark()
	return ok && mark == g.mark
}
