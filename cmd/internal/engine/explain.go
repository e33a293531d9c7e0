package engine

import (
	"context"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/throwaway"
)

// Explain says what would happen to a job if it were due now: the same function
// on the same facts as the trigger, but that nothing runs.
func (e *Engine) Explain(ctx context.Context, name jobspec.Name) (api.Explanation, error) {
	if _, _, err := e.find(name); err != nil {
		return api.Explanation{}, err
	}
	v, err := e.Current(name)
	if err != nil {
		return api.Explanation{}, err
	}
	x, err := e.Examine(ctx, jobspec.PhaseExplain, v, throwaway.First)
	if err != nil {
		return api.Explanation{}, err
	}
	defer x.Close()
	out := Explained(v.Op, x.Decision)
	if e.isHeld(name) {
		out.Decision = "refuse"
		out.Checks = append(out.Checks, jobspec.Check{Step: "schedule", Verdict: "no", Code: jobspec.CodeJobHeld,
			Detail: "an operator holds the job", Remedy: jobspec.CodeJobHeld.Remedy()})
	}
	return out, nil
}

// Examine gathers the facts about a verified op and decides.
func (e *Engine) Examine(ctx context.Context, phase jobspec.Phase, v Verified, uid int) (*examine.Examination, error) {
	s := examine.Subject{Op: v.Op, Signed: v.Signed, Identity: v.Refused, IdentityDetail: v.Detail, Hold: e.ClockHold()}
	if phase == jobspec.PhaseTrigger && e.ledger == nil {
		s.Audit = e.chainErr
	}
	x, err := e.Examiner.Examine(ctx, phase, s, uid)
	if err != nil {
		return nil, err
	}
	if err := e.sawPolicy(x.Input.Policy); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// sawPolicy remembers the serial of a policy that decided something, so that an
// older one is refused from then on.
func (e *Engine) sawPolicy(p *jobspec.Policy) error {
	e.mu.RLock()
	w := e.writer
	e.mu.RUnlock()
	if w == nil || p == nil || p.Serial <= w.State().Pin.PolicySerial {
		return nil
	}
	e.commit.Lock()
	defer e.commit.Unlock()
	return w.RaiseSerial(p.Serial)
}

// Explained tells a decision in the words of the interface.
func Explained(op *jobspec.Op, d jobspec.Decision) api.Explanation {
	out := api.Explanation{
		Job: op.Job, Decision: "refuse", Verdicts: d.Verdicts, Weaker: orEmpty(d.Weaker), Checks: d.Checks,
		Opens: jobspec.OpensOf(op), Coverage: op.Spec.Coverage, Summary: jobspec.Summary(op),
	}
	if d.Allowed() {
		out.Decision = "allow"
	}
	return out
}
