package engine

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// Visitor does what a service does on the files of an installation that has
// none running. It has the files open for the time of each call only, so that
// nobody waits for them while an owner reads a summary or an agent signs.
type Visitor struct {
	open func() (*Engine, error)
	done func() error
}

// NewVisitor makes one of a function that opens the engine, which is called for
// each call. Close calls done once.
func NewVisitor(open func() (*Engine, error), done func() error) *Visitor {
	return &Visitor{open: open, done: done}
}

// Close gives back what the visits shared.
func (v *Visitor) Close() error { return v.done() }

func visit[T any](v *Visitor, ask func(e *Engine) (T, error)) (T, error) {
	e, err := v.open()
	if err != nil {
		var none T
		return none, err
	}
	answer, err := ask(e)
	return answer, errors.Join(err, e.Close())
}

func (v *Visitor) act(do func(e *Engine) error) error {
	_, err := visit(v, func(e *Engine) (struct{}, error) { return struct{}{}, do(e) })
	return err
}

// Head is Engine.Head.
func (v *Visitor) Head(ctx context.Context) (api.Head, error) {
	return visit(v, func(e *Engine) (api.Head, error) { return e.Head(ctx) })
}

// Submit is Engine.Submit.
func (v *Visitor) Submit(ctx context.Context, s api.Submission) (api.Accepted, error) {
	return visit(v, func(e *Engine) (api.Accepted, error) { return e.Submit(ctx, s) })
}

// SubmitAll is Engine.SubmitAll.
func (v *Visitor) SubmitAll(ctx context.Context, all []api.Submission) ([]api.Accepted, error) {
	return visit(v, func(e *Engine) ([]api.Accepted, error) { return e.SubmitAll(ctx, all) })
}

// Jobs is Engine.Jobs.
func (v *Visitor) Jobs(ctx context.Context) ([]api.Job, error) {
	return visit(v, func(e *Engine) ([]api.Job, error) { return e.Jobs(ctx) })
}

// Listed is Engine.Listed.
func (v *Visitor) Listed(ctx context.Context, name jobspec.Name) (api.Job, error) {
	return visit(v, func(e *Engine) (api.Job, error) { return e.Listed(ctx, name) })
}

// Job is Engine.Job.
func (v *Visitor) Job(ctx context.Context, name jobspec.Name) (api.JobDetail, error) {
	return visit(v, func(e *Engine) (api.JobDetail, error) { return e.Job(ctx, name) })
}

// Next is Engine.Next.
func (v *Visitor) Next(ctx context.Context, q api.NextQuery) ([]api.Next, error) {
	return visit(v, func(e *Engine) ([]api.Next, error) { return e.Next(ctx, q) })
}

// Days is Engine.Days.
func (v *Visitor) Days(ctx context.Context, q api.DaysQuery) ([]api.Day, error) {
	return visit(v, func(e *Engine) ([]api.Day, error) { return e.Days(ctx, q) })
}

// History is Engine.History.
func (v *Visitor) History(ctx context.Context, q api.HistoryQuery) ([]api.Run, error) {
	return visit(v, func(e *Engine) ([]api.Run, error) { return e.History(ctx, q) })
}

// Run is Engine.Run.
func (v *Visitor) Run(ctx context.Context, id string, wait bool) (api.Run, error) {
	return visit(v, func(e *Engine) (api.Run, error) { return e.Run(ctx, id, wait) })
}

// Explain is Engine.Explain.
func (v *Visitor) Explain(ctx context.Context, name jobspec.Name) (api.Explanation, error) {
	return visit(v, func(e *Engine) (api.Explanation, error) { return e.Explain(ctx, name) })
}

// Output is Engine.Output. What it returns stays open after the visit.
func (v *Visitor) Output(ctx context.Context, run, stream string, offset int64) (io.ReadCloser, error) {
	return visit(v, func(e *Engine) (io.ReadCloser, error) { return e.Output(ctx, run, stream, offset) })
}

// Status is Engine.Status.
func (v *Visitor) Status(ctx context.Context) (api.Status, error) {
	return visit(v, func(e *Engine) (api.Status, error) { return e.Status(ctx) })
}

// Start is Engine.Start.
func (v *Visitor) Start(ctx context.Context, name jobspec.Name) (api.Run, error) {
	return visit(v, func(e *Engine) (api.Run, error) { return e.Start(ctx, name) })
}

// Cancel is Engine.Cancel.
func (v *Visitor) Cancel(ctx context.Context, run string) error {
	return v.act(func(e *Engine) error { return e.Cancel(ctx, run) })
}

// Hold is Engine.Hold.
func (v *Visitor) Hold(ctx context.Context, name jobspec.Name, reason string, until time.Time) error {
	return v.act(func(e *Engine) error { return e.Hold(ctx, name, reason, until) })
}

// Release is Engine.Release.
func (v *Visitor) Release(ctx context.Context, name jobspec.Name) error {
	return v.act(func(e *Engine) error { return e.Release(ctx, name) })
}

// Prove is Engine.Prove.
func (v *Visitor) Prove(ctx context.Context, q api.ProofQuery) (api.Proof, error) {
	return visit(v, func(e *Engine) (api.Proof, error) { return e.Prove(ctx, q) })
}

// Seal is Engine.Seal.
func (v *Visitor) Seal(ctx context.Context, q api.SealQuery) (api.Seal, error) {
	return visit(v, func(e *Engine) (api.Seal, error) { return e.Seal(ctx, q) })
}

// Verify is Engine.Verify.
func (v *Visitor) Verify(ctx context.Context) (api.Audit, error) {
	return visit(v, func(e *Engine) (api.Audit, error) { return e.Verify(ctx) })
}

// Ops is Engine.Ops.
func (v *Visitor) Ops(ctx context.Context) ([]api.OpFile, error) {
	return visit(v, func(e *Engine) ([]api.OpFile, error) { return e.Ops(ctx) })
}
