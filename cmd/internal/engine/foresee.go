package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner/throwaway"
)

// foreseeTime bounds how long one job is looked at: a file system of its owner that
// never answers must not keep all others from being judged.
var foreseeTime = time.Minute

// foreseen is what would become of a job at its next slot.
type foreseen struct {
	op     jobspec.Digest // that was judged
	reason record.Reason  // the zero reason: it would run
}

// Foresee judges every job that has a next slot as that slot's trigger would
// now, one after the other, and keeps what it finds for list and status. A change
// of it is one line of the ledger: with the reason, or without one when the job
// would run again. It uses at most half of one processor, and nothing of what it
// opens is kept.
func (e *Engine) Foresee(ctx context.Context) error {
	if err := e.recallAlerts(); err != nil {
		return err
	}
	all, broken, err := e.shownJobs()
	if err = errors.Join(broken, err); err != nil {
		return err
	}
	var failed []error
	for _, s := range all {
		if s.State != jobspec.JobActive || nextAfter(s, e.Now()) == nil {
			continue
		}
		begin := time.Now()
		if err := e.foreseeJob(ctx, s); err != nil {
			failed = append(failed, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Since(begin)):
		}
	}
	return errors.Join(failed...)
}

func (e *Engine) foreseeJob(ctx context.Context, s shown) error {
	look, done := context.WithTimeout(ctx, foreseeTime)
	defer done()
	reason, err := e.firstBlocker(look, s.Name)
	if err == nil && look.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("job %q could not be looked at within %s", s.Name, foreseeTime)
	}
	if err != nil || ctx.Err() != nil {
		return err
	}
	e.mu.Lock()
	before := e.future[s.Name]
	e.future[s.Name] = foreseen{s.SpecOp, reason}
	e.mu.Unlock()
	if before.reason.Code == reason.Code {
		return nil
	}
	leaf := &record.Leaf{Kind: record.Alert, Job: s.Name, Op: s.SpecOp}
	if reason.Code != "" {
		leaf.Reasons = []record.Reason{reason}
	}
	return e.note(leaf)
}

// firstBlocker is the first reason for which the job would be refused. That
// somebody holds it is told apart, and ends without anything being repaired.
func (e *Engine) firstBlocker(ctx context.Context, name jobspec.Name) (record.Reason, error) {
	v, err := e.Current(name)
	if err != nil {
		return record.Reason{}, err
	}
	x, err := e.Examine(ctx, jobspec.PhaseExplain, v, throwaway.First)
	if err != nil {
		if code := jobspec.CodeOr(err, ""); code != "" {
			return record.Reason{Code: code, Detail: err.Error()}, nil
		}
		return record.Reason{}, err
	}
	defer x.Close()
	for _, c := range x.Decision.Refusals() {
		if c.Code != jobspec.CodeJobHeld && c.Code != jobspec.CodeBreakerOpen {
			return record.Reason{Code: c.Code, Layer: c.Layer, Rule: c.Rule, Target: c.Target, Detail: c.Detail}, nil
		}
	}
	return record.Reason{}, nil
}

// recallAlerts reads once what was foreseen before the service was started, so
// that a restart says nothing twice.
func (e *Engine) recallAlerts() error {
	e.mu.RLock()
	known := e.future != nil
	e.mu.RUnlock()
	if known {
		return nil
	}
	future := map[jobspec.Name]foreseen{}
	alerts, err := e.lastAlerts()
	if err != nil {
		return err
	}
	for job, l := range alerts {
		f := foreseen{op: l.Op}
		if len(l.Reasons) > 0 {
			f.reason = l.Reasons[0]
		}
		future[job] = f
	}
	e.mu.Lock()
	e.future = future
	e.mu.Unlock()
	return nil
}

// wouldRefuse is the code for which the op in force would be refused at its next
// slot, as it was last judged; "" where it would run or nobody has judged yet.
func (e *Engine) wouldRefuse(j jobspec.Job) jobspec.Code {
	e.mu.RLock()
	defer e.mu.RUnlock()
	f := e.future[j.Name]
	if f.op != j.SpecOp || j.State != jobspec.JobActive {
		return ""
	}
	return f.reason.Code
}

// foretold lists the jobs that would be refused, for status, which everybody may
// read: no path and no rule, which explain tells to those who may see the job.
func (e *Engine) foretold(view *jobspec.View) []api.Reason {
	e.mu.RLock()
	var names []jobspec.Name
	for name, f := range e.future {
		if f.reason.Code != "" {
			names = append(names, name)
		}
	}
	e.mu.RUnlock()
	slices.Sort(names)
	out := []api.Reason{}
	for _, name := range names {
		j, ok := view.Job(name)
		if code := e.wouldRefuse(j); ok && code != "" {
			out = append(out, api.Reason{Code: code, Target: string(name), Remedy: code.Remedy()})
		}
	}
	return out
}
