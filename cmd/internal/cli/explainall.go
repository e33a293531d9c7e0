package cli

import (
	"context"
	"slices"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// named counts what is given.
func named(given ...bool) int {
	n := 0
	for _, g := range given {
		if g {
			n++
		}
	}
	return n
}

// explainAll judges every job that has a next slot and that the caller may see,
// as that slot would now.
func (a *App) explainAll(ctx context.Context) error {
	return a.service(ctx, func(svc api.Service) error {
		jobs, err := svc.Jobs(ctx)
		if err != nil {
			return err
		}
		all, hidden, err := explainJobs(ctx, svc, jobs)
		if err != nil {
			return err
		}
		if hidden > 0 {
			a.say("note: %d job(s) are not yours to look into and were left out", hidden)
		}
		if a.flags.json {
			err = a.items("explain", all)
		} else {
			err = a.printAll(jobs, all)
		}
		refuses := func(x api.Explanation) bool { return x.Decision != "allow" }
		if err == nil && slices.ContainsFunc(all, refuses) {
			return exitStatus(jobspec.ClassProblems.Exit())
		}
		return err
	})
}

func explainJobs(ctx context.Context, svc api.Service, jobs []api.Job) (all []api.Explanation, hidden int, err error) {
	for _, j := range jobs {
		if j.Next == nil {
			continue
		}
		x, err := svc.Explain(ctx, j.Job)
		if err != nil {
			if api.Wrap(err).ErrCode != jobspec.CodeRoleInsufficient {
				return nil, 0, err
			}
			hidden++
			continue
		}
		all = append(all, x)
	}
	return all, hidden, nil
}

func (a *App) printAll(jobs []api.Job, all []api.Explanation) error {
	if len(all) == 0 {
		a.say("no job has a next slot")
		return nil
	}
	t := a.UI.Table("JOB", "NEXT", "DECISION", "WHY")
	for _, x := range all {
		i := slices.IndexFunc(jobs, func(j api.Job) bool { return j.Job == x.Job })
		t.Row(string(x.Job), a.UI.Time(jobs[i].Next, a.Now()), x.Decision, firstNo(x))
	}
	_, err := t.WriteTo(a.UI.Out)
	return err
}

// firstNo is the first blocker of a decision, "" where there is none.
func firstNo(x api.Explanation) string {
	for _, c := range x.Checks {
		if c.Verdict != "yes" {
			return reasonLine(reasonOf(c))
		}
	}
	return ""
}
