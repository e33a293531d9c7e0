package scheduler

import (
	"cmp"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// lastLook asks once more, when the sandbox stands and nothing is recorded yet,
// for what may have been taken back while it was built: the owner's key, the op,
// and what the policy allows. Building can take long on a busy machine, and who
// revokes a key relies on it that what has not started does not start.
func (s *Scheduler) lastLook(r *run, v Verified, exam *openExam) *record.Leaf {
	again, err := s.o.Verifier.Current(r.key.Job)
	if err != nil {
		return s.orHalted(r, s.rows.refused(r, v, noIdentity(exam.Basis()), reasonOf(err, jobspec.CodeIdentityUnproven)))
	}
	if !again.Signed.Valid() || again.Identity != "" {
		why := record.Reason{Code: cmp.Or(again.Identity, jobspec.CodeIdentityUnproven), Detail: again.Detail}
		return s.orHalted(r, s.rows.refused(r, v, noIdentity(exam.Basis()), why))
	}
	if again.Signed.Digest() != v.Signed.Digest() {
		return s.orHalted(r, s.rows.skipped(r, record.Reason{Code: jobspec.CodeHeadMoved, Detail: "the job was replaced while its sandbox was built"}, nil))
	}
	ruling, err := exam.Again(r.due.At)
	switch {
	case err != nil:
		return s.orHalted(r, s.rows.refused(r, v, exam.Basis(), reasonOf(err, jobspec.CodeInternal)))
	case !ruling.Allowed():
		return s.orHalted(r, s.rows.refused(r, v, exam.Basis(), reasonsOf(ruling.Refusals())...))
	case !exam.Fits():
		why := record.Reason{Code: jobspec.CodeNetOverCeiling, Detail: "what the policy opens for the job changed while its sandbox was built"}
		return s.orHalted(r, s.rows.refused(r, v, exam.Basis(), why))
	}
	return nil
}

// noIdentity keeps a record from saying yes to a key that does not count any more.
func noIdentity(b Basis) Basis {
	b.Verdicts.Identity = jobspec.No
	return b
}
