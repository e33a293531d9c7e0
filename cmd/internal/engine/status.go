package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
)

// statusNext is how many coming slots status shows.
const statusNext = 3

// Status tells the state of the installation. A broken chain is a problem in it,
// not an error.
func (e *Engine) Status(ctx context.Context) (api.Status, error) {
	out := api.Status{Health: "ok", Problems: e.Problems(), Running: []api.Run{}, Next: []api.Next{},
		Folder: e.Site.State, SameUID: !e.Site.System(), Version: e.Version, Host: e.host()}
	if len(out.Problems) > 0 {
		out.Health = string(out.Problems[0].Code)
	}
	open, err := e.runs.Open()
	if err != nil {
		return out, err
	}
	for _, row := range open {
		if e.isRunning(row.First().Run) {
			out.Running = append(out.Running, e.apiRun(row))
		}
	}
	view := e.view()
	out.Jobs, out.WouldRefuse, out.Expiring = int(view.Present()), e.foretold(view), expiring(view, e.Now())
	if next, err := e.soonest(ctx, statusNext); err == nil {
		out.Next = next
	}
	return out, nil
}

// view is what the chain adds up to, or what can be read of it where it is broken.
func (e *Engine) view() *jobspec.View {
	if chain, err := e.opened(); err == nil {
		return chain.State().View
	}
	view, _, err := e.unproven()
	if err != nil {
		return &jobspec.View{}
	}
	return view
}

// soonest are the next starts of all jobs. The timetable of a running service knows
// which jobs have them; else every job is asked.
func (e *Engine) soonest(ctx context.Context, n int) ([]api.Next, error) {
	l := e.attached()
	if l == nil {
		return e.Next(ctx, api.NextQuery{Count: n})
	}
	var jobs []shown
	for _, name := range l.Soonest(n) {
		if s, _, err := e.find(name); err == nil {
			jobs = append(jobs, s)
		}
	}
	return e.nextOfAll(jobs, api.NextQuery{From: e.Now(), Count: n}), nil
}

// Problems lists what keeps jobs from running, or will.
func (e *Engine) Problems() []api.Reason {
	problems := []api.Reason{}
	add := func(err error) {
		if err != nil {
			problems = append(problems, *problemOf(err))
		}
	}
	if _, err := e.opened(); err != nil {
		add(err)
	}
	if err := e.history.Damage(); err != nil {
		p := problemOf(err)
		p.Target = api.LedgerTarget
		problems = append(problems, *p)
	}
	e.mu.RLock()
	log := e.log
	e.mu.RUnlock()
	if log != nil {
		add(log.Err())
	}
	_, err := e.Site.Trust()
	add(err)
	if pin, perr := store.ReadPin(e.Site.Dirs); perr == nil {
		p, err := e.Site.Policy(pin.PolicySerial)
		add(err)
		problems = append(problems, ownerProblems(p)...)
	}
	if code, detail := e.ClockDoubt(); code != "" {
		problems = append(problems, api.Reason{Code: code, Target: "clock", Detail: detail, Remedy: code.Remedy()})
	}
	return append(problems, e.doubtful()...)
}

// ownerProblems lists the faults of files that principals keep about their jobs.
func ownerProblems(p *jobspec.Policy) []api.Reason {
	var all []api.Reason
	if p == nil {
		return nil
	}
	for _, who := range slices.Sorted(maps.Keys(p.Owners)) {
		if o := p.Owners[who]; o.Reason != "" {
			all = append(all, api.Reason{Code: o.Reason, Layer: jobspec.LayerOwner, Target: string(who), Detail: o.Detail, Remedy: o.Reason.Remedy()})
		}
	}
	return all
}
