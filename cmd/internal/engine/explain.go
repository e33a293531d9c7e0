package engine

import (
	"context"
	"time"

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
	if !v.Signed.Valid() {
		return ExplainUnverified(v), nil
	}
	x, err := e.Examine(ctx, jobspec.PhaseExplain, v, throwaway.First)
	if err != nil {
		return api.Explanation{}, err
	}
	defer x.Close()
	return Explained(v.Op, x.Decision), nil
}

// Unverified is the finding over bytes that nobody vouches for. Nothing else is
// looked at then: neither file nor policy is judged for an unknown hand.
func Unverified(code jobspec.Code, detail string) jobspec.Check {
	if code == "" {
		code = jobspec.CodeIdentityUnproven
	}
	return jobspec.Check{Step: "identity", Verdict: "no", Code: code, Detail: detail, Remedy: code.Remedy()}
}

// ExplainUnverified tells what a trigger would find: that the op does not count.
func ExplainUnverified(v Verified) api.Explanation {
	out := Explained(v.Op, jobspec.Decision{Verdicts: jobspec.Verdicts{Identity: jobspec.No}})
	out.Checks = []jobspec.Check{Unverified(v.Refused, v.Detail)}
	return out
}

// Examine gathers the facts about a verified op and decides.
func (e *Engine) Examine(ctx context.Context, phase jobspec.Phase, v Verified, uid int) (*examine.Examination, error) {
	s := examine.Subject{Op: v.Op, Signed: v.Signed, Identity: v.Refused, IdentityDetail: v.Detail, Hold: e.ClockHold(), State: e.stateName(v.Op.Job)}
	if phase == jobspec.PhaseExplain { // a trigger is stopped by the scheduler before it looks
		s.Held, s.HeldFor = e.isHeld(v.Op.Job), e.heldFor(v.Op.Job)
	}
	if next := nextAfter(shown{v.Job, v.Op}, e.Now()); phase == jobspec.PhaseExplain && next != nil {
		s.At = *next
	}
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

// Again brings the decision of x up to date with the policy of this moment, for a
// start at this moment or at a later one.
func (e *Engine) Again(x *examine.Examination, at time.Time) error {
	if !e.Examiner.Again(x, at, e.ClockHold()) {
		return nil
	}
	return e.sawPolicy(x.Input.Policy)
}

// Mark is a sign of all that Current and Again go by: what CONF holds, and the head
// of the chain. Equal marks, each with true, say that nothing of it changed between
// the two. False says that it cannot be told.
func (e *Engine) Mark() (mark string, ok bool) {
	chain, err := e.opened()
	if err != nil || e.ClockHold() {
		return "", false
	}
	pin := chain.State().Pin
	mark, ok = e.Site.Mark(e.Clock())
	return pin.Digest.String() + mark, ok
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
		Job: op.Job, Decision: "refuse", Verdicts: d.Verdicts, Weaker: orEmpty(d.Weaker), Notes: d.Notes, Checks: d.Checks,
		Opens: jobspec.OpensOf(op), Coverage: op.Spec.Coverage, Summary: jobspec.Summary(op),
		May: jobspec.May(op), MayNot: jobspec.MayNot(op),
	}
	if d.Allowed() {
		out.Decision = "allow"
	}
	return out
}
