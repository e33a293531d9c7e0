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

// holdSelf is a hold by the service. It takes the place of one that somebody else
// has on the job: who may hold a job may also release the own hold, and the
// service's is for an operator to release.
func (s *Scheduler) holdSelf(job jobspec.Name, code jobspec.Code, reasons ...record.Reason) error {
	return s.hold(job, Hold{By: s.o.Origin.Self, Why: code, own: true}, Remark{}, reasons...)
}

// replaces: the breaker's hold goes before any other, and one by the service
// before those of others.
func (h Hold) replaces(old Hold) bool {
	switch {
	case !h.own || old.Why == jobspec.CodeBreakerOpen:
		return false
	case h.Why == jobspec.CodeBreakerOpen:
		return true
	}
	return !old.own && old.By != h.By
}

func (s *Scheduler) hold(job jobspec.Name, h Hold, why Remark, reasons ...record.Reason) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	if old, held := s.holds[job]; held && !h.replaces(old) {
		s.mu.Unlock()
		return refusal(jobspec.CodeJobHeld, "the job is held already")
	}
	h.At = s.o.Clock.Now()
	h = h.bound(h.At, s.o.Clock.Boot())
	s.holds[job] = h
	s.dropAhead(job)
	key := s.table.KeyOf(job)
	s.mu.Unlock()
	row := s.rows.manual(record.Held, key, h.By)
	row.Run, row.Text, row.Reasons, row.Until = why.ID, why.Text, reasons, stamp(h.Until)
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
			_ = s.holdSelf(r.key.Job, "", record.Reason{Code: d.Code, Target: r.id, Detail: "the run left " + jobspec.Quote(d.Target)})
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
	return s.lift(job, by, false)
}

// ReleaseOwn is Release for those who may only take back what they did: a hold
// by anybody else, the service's included, is a *Refusal.
func (s *Scheduler) ReleaseOwn(job jobspec.Name, by record.Requester) error {
	return s.lift(job, by, true)
}

func (s *Scheduler) lift(job jobspec.Name, by record.Requester, own bool) error {
	s.tick() // what was due under the hold is held
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	h, held := s.holds[job]
	locked := h.Why == jobspec.CodeBreakerOpen && s.breaker(job).locked(h.At)
	key := s.table.KeyOf(job)
	s.mu.Unlock()
	if !held {
		return refusal(jobspec.CodeJobNotHeld, "nobody holds the job")
	}
	if own && h.By.UID != by.UID {
		return refusal(jobspec.CodeRoleInsufficient, "the hold on the job is another's")
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
