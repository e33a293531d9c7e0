package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/cmd/internal/ui"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// proposal is an op that may be signed: the very bytes, and what they say. The
// op is decoded from the bytes, so what is shown is what is signed.
type proposal struct {
	op        *jobspec.Op
	bytes     []byte
	namespace string
	target    *jobspec.Op // enable: the op that it puts back in force
}

func newProposal(op *jobspec.Op, namespace string) (proposal, error) {
	raw, err := op.Encode()
	if err != nil {
		return proposal{}, err
	}
	read, err := jobspec.DecodeOp(raw)
	if err != nil {
		return proposal{}, err
	}
	return proposal{op: read, bytes: raw, namespace: namespace}, nil
}

func (p proposal) digest() jobspec.Digest { return jobspec.DigestOf(p.bytes) }

// showProposal tells the owner what is about to be signed. It goes to standard error
// and is not silenced by -q: nobody signs what was not shown.
func (a *App) showProposal(p proposal, who owner) {
	if p.op.Action.AboutJob() {
		a.note("You are about to sign: %s job %s, revision %d.", p.op.Action, p.op.Job, p.op.Revision)
	} else {
		a.note("You are about to sign: %s.", p.op.Action)
	}
	if p.op.Spec != nil {
		a.note("It will run WITHOUT YOU, on its schedule, until it expires or you remove it.")
	}
	a.note("")
	for _, s := range jobspec.Summary(p.op) {
		a.note("  %s", s)
	}
	if p.op.Spec != nil {
		a.showTimes(p.op)
	}
	if p.target != nil {
		a.note("")
		a.note("That puts this back in force. It will run WITHOUT YOU, on its schedule:")
		for _, s := range jobspec.Summary(p.target) {
			a.note("  %s", s)
		}
	}
	a.note("")
	a.note("  op %s", p.digest())
	a.note("  host %s, seq %d, namespace %s", p.op.Host, p.op.Seq, p.namespace)
	a.note("  signed with %s as %s", who.keyID, p.op.Principal)
	a.note("")
}

// digestOf is the digest that the op has once it is signed, from which its jitter
// comes; the zero digest for one that has no form.
func digestOf(op *jobspec.Op) jobspec.Digest {
	b, err := op.Encode()
	if err != nil {
		return jobspec.Digest{}
	}
	return jobspec.DigestOf(b)
}

// showTimes lists the next three due instants, how close starts may come, and what
// a writer may not expect of the schedule.
func (a *App) showTimes(op *jobspec.Op) {
	c, err := calendar.Of(op.Spec.Schedule, op.Created.Time(), digestOf(op))
	if err != nil {
		return // refused before, with the reason
	}
	for _, n := range engine.NextOf(op.Job, c, op.Created.Time(), op.Spec.ExpiresAt.Time(), 3) {
		a.note("  next: %s", n.At)
		for _, text := range n.Notes {
			a.note("        %s", text)
		}
	}
	if apart := c.Apart(); apart != "" {
		a.note("  %s", apart)
	}
	for _, w := range c.Warnings() {
		a.note("  note: %s", w)
	}
}

// finishOp shows, asks, signs and submits.
func (a *App) finishOp(ctx context.Context, svc api.Service, who owner, p proposal, yes bool) error {
	if !a.flags.json {
		a.showProposal(p, who)
	}
	if err := a.confirmSigning(yes, fmt.Sprintf("Sign with %s as %s?", who.keyID, p.op.Principal), p.op); err != nil {
		return err
	}
	sig, err := who.signer.Sign(ctx, p.namespace, p.bytes)
	if err != nil {
		return err
	}
	done, err := svc.Submit(ctx, api.Submission{Op: p.bytes, Sig: sig})
	if err != nil {
		return submitError(err)
	}
	if err := a.printAccepted(string(p.op.Action), done); err != nil || a.flags.json {
		return err
	}
	a.foretell(ctx, svc, p.op)
	return nil
}

// foretell notes what the sandbox of the service that runs lacks for a job that
// was just signed, such as limits that it cannot hold. Nobody can know that
// before: the service may have what the owner's session has not. The op is in
// force whatever the answer is, so none is no error.
func (a *App) foretell(ctx context.Context, svc api.Service, op *jobspec.Op) {
	if op.Spec == nil {
		return
	}
	if st, err := svc.Status(ctx); err != nil || !st.Service {
		return
	}
	now, err := svc.Explain(ctx, op.Job)
	if err != nil {
		return
	}
	for _, c := range now.Checks {
		if c.Step == "sandbox" && c.Verdict == "no" {
			a.say("note: it is in force, and would be refused as the service is now: %s", reasonLine(reasonOf(c)))
			a.say("      do: %s", c.Remedy)
		}
	}
}

// confirm asks y/N on a terminal. --yes skips that; without a terminal, and
// with --json, nothing is asked and --yes is needed.
func (a *App) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	missing := needFlag("--yes, after you have read what --dry-run prints", "nothing was signed: there is nobody to ask")
	if a.flags.json {
		return missing
	}
	ok, err := a.UI.Confirm(question)
	switch {
	case errors.Is(err, ui.ErrNoTerminal):
		return missing
	case err != nil:
		return err
	case !ok:
		return ownError(codeNotConfirmed, jobspec.ClassOther, "", "nothing was signed, nothing was stored")
	default:
		return nil
	}
}

// submitError adds what to do when the head has moved: what was signed names
// another predecessor and is of no use any more.
func submitError(err error) error {
	e := *api.Wrap(err)
	if e.ErrCode == jobspec.CodeHeadMoved || e.ErrCode == jobspec.CodeSeqInvalid {
		e.Help = "another op came first; what was signed is not used again: run the command once more"
	}
	return &e
}

func (a *App) printAccepted(what string, done api.Accepted) error {
	if a.flags.json {
		return a.item(what, done)
	}
	t := a.UI.Table("JOB", "REVISION", "SEQ", "OP", "NEXT")
	t.Row(string(done.Job), fmt.Sprint(done.Revision), fmt.Sprint(done.Seq), done.Op.String(), a.UI.Time(done.Next, a.Now()))
	_, err := t.WriteTo(a.UI.Out)
	return err
}
