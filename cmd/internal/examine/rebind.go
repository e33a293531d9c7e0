package examine

import (
	"context"
	"fmt"
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Rebound makes the unsigned op that replaces old with the same spec, bound to
// what lies on the machine now: the files that its names lead to, the folder,
// the sources of binds and the account. The approval ends when the old one ends.
// Answers are left out; the owner's decision is for the caller to carry over.
func (x *Examiner) Rebound(ctx context.Context, old *jobspec.Op, at Position) (*jobspec.Op, error) {
	policy, err := x.policy()
	if err != nil {
		return nil, err
	}
	created := jobspec.InstantOf(at.Now)
	op := &jobspec.Op{Type: jobspec.OpType, Host: at.Host, Seq: at.Seq, Prev: at.Prev, Action: jobspec.Replace, Job: old.Job,
		Revision: at.Revision, Created: created, ApplyBefore: created.Add(jobspec.DefaultApplyFor),
		Principal: at.Principal, Tier: old.Tier, Net: old.Net}
	spec := *old.Spec
	op.Spec = &spec
	spec.Answers = nil
	spec.Policy = digestsOf(policy, at.Principal)
	if err := x.lookAgain(ctx, &spec); err != nil {
		return nil, fmt.Errorf("rebind job %q: %w", old.Job, err)
	}
	return op, nil
}

// lookAgain fills everything of a spec that tells of the machine.
func (x *Examiner) lookAgain(ctx context.Context, s *jobspec.Spec) error {
	if !s.RunAs.IsZero() {
		now, err := x.runAs(&jobspec.Draft{RunAs: s.RunAs.User}, jobspec.Ceiling{})
		if err != nil {
			return err
		}
		s.RunAs = now
	}
	acct := x.draftAccount(s.RunAs)
	var f jobspec.Facts
	where := "/"
	if s.Cwd.Path != "" {
		where = s.Cwd.Path
		if err := findCwd(ctx, acct, where, s.Git == jobspec.GitCommit, &f); err != nil {
			return err
		}
	}
	bound, err := x.bind(ctx, acct, s.BindTargets(), where, s.Accepts(jobspec.WeakerExecPackage))
	if err != nil {
		return err
	}
	f.Bound = bound
	if err := x.findBinds(ctx, acct, slices.Clone(s.Bind), "/", &f); err != nil {
		return err
	}
	s.Cwd, s.Bound, s.Bind = f.Cwd, f.Bound, f.Bind
	s.Coverage = jobspec.CoverageOf(s)
	return nil
}
