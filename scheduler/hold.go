package scheduler

import (
	"maps"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Hold keeps a job from starting until somebody releases it. Its slots get a
// held row each. What runs goes on. It counts at once, and for good when the
// error is nil. Holding a held job is a *Refusal.
func (s *Scheduler) Hold(job jobspec.Name, by record.Requester, why Remark) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	if _, held := s.holds[job]; held {
		s.mu.Unlock()
		return refusal(jobspec.CodeJobHeld, "the job is held already")
	}
	s.holds[job] = Hold{By: by, At: s.o.Clock.Now()}
	key := s.table.KeyOf(job)
	s.mu.Unlock()
	row := s.rows.manual(record.Held, key, by)
	row.Run, row.Text = why.ID, why.Text
	return s.write(row)
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
// durable. Releasing a job that nobody holds is a *Refusal.
func (s *Scheduler) Release(job jobspec.Name, by record.Requester) error {
	s.tick() // what was due under the hold is held
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	_, held := s.holds[job]
	key := s.table.KeyOf(job)
	s.mu.Unlock()
	if !held {
		return refusal(jobspec.CodeJobUnknown, "nobody holds the job")
	}
	if err := s.write(s.rows.manual(record.Released, key, by)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holds, job)
	return nil
}

// Holds lists the jobs that are held.
func (s *Scheduler) Holds() map[jobspec.Name]Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.holds)
}
