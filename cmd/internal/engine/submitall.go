package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
)

// SubmitAll judges signed ops that follow each other, each as if those before it
// were in force, and puts them in force in order once none is refused. A fault of
// the disk between two commits leaves the ones before it in force, as a crash
// would; the head tells how many.
func (e *Engine) SubmitAll(ctx context.Context, all []api.Submission) ([]api.Accepted, error) {
	if len(all) == 0 || len(all) > api.MaxPlan {
		return nil, api.New(jobspec.CodeSpecMalformed, fmt.Sprintf("%d ops, want 1 to %d together", len(all), api.MaxPlan))
	}
	e.commit.Lock()
	defer e.commit.Unlock()
	w, release, err := e.writing()
	if err != nil {
		return nil, err
	}
	defer release()
	now := e.Now()
	ops, err := e.judgeAll(ctx, w.State(), all, now)
	if err != nil {
		return nil, err
	}
	defer e.changed()
	for i, op := range ops {
		if err := e.putInForce(w, all[i], op, now); err != nil {
			return nil, err
		}
	}
	out := make([]api.Accepted, len(ops))
	for i, op := range ops {
		out[i] = e.accepted(all[i], op, now)
	}
	return out, nil
}

// judgeAll judges the ops on a view of their own. The refusal that is recorded and
// told is that of the first that may not be put in force.
func (e *Engine) judgeAll(ctx context.Context, state *store.State, all []api.Submission, now time.Time) ([]*jobspec.Op, error) {
	view := state.View.Fork()
	ops := make([]*jobspec.Op, 0, len(all))
	for i, s := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		entry := store.Entry{Seq: view.Next, Op: s.Op, Sigs: [][]byte{s.Sig}}
		op, err := e.judge(ctx, view, entry, now)
		if err != nil {
			out := *api.Wrap(e.refused(op, entry, err))
			out.Message = fmt.Sprintf("op %d of %d: %s", i+1, len(all), out.Message)
			return nil, &out
		}
		view.Extend(op, jobspec.DigestOf(s.Op))
		ops = append(ops, op)
	}
	return ops, nil
}
