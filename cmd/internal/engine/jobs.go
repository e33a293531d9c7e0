package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner/statedir"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
	"github.com/sbxcron/sbxcron/store"
)

// shown is a job with the op that holds its spec, for showing. It grants
// nothing: what runs is verified anew.
type shown struct {
	jobspec.Job
	op *jobspec.Op
}

// shownJobs lists the jobs that were not removed, by name. Where the chain
// cannot be proven it shows what can be read of it, and broken says why.
func (e *Engine) shownJobs() (all []shown, broken error, err error) {
	chain, broken := e.opened()
	read := func(seq int64) (*jobspec.Op, error) {
		entry, err := chain.Entry(seq)
		if err != nil {
			return nil, err
		}
		return jobspec.DecodeOp(entry.Op)
	}
	var view *jobspec.View
	if broken == nil {
		view = chain.State().View
	} else if view, read, err = e.unproven(); err != nil {
		return nil, broken, nil // nothing can be read: the caller says why
	}
	for _, j := range view.Jobs() {
		if j.State == jobspec.JobRemoved {
			continue
		}
		all = append(all, showing(j, read))
	}
	slices.SortFunc(all, func(a, b shown) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return all, broken, nil
}

// unproven reads what is left of a broken chain.
func (e *Engine) unproven() (*jobspec.View, func(int64) (*jobspec.Op, error), error) {
	entries, err := e.rawEntries()
	if err != nil {
		return nil, nil, err
	}
	view, ops := &jobspec.View{}, map[int64]*jobspec.Op{}
	for _, entry := range entries {
		op, err := jobspec.DecodeOp(entry.Op)
		if err != nil {
			continue
		}
		if _, err := view.Check(op); err != nil {
			continue
		}
		view.Extend(op, jobspec.DigestOf(entry.Op))
		ops[op.Seq] = op
	}
	return view, func(seq int64) (*jobspec.Op, error) { return ops[seq], nil }, nil
}

// rawEntries reads the entries of the chain, proven or not.
func (e *Engine) rawEntries() ([]store.Entry, error) {
	e.mu.RLock()
	chain := e.chain
	e.mu.RUnlock()
	if chain != nil {
		return e.entries()
	}
	return store.ReadEntries(e.Site.Dirs)
}

// Jobs lists the jobs.
func (e *Engine) Jobs(context.Context) ([]api.Job, error) {
	all, broken, err := e.shownJobs()
	if err != nil {
		return nil, err
	}
	out := make([]api.Job, 0, len(all))
	for _, s := range all {
		j, err := e.apiJob(s, broken)
		if err != nil {
			return nil, err
		}
		out = append(out, j)
	}
	return out, nil
}

// Listed is the line of one job.
func (e *Engine) Listed(_ context.Context, name jobspec.Name) (api.Job, error) {
	s, broken, err := e.find(name)
	if err != nil {
		return api.Job{}, err
	}
	return e.apiJob(s, broken)
}

func (e *Engine) apiJob(s shown, broken error) (api.Job, error) {
	now := e.Now()
	out := api.Job{
		Job: s.Name, Revision: s.Revision, Op: s.SpecOp, Principal: s.Principal, Tier: s.Tier, Net: s.Net,
		Schedule: ScheduleText(s.op.Spec.Schedule), Timezone: s.op.Spec.Schedule.Timezone, Flags: []string{},
	}
	rows, err := e.runs.Runs(store.Query{Job: s.Name, Limit: 1})
	if err != nil {
		return out, err
	}
	running := false
	if len(rows) > 0 {
		run := e.apiRun(rows[0])
		out.Last = &api.Last{Run: run.Run, Outcome: run.Outcome, StartedAt: run.StartedAt}
		running = rows[0].Final == nil && e.isRunning(run.Run)
	}
	held := e.isHeld(s.Name)
	expired := !s.op.Spec.ExpiresAt.IsZero() && !now.Before(s.op.Spec.ExpiresAt.Time())
	refused := broken != nil || out.Last != nil && out.Last.Outcome == string(record.OutcomeRefused)
	for _, f := range []struct {
		name string
		on   bool
	}{{"running", running}, {"expired", expired}, {"disabled", s.State == jobspec.JobDisabled}, {"held", held}, {"refused", refused},
		{"done", over(s.op.Spec.Schedule, s.SpecOp, now)}} {
		if f.on {
			out.Flags = append(out.Flags, f.name)
		}
	}
	out.State = "active"
	if len(out.Flags) > 0 {
		out.State = out.Flags[0]
	}
	if !expired && s.State == jobspec.JobActive {
		out.Next = nextAfter(s, now)
	}
	if out.WouldRefuse = e.wouldRefuse(s.Job); out.WouldRefuse != "" {
		out.Flags = append(out.Flags, "would_refuse") // a flag and no state: it may still be repaired
	}
	if _, soon := endsSoon(s.Job, s.timing(), now); soon {
		out.Flags = append(out.Flags, "expiring")
	}
	return out, nil
}

// ScheduleText is a schedule as it was typed.
func ScheduleText(s jobspec.Schedule) string {
	switch {
	case s.Cron != "":
		return s.Cron
	case s.EverySeconds > 0:
		return "every " + jobspec.FormatSpan(time.Duration(s.EverySeconds)*time.Second)
	case !s.At.IsZero():
		return "at " + s.At.String()
	}
	return ""
}

// over reports whether the one instant of a job with at has passed, with its
// jitter: it starts no more.
func over(s jobspec.Schedule, op jobspec.Digest, now time.Time) bool {
	return !s.At.IsZero() && !now.Before(s.At.Time().Add(calendar.Jitter(s, op)))
}

// timing is what the view keeps of the op that is shown.
func (s shown) timing() jobspec.Timing {
	return jobspec.Timing{Schedule: s.op.Spec.Schedule, Anchor: s.op.Created, ExpiresAt: s.op.Spec.ExpiresAt}
}

func nextAfter(s shown, now time.Time) *time.Time {
	c, err := calendar.Of(s.op.Spec.Schedule, s.op.Created.Time(), s.SpecOp)
	if err != nil {
		return nil // the job is refused for it; explain says why
	}
	due, ok := c.Next(now)
	if !ok || !due.At.Before(s.op.Spec.ExpiresAt.Time()) {
		return nil
	}
	at := due.At.UTC()
	return &at
}

func (e *Engine) nextOf(name jobspec.Name, now time.Time) *time.Time {
	s, _, err := e.find(name)
	if err != nil || s.State != jobspec.JobActive {
		return nil
	}
	return nextAfter(s, now)
}

func (e *Engine) isHeld(name jobspec.Name) bool {
	if l := e.attached(); l != nil {
		return l.IsHeld(name)
	}
	held, _ := e.Holds() // damage is told of by Problems; what lies before it counts
	return held[name] != nil
}

// heldFor is the reason that a held job's triggers get, "" where it is not held.
func (e *Engine) heldFor(name jobspec.Name) jobspec.Code {
	if l := e.attached(); l != nil {
		return l.HeldFor(name)
	}
	holds, _ := e.Holds() // damage is told of by Problems; what lies before it counts
	if l := holds[name]; l != nil {
		return scheduler.HoldOf(l).CauseCode()
	}
	return ""
}

// Job shows everything about one job. Verified is true only if signature and key
// hold now. Of a removed job only what an op that adds the name again must know.
func (e *Engine) Job(_ context.Context, name jobspec.Name) (api.JobDetail, error) {
	s, broken, err := e.find(name)
	if err != nil {
		if d, ok := e.Tombstone(name); ok {
			return d, nil
		}
		return api.JobDetail{}, err
	}
	line, err := e.apiJob(s, broken)
	if err != nil {
		return api.JobDetail{}, err
	}
	d := api.JobDetail{Job: line}
	fillDetail(&d, s.op)
	if s.op.Spec.StateDir {
		d.StateDir = statedir.Folder{Root: e.Site.JobsState(), Name: s.StateName()}.Path()
	}
	d.Hold = e.holdOf(name)
	if broken != nil {
		d.Problem = problemOf(broken)
		return d, nil
	}
	return d, e.verifyDetail(&d, s.Job)
}

// Tombstone is what is left of a removed job: its revision never restarts.
func (e *Engine) Tombstone(name jobspec.Name) (api.JobDetail, bool) {
	chain, err := e.opened()
	if err != nil {
		return api.JobDetail{}, false
	}
	j, ok := chain.State().View.Job(name)
	if !ok || j.State != jobspec.JobRemoved {
		return api.JobDetail{}, false
	}
	return api.JobDetail{Job: api.Job{Job: name, Revision: j.Revision, Op: j.SpecOp, Principal: j.Principal,
		Tier: j.Tier, Net: j.Net, State: string(j.State), Flags: []string{}}}, true
}

// holdOf tells of the hold on a job, nil for none.
func (e *Engine) holdOf(name jobspec.Name) *api.Hold {
	holds, _ := e.Holds() // damage is told of by Problems; what lies before it counts
	l := holds[name]
	if l == nil {
		return nil
	}
	h := &api.Hold{At: stamp(l.Time), Until: stamp(l.Until)}
	if l.RequestedBy != nil {
		h.ByUID = l.RequestedBy.UID
	}
	if len(l.Reasons) > 0 {
		h.Reason = string(l.Reasons[0].Code) + ": " + l.Reasons[0].Detail
	}
	if l.Run != "" {
		h.Reason, _ = e.Outputs.Text(l.Run) // gone once it was pruned
	}
	return h
}

func fillDetail(d *api.JobDetail, op *jobspec.Op) {
	d.Seq, d.Prev, d.Host = op.Seq, op.Prev, op.Host
	d.SignedAt, d.ExpiresAt = op.Created, op.Spec.ExpiresAt
	d.Command, d.Cwd, d.Policy = op.Spec.Argv, op.Spec.Cwd.Path, op.Spec.Policy
	d.Files, d.Coverage = op.Spec.Bound, op.Spec.Coverage
	d.Summary = jobspec.Summary(op)
}

func (e *Engine) verifyDetail(d *api.JobDetail, j jobspec.Job) error {
	v, err := e.Current(j.Name)
	if err != nil {
		d.Problem = problemOf(err)
		return nil
	}
	d.Bytes, d.Sig, d.Hash = v.Entry.Op, v.Entry.Sigs[0], jobspec.DigestOf(v.Entry.Op)
	d.KeyID, d.Verified = cmp.Or(v.KeyID, e.keyID(v.Entry.Sigs[0])), v.Refused == "" // a revoked key has a name, too
	if v.Refused != "" {
		d.Problem = &api.Reason{Code: v.Refused, Detail: v.Detail, Remedy: v.Refused.Remedy()}
	}
	return nil
}

func problemOf(err error) *api.Reason {
	code, detail := jobspec.CodeOf(err), err.Error()
	return &api.Reason{Code: code, Detail: detail, Remedy: api.Wrap(err).Help}
}
