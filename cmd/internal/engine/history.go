package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
)

// History lists runs and slots that did not run, newest first.
func (e *Engine) History(_ context.Context, q api.HistoryQuery) ([]api.Run, error) {
	return e.HistoryFor(q, nil)
}

// HistoryFor is History for somebody who may see the runs of some principals only; nil
// is for whoever may see all.
func (e *Engine) HistoryFor(q api.HistoryQuery, may func(jobspec.Principal) bool) ([]api.Run, error) {
	query := store.Query{Job: q.Job, Since: q.Since, Until: q.Until, Outcomes: q.Outcome, Limit: q.Limit}
	if may != nil {
		query.Keep = func(row store.RunRow) bool { return may(e.signer(row)) }
	}
	rows, err := e.runs.Runs(query)
	if err != nil {
		return nil, err
	}
	out := make([]api.Run, 0, len(rows))
	for _, row := range rows {
		out = append(out, e.apiRun(row))
	}
	return out, nil
}

// Run gives one run.
func (e *Engine) Run(_ context.Context, id string, _ bool) (api.Run, error) {
	row, err := e.row(id)
	if err != nil {
		return api.Run{}, err
	}
	return e.apiRun(row), nil
}

func (e *Engine) row(id string) (store.RunRow, error) {
	row, found, err := e.runs.Run(id)
	if err == nil && !found {
		err = api.New(jobspec.CodeRunUnknown, fmt.Sprintf("no run %q", id))
	}
	return row, err
}

// apiRun tells a row of the index in the words of the interface.
func (e *Engine) apiRun(row store.RunRow) api.Run {
	row, running := e.settled(row)
	first, last := row.First(), row.Last()
	r := api.Run{
		Run: last.Run, Job: last.Job, Op: last.Op, Outcome: string(row.Outcome()), Reasons: apiReasons(last.Reasons),
		ScheduledFor: stamp(first.Scheduled), StartedAt: stamp(last.StartedAt), EndedAt: stamp(last.EndedAt),
		Trigger: string(first.Trigger), Signal: last.Signal, SlotCount: last.SlotCount,
		Backend: first.Backend, Layers: orEmpty(first.Layers), Probe: first.Probe, SoftLimits: first.Soft, SameUID: first.SameUID, UID: first.UID, Credentials: first.Credentials,
		Verdicts: first.Verdicts, Weaker: orEmpty(first.Weaker), Notes: first.Notes, Denials: []api.Denial{}, Outputs: []api.Output{}, Leaf: row.Index(),
	}
	r.Principal = e.signer(row)
	if first.Slot != nil {
		r.Slot = first.Slot.String()
	}
	if last.SlotLast != nil {
		r.SlotLast = last.SlotLast.String()
	}
	if r.StartedAt == nil && row.Start != nil {
		r.StartedAt = stamp(first.StartedAt)
	}
	if first.RequestedBy != nil {
		r.RequestedBy = &first.RequestedBy.UID
	}
	if row.Final == nil {
		r.Outcome = api.Running
		if !running {
			r.Outcome = string(record.OutcomeLost)
		} else if first.Kind == record.Started {
			r.StartedAt = stamp(first.Time) // the record came first; the instant itself comes with the end
		} else if at := e.releasedAt(first.Run); !at.IsZero() { // a claim says nothing of a start
			r.StartedAt = &at
		}
		return r
	}
	e.addEnd(&r, row.Final)
	return r
}

// signer is whose op a row is about: by the chain, which is proven, else by the
// row itself. A row about no op is about the name, and so about its owner of now.
func (e *Engine) signer(row store.RunRow) jobspec.Principal {
	first := row.First()
	if first.Op.IsZero() {
		return e.Owner(first.Job)
	}
	if chain, err := e.opened(); err == nil {
		digest, _ := chain.State().Digest(first.Seq)
		if op, ok := chain.State().Head(first.Seq); ok && digest == first.Op {
			return op.Principal
		}
	}
	return first.Principal
}

// settled says whether a row's run is going on, and reads the row once more where
// it has no end though its run is over: the end may have become durable after the
// row was read.
func (e *Engine) settled(row store.RunRow) (now store.RunRow, running bool) {
	if row.Final != nil {
		return row, false
	}
	if e.isRunning(row.First().Run) {
		return row, true
	}
	again, found, err := e.runs.Run(row.First().Run)
	if err != nil || !found {
		return row, false
	}
	return again, false
}

func (e *Engine) addEnd(r *api.Run, l *record.Leaf) {
	if l.Exited {
		code := l.ExitCode
		r.ExitCode = &code
	}
	if l.Resources != nil {
		r.Resources = &api.Resources{CPUSeconds: float64(l.Resources.CPUMillis) / 1000, MaxRSSBytes: l.Resources.MaxRSSBytes}
	}
	for _, at := range l.Attempts {
		out := api.Attempt{Outcome: string(at.Outcome), StartedAt: stamp(at.StartedAt), EndedAt: stamp(at.EndedAt), Signal: at.Signal, Code: at.Code}
		if at.Exited {
			out.ExitCode = &at.ExitCode
		}
		r.Attempts = append(r.Attempts, out)
	}
	for _, d := range l.Denials {
		r.Denials = append(r.Denials, api.Denial(d))
	}
	for _, c := range l.Connections {
		r.Connections = append(r.Connections, api.Connection(c))
	}
	if len(l.Outputs) == 0 {
		return
	}
	plain, err := e.Outputs.Plain(l.Run)
	for _, o := range l.Outputs {
		out := api.Output{Stream: o.Stream, Bytes: o.Bytes, KeptBytes: o.Kept, Truncated: o.Truncated, Pruned: errors.Is(err, fs.ErrNotExist)}
		for _, p := range plain {
			if p.Stream == o.Stream {
				out.SHA256, out.KeptSHA256 = p.SHA256, p.KeptSHA
			}
		}
		r.Outputs = append(r.Outputs, out)
	}
}

func apiReasons(all []record.Reason) []api.Reason {
	out := make([]api.Reason, 0, len(all))
	for _, r := range all {
		out = append(out, api.Reason{Code: r.Code, Layer: r.Layer, Rule: r.Rule, Target: r.Target, Detail: r.Detail, Remedy: r.Code.Remedy()})
	}
	return out
}

func stamp(s string) *time.Time {
	t := record.ParseStamp(s)
	if t.IsZero() {
		return nil
	}
	return &t
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// Output gives the kept bytes of one stream. A stream that nothing was written
// to is empty, not missing.
func (e *Engine) Output(_ context.Context, run, stream string, offset int64) (io.ReadCloser, error) {
	row, err := e.row(run)
	if err != nil {
		return nil, err
	}
	f, err := e.Outputs.Open(run, stream)
	if errors.Is(err, fs.ErrNotExist) {
		if nothingWritten(row, stream) {
			return io.NopCloser(strings.NewReader("")), nil
		}
		return nil, api.New(jobspec.CodeOutputPruned, fmt.Sprintf("run %s has no kept output %q", run, stream))
	}
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// nothingWritten reports whether a stream is empty by the record, or belongs to
// a run that never started or has written nothing yet.
func nothingWritten(row store.RunRow, stream string) bool {
	if !record.IsStream(stream) {
		return false
	}
	if row.Final == nil || row.Start == nil {
		return true
	}
	for _, o := range row.Final.Outputs {
		if o.Stream == stream {
			return o.Kept == 0
		}
	}
	return true
}
