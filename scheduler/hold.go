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
