package cli

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/ui"
	"github.com/sbxcron/sbxcron/jobspec"
)

// tryPoll is how often a try looks for more output and for the end.
const tryPoll = 50 * time.Millisecond

// maxHeard bounds how much of a stream a try keeps for its own report, in bytes.
const maxHeard = 1 << 20

// tryEnd is how a try ended: the record, and what the job printed.
type tryEnd struct {
	run      api.Run
	out, err []byte
}

// run starts the job by hand and follows it to its end.
func (t *attempt) run(ctx context.Context, svc api.Service, a *App) (tryEnd, error) {
	r, err := svc.Start(ctx, t.draft.Name)
	if err != nil {
		return tryEnd{}, err
	}
	f := t.follower(a)
	for canceled := false; ; {
		// Asked before reading: what was written before the end is read after it.
		// The context may be over; the record and the output are still there.
		keep := context.WithoutCancel(ctx)
		if r, err = svc.Run(keep, r.Run, false); err != nil {
			return tryEnd{}, err
		}
		if started(r) {
			if err := f.copy(keep, svc, r); err != nil {
				return tryEnd{}, err
			}
		}
		if r.Outcome != api.Running {
			return tryEnd{r, f.out.heard.Bytes(), f.err.heard.Bytes()}, f.close()
		}
		stop := ctx.Done()
		if canceled {
			stop = nil
		}
		select {
		case <-stop:
			canceled = true
			if err := svc.Cancel(keep, r.Run); err != nil {
				return tryEnd{}, err
			}
		case <-t.again:
			return tryEnd{}, context.Cause(ctx)
		case <-time.After(tryPoll):
		}
	}
}

// follower passes the streams of a run on while it goes on.
type follower struct{ out, err *heard }

// heard is one stream: what was passed on, and its beginning kept.
type heard struct {
	stream string
	to     io.WriteCloser
	offset int64
	heard  bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.heard.Write(p[:min(len(p), maxHeard-h.heard.Len())]) // a buffer takes everything
	return h.to.Write(p)
}

// follower says where the streams go: with --suggest standard output belongs to
// the job.toml, with --json to the document.
func (t *attempt) follower(a *App) *follower {
	sink := func(to io.Writer) io.WriteCloser {
		switch {
		case a.flags.json:
			return rawWriter{io.Discard}
		case a.UI.OutTTY || a.UI.Asks:
			return &ui.EscapeWriter{W: to}
		}
		return rawWriter{to}
	}
	out := a.UI.Out
	if t.options.suggest {
		out = a.UI.Err
	}
	return &follower{&heard{stream: "out", to: sink(out)}, &heard{stream: "err", to: sink(a.UI.Err)}}
}

func (f *follower) copy(ctx context.Context, svc api.Service, r api.Run) error {
	for _, h := range []*heard{f.out, f.err} {
		n, err := copyFrom(ctx, svc, r, h.stream, h.offset, h)
		h.offset += n
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) close() error {
	if err := f.out.to.Close(); err != nil {
		return err
	}
	return f.err.to.Close()
}

// tryDoc is what try --json prints.
type tryDoc struct {
	Run     api.Run       `json:"run"`
	Opens   jobspec.Opens `json:"opens"`
	May     []string      `json:"may"`
	MayNot  []string      `json:"may_not"`
	Out     string        `json:"out"` // bytes that are no UTF-8 come through as U+FFFD
	Err     string        `json:"err"`
	Suggest string        `json:"suggest,omitempty"` // a job.toml
}

// report prints the record and ends with the job's own status.
func (t *attempt) report(ctx context.Context, a *App, c candidate, end tryEnd) error {
	r := end.run
	found := findings{run: &r, stderr: end.err, asks: c.decision.Asks}
	if !started(r) {
		found.checks = checksOf(r.Reasons)
	}
	if a.flags.json {
		doc := tryDoc{Run: r, Opens: jobspec.OpensOf(c.op), May: jobspec.May(c.op), MayNot: jobspec.MayNot(c.op), Out: string(end.out), Err: string(end.err)}
		if t.options.suggest {
			doc.Suggest = t.suggestion(ctx, found)
		}
		if err := a.item("try", doc); err != nil {
			return err
		}
	} else {
		a.printTried(r)
		if t.options.suggest {
			t.suggest(ctx, a, found)
		}
	}
	return tryStatus(r)
}

// tryStatus is the job's own status. A run that did not start says why; one that
// did has said all in its record.
func tryStatus(r api.Run) error {
	err := runError(r)
	switch {
	case err == nil:
		return nil
	case !started(r):
		return withStatus{err, exitNotStarted}
	}
	return exitStatus(endStatus(r))
}

// printTried tells the record of a try on standard error.
func (a *App) printTried(r api.Run) {
	if a.flags.quiet {
		return
	}
	own := *a
	own.UI = &ui.Streams{Out: a.UI.Err, Err: a.UI.Err}
	own.line("tried job %s: run %s", r.Job, r.Run)
	own.printEnd(&r)
	for _, reason := range r.Reasons {
		own.line("because: %s", reasonLine(reason))
		if reason.Remedy != "" {
			own.line("  do: %s", reason.Remedy)
		}
	}
	if v := r.Verdicts; v != nil {
		own.line("verdicts: identity %s, capability %s, resources %s, consent %s", v.Identity, v.Capability, v.Resources, v.Consent)
	}
	for _, w := range r.Weaker {
		own.line("reduces security: %s", w)
	}
	for _, o := range r.Outputs {
		if o.Bytes > 0 {
			own.line("output %s: %d bytes, %s", o.Stream, o.Bytes, o.SHA256)
		}
	}
	own.line("nothing of this try is kept")
}
