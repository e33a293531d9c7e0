package engine

import (
	"context"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Watched is a job as far as notices about it go. It grants nothing.
type Watched struct {
	Name      jobspec.Name
	Principal jobspec.Principal
	Op        jobspec.Digest // that holds the spec
	Active    bool
	Events    []jobspec.Event // that the spec names, none for the default
	Created   time.Time
	Expires   time.Time
}

// Watched is one job, false for one that is not there or cannot be read.
func (e *Engine) Watched(name jobspec.Name) (Watched, bool) {
	chain, err := e.opened()
	if err != nil {
		return Watched{}, false
	}
	j, ok := chain.State().View.Job(name)
	if !ok || j.State == jobspec.JobRemoved {
		return Watched{}, false
	}
	return watched(chain, j)
}

func watched(chain Entries, j jobspec.Job) (Watched, bool) {
	w := Watched{Name: j.Name, Principal: j.Principal, Op: j.SpecOp, Active: j.State == jobspec.JobActive}
	entry, err := chain.Entry(j.SpecSeq)
	if err != nil {
		return w, false
	}
	op, err := jobspec.DecodeOp(entry.Op)
	if err != nil || op.Spec == nil {
		return w, false
	}
	for _, event := range op.Spec.Notify {
		w.Events = append(w.Events, jobspec.Event(event))
	}
	w.Created, w.Expires = op.Created.Time(), op.Spec.ExpiresAt.Time()
	return w, true
}

// watchedBatch is after how many jobs EachWatched rests as long as they took.
const watchedBatch = 256

// EachWatched calls fn for each job that is active, in no order, with at most half
// of one processor.
func (e *Engine) EachWatched(ctx context.Context, fn func(Watched)) error {
	chain, err := e.opened()
	if err != nil {
		return err
	}
	begin := time.Now()
	for i, j := range chain.State().View.Jobs() {
		if j.State == jobspec.JobActive {
			if w, ok := watched(chain, j); ok {
				fn(w)
			}
		}
		if (i+1)%watchedBatch != 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Since(begin)):
		}
		begin = time.Now()
	}
	return ctx.Err()
}

// Foretold are the jobs that would be refused at their next slot, as they were
// last judged, and why. False means that nobody has judged them yet.
func (e *Engine) Foretold() (map[jobspec.Name]record.Reason, bool) {
	chain, err := e.opened()
	if err != nil {
		return nil, false
	}
	view := chain.State().View
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.future == nil {
		return nil, false
	}
	all := map[jobspec.Name]record.Reason{}
	for name, f := range e.future {
		j, ok := view.Job(name)
		if ok && f.reason.Code != "" && f.op == j.SpecOp && j.State == jobspec.JobActive {
			all[name] = f.reason
		}
	}
	return all, true
}
