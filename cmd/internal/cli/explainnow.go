package cli

import (
	"context"
	"slices"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// differenceNow holds the recorded decision of a run against the one that the
// job would get now. The record stays what it is; this only says what changed.
func differenceNow(ctx context.Context, svc api.Service, r api.Run) *api.Difference {
	now, err := svc.Explain(ctx, r.Job)
	if err != nil {
		return &api.Difference{Decision: "refuse", Problem: err.Error()}
	}
	d := &api.Difference{Decision: now.Decision}
	if job, err := svc.Job(ctx, r.Job); err == nil {
		d.OpNow = r.Op.IsZero() || job.Op == r.Op || jobspec.DigestOf(job.Bytes) == r.Op
	}
	var today []api.Reason
	for _, c := range now.Checks {
		if c.Verdict != "yes" {
			today = append(today, reasonOf(c))
		}
	}
	then := recordedRefusal(r)
	d.Gone, d.New = missingFrom(today, then), missingFrom(then, today)
	d.Same = d.OpNow && len(d.Gone) == 0 && len(d.New) == 0 && (d.Decision == "allow") == started(r)
	return d
}

// recordedRefusal is why a run did not start. The reasons of one that did start
// tell how it ended, which is no decision.
func recordedRefusal(r api.Run) []api.Reason {
	if started(r) {
		return nil
	}
	return r.Reasons
}

// missingFrom lists what of b has no equal in a. Words may differ between
// versions; code and target are what a reason is.
func missingFrom(a, b []api.Reason) []api.Reason {
	var out []api.Reason
	for _, r := range b {
		if !slices.ContainsFunc(a, func(s api.Reason) bool { return s.Code == r.Code && s.Target == r.Target }) {
			out = append(out, r)
		}
	}
	return out
}

func (a *App) printNow(d *api.Difference) {
	switch {
	case d == nil:
		return
	case d.Problem != "":
		a.line("now: it cannot be told what would be decided: %s", d.Problem)
		return
	case d.Same:
		a.line("now: the same would be decided")
		return
	}
	a.line("now: it would be %s", decisionWord(d.Decision))
	if !d.OpNow {
		a.line("  the job was signed anew since; this run had another op")
	}
	for _, r := range d.Gone {
		a.line("  no longer: %s", reasonLine(r))
	}
	for _, r := range d.New {
		a.line("  new: %s", reasonLine(r))
	}
}

func decisionWord(decision string) string {
	if decision == "allow" {
		return "allowed"
	}
	return "refused"
}
