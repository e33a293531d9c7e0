package bwrap

import (
	"fmt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/witness"
)

// readsResult reports whether the file that a stream is kept in is opened once more,
// to be read when the run is over. The service itself never reads it.
func (r *run) readsResult(stream string) bool {
	return stream == "out" && r.p.Result != "" && r.p.Result != jobspec.ExitWord
}

// reportResult has the agent's own result read for what was denied to it. A
// result that cannot be understood is a failure: it may hide a no. A run that
// was ended from outside left no result to be judged.
func (r *run) reportResult(end *record.End) {
	if r.result == nil || !end.Exited || end.Outcome != record.OutcomeSucceeded && end.Outcome != record.OutcomeFailed {
		return
	}
	why := r.readResult(end)
	if why == "" {
		return
	}
	end.Outcome = record.OutcomeFailed
	end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeResultUnreadable, Target: r.p.Result, Detail: why})
}

// readResult returns why the result is not understood, "" when it is.
func (r *run) readResult(end *record.End) string {
	for _, o := range end.Outputs {
		if o.Stream == "out" && o.Truncated {
			return fmt.Sprintf("only %d of its %d bytes were kept", o.Kept, o.Bytes)
		}
	}
	w, err := r.b.startWitness(r.p.Account, r.p.Result, r.result)
	if err != nil {
		return err.Error()
	}
	w.Hurry()
	why := ""
	if err := w.Each(func(e witness.Event) {
		if e.Code == jobspec.CodeResultUnreadable {
			why = e.Target
			return
		}
		r.denials.Observed(runner.Attempt{Code: e.Code, Target: e.Target, Count: e.Count})
	}); err != nil {
		return err.Error()
	}
	return why
}
