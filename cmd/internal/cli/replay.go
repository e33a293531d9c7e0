package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// replayed is a job in force or a past run that another policy decides in
// another way.
type replayed struct {
	Kind    string       `json:"kind"` // job or run
	Job     jobspec.Name `json:"job"`
	Run     string       `json:"run,omitempty"`
	At      *time.Time   `json:"at,omitempty"` // of the run
	Before  string       `json:"before"`       // allow or refuse
	After   string       `json:"after"`
	Reasons []api.Reason `json:"reasons"` // why the side that refuses does
}

// replay judges ops again. Now is the policy that decides today, nil where the
// one to try is in force already; every job in force was then accepted.
type replay struct {
	site Site
	now  *jobspec.Policy
	next *jobspec.Policy
	ops  map[jobspec.Digest]*jobspec.Op
	at   time.Time
}

func (a *App) policyReplay(ctx context.Context, o policyCheckOptions) error {
	return a.service(ctx, func(svc api.Service) error {
		r, err := a.newReplay(ctx, svc, o.policy)
		if err != nil {
			return err
		}
		changes, err := r.jobs(ctx, svc)
		if err != nil {
			return err
		}
		if o.runs > 0 {
			past, err := r.runs(ctx, svc, o.runs)
			if err != nil {
				return err
			}
			changes = append(changes, past...)
		}
		return a.printReplay(emptyList(changes))
	})
}

func (a *App) newReplay(ctx context.Context, svc api.Service, dir string) (*replay, error) {
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return nil, err
	}
	r := &replay{site: site, at: a.Now(), ops: map[jobspec.Digest]*jobspec.Op{}}
	set, err := site.Policy()
	if dir == "" && err != nil {
		return nil, err
	}
	if err == nil {
		r.next = set.Policy // and where today's cannot be read, every job was accepted
	}
	if dir != "" {
		draft, err := config.DraftPolicy(dir)
		if err != nil {
			return nil, err
		}
		r.now, r.next = r.next, draft.Policy
	}
	ops, err := svc.Ops(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range ops {
		op, err := jobspec.DecodeOp(f.Op)
		if err != nil {
			return nil, err
		}
		r.ops[jobspec.DigestOf(f.Op)] = op
	}
	return r, nil
}

// refusals are what a policy alone has against an op.
func (r *replay) refusals(op *jobspec.Op, p *jobspec.Policy, at time.Time) ([]api.Reason, error) {
	d, err := r.site.Replay(op, p, at)
	if err != nil {
		return nil, err
	}
	var all []api.Reason
	for i, c := range d.Refusals() {
		if judgedByPolicy(c) {
			all = append(all, api.ReasonsOf(d)[i])
		}
	}
	return all, nil
}

func verdictOf(refusals []api.Reason) string {
	if len(refusals) > 0 {
		return "refuse"
	}
	return "allow"
}

// jobs compares what is decided today with what would be.
func (r *replay) jobs(ctx context.Context, svc api.Service) ([]replayed, error) {
	jobs, err := svc.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	var changes []replayed
	for _, j := range jobs {
		op := r.ops[j.Op]
		if op == nil || op.Spec == nil || slices.Contains(j.Flags, "disabled") {
			continue
		}
		at := r.at
		if j.Next != nil { // as the next trigger would: a window is about that
			at = *j.Next
		}
		var before []api.Reason
		if r.now != nil {
			if before, err = r.refusals(op, r.now, at); err != nil {
				return nil, err
			}
		}
		after, err := r.refusals(op, r.next, at)
		if err != nil {
			return nil, err
		}
		c := replayed{Kind: "job", Job: j.Job, Before: verdictOf(before), After: verdictOf(after), Reasons: after}
		if c.After == "allow" {
			c.Reasons = before
		}
		if c.Before != c.After {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// runs compares what became of the last runs with what would have.
func (r *replay) runs(ctx context.Context, svc api.Service, count int) ([]replayed, error) {
	rows, err := svc.History(ctx, api.HistoryQuery{Limit: count})
	if err != nil {
		return nil, err
	}
	var changes []replayed
	for _, row := range rows {
		op := r.ops[row.Op]
		if op == nil || op.Spec == nil {
			continue
		}
		at := r.at
		for _, t := range []*time.Time{row.StartedAt, row.ScheduledFor} {
			if t != nil {
				at = *t
				break
			}
		}
		after, err := r.refusals(op, r.next, at)
		if err != nil {
			return nil, err
		}
		if c, changed := compareRun(row, after); changed {
			c.At = &at
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// compareRun: a run that was started and would be refused, or one that the policy
// alone refused and would not. What was skipped, missed or held did not depend on
// the policy.
func compareRun(row api.Run, after []api.Reason) (replayed, bool) {
	c := replayed{Kind: "run", Job: row.Job, Run: row.Run, Before: "allow", After: verdictOf(after), Reasons: after}
	switch record.Outcome(row.Outcome) {
	case record.OutcomeSkipped, record.OutcomeMissed, record.OutcomeHeld:
		return c, false
	case record.OutcomeRefused:
		if slices.ContainsFunc(row.Reasons, func(r api.Reason) bool { return !policyCode(r.Code) }) {
			return c, false
		}
		c.Before = "refuse"
		if len(after) == 0 {
			c.Reasons = row.Reasons
		}
	}
	return c, c.Before != c.After
}

func (a *App) printReplay(changes []replayed) error {
	if a.flags.json {
		if err := a.items("policy_replay", changes); err != nil {
			return err
		}
	} else if len(changes) == 0 {
		a.say("nothing would change")
	} else {
		t := a.UI.Table("WHAT", "JOB", "RUN", "BEFORE", "AFTER", "REASON")
		for _, c := range changes {
			t.Row(c.Kind, string(c.Job), c.Run, c.Before, c.After, reasonsLine(c.Reasons))
		}
		if _, err := t.WriteTo(a.UI.Out); err != nil {
			return err
		}
	}
	if len(changes) > 0 {
		return exitStatus(jobspec.ClassProblems.Exit())
	}
	return nil
}

func reasonsLine(reasons []api.Reason) string {
	var all []string
	for _, r := range reasons {
		all = append(all, fmt.Sprintf("%s: %s", r.Code, r.Text()))
	}
	return strings.Join(all, "; ")
}
