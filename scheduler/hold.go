package scheduler

import (
	"fmt"
	"maps"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Hold keeps a job from starting until somebody releases it. Its slots get a
// held row each. What runs goes on. It counts at once, and for good when the
// error is nil. Holding a held job is a *Refusal.
func (s *Scheduler) Hold(job jobspec.Name, by record.Requester, why Remark) error {
	return s.hold(job, Hold{By: by}, why)
}

func (s *Scheduler) hold(job jobspec.Name, h Hold, why Remark, reasons ...record.Reason) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	if _, held := s.holds[job]; held {
		s.mu.Unlock()
		return refusal(jobspec.CodeJobHeld, "the job is held already")
	}
	h.At = s.o.Clock.Now()
	s.holds[job] = h
	key := s.table.KeyOf(job)
	s.mu.Unlock()
	row := s.rows.manual(record.Held, key, h.By)
	row.Run, row.Text, row.Reasons = why.ID, why.Text, reasons
	if err := s.write(bounded(row)); err != nil {
		return err
	}
	s.noteBreaker(row)
	return nil
}

// holdForLooking holds the job of a run that left a protected name behind: the
// next run would find it there and take it for the owner's. It comes before the
// run's final row, and so before the job's next start. An error is the ledger's,
// which ends the service's work by itself.
func (s *Scheduler) holdForLooking(r *run, end record.End) {
	for _, d := range end.Denials {
		if d.Code == jobspec.CodeFsProtectedCreated && !d.Expected {
			s.o.Log.Warn("a job is held", "job", string(r.key.Job), "run", r.id, "code", string(d.Code), "target", d.Target)
			_ = s.Hold(r.key.Job, s.o.Origin.Self, Remark{})
			return
		}
	}
}

// Remark is a commitment to free text that is kept under an id beside the
// outputs. The zero value is no text.
type Remark struct {
	ID   string
	Text jobspec.Digest
}

// Release ends a hold; slots from now on start again. It counts once the row is
// durable. Releasing a job that nobody holds is a *Refusal, and so is releasing
// one that the breaker has held too often.
func (s *Scheduler) Release(job jobspec.Name, by record.Requester) error {
	s.tick() // what was due under the hold is held
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	h, held := s.holds[job]
	locked := h.Why == jobspec.CodeBreakerOpen && s.breaker(job).locked(h.At)
	key := s.table.KeyOf(job)
	s.mu.Unlock()
	if !held {
		return refusal(jobspec.CodeJobUnknown, "nobody holds the job")
	}
	if locked {
		return refusal(jobspec.CodeBreakerLocked, fmt.Sprintf("the breaker has held the job %d times within %s", BreakerTrips, BreakerWindow))
	}
	row := s.rows.manual(record.Released, key, by)
	if err := s.write(row); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breaker(job).Note(row)
	delete(s.holds, job)
	return nil
}

// Holds lists the jobs that are held.
func (s *Scheduler) Holds() map[jobspec.Name]Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.holds)
}
