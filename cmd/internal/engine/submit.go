package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
)

// maxAhead is how far the clock of the machine that signed may be ahead.
const maxAhead = 10 * time.Minute

// judge decides whether a signed op may extend the view now: chain rules,
// signature, key, namespace, times, and for what adds authority the policy. The
// same function judges what apply offers and what is found beyond the pin.
func (e *Engine) judge(ctx context.Context, view *jobspec.View, entry store.Entry, now time.Time) (*jobspec.Op, error) {
	op, err := jobspec.DecodeOp(entry.Op)
	if err != nil {
		return nil, err
	}
	namespace, err := view.Check(op)
	if err != nil {
		return op, err
	}
	if err := checkTimes(op, now, e.Clock()); err != nil {
		return op, err
	}
	trust, err := e.trust()
	if err != nil {
		return op, err
	}
	signed, err := e.signedBy(trust, entry, op, namespace, now)
	if err != nil {
		return op, err
	}
	if err := e.heldBefore(op.Checkpoint); err != nil {
		return op, err
	}
	return op, e.judgePolicy(ctx, view, op, signed)
}

// checkTimes holds an op against the time. Where the wall clock is not believed for
// being ahead, who signs by the same time vouches for it.
func checkTimes(op *jobspec.Op, now, wall time.Time) error {
	if wall.Before(now) {
		wall = now
	}
	switch {
	case op.Created.Time().After(wall.Add(maxAhead)):
		return &jobspec.OpError{Reason: jobspec.CodeCreatedInvalid, Seq: op.Seq, Detail: fmt.Sprintf("created %s, which is ahead of this host's clock by more than %s", op.Created, maxAhead)}
	case op.ApplyBefore.Time().Before(now):
		return &jobspec.OpError{Reason: jobspec.CodeApplyBeforePassed, Seq: op.Seq, Detail: fmt.Sprintf("it could be applied until %s", op.ApplyBefore)}
	}
	return nil
}

func (e *Engine) signedBy(trust *signing.Trust, entry store.Entry, op *jobspec.Op, namespace string, now time.Time) (jobspec.Signed, error) {
	st, err := verifyOp(trust, entry, op, now)
	if err != nil {
		return jobspec.Signed{}, err
	}
	if st.Namespace() != namespace {
		return jobspec.Signed{}, namespaceError(op, st.Namespace(), namespace)
	}
	return jobspec.ReadSigned(st)
}

// judgePolicy holds what adds authority against the policy in force. Disable and
// remove only reduce it.
func (e *Engine) judgePolicy(ctx context.Context, view *jobspec.View, op *jobspec.Op, signed jobspec.Signed) error {
	subject := examine.Subject{Op: op, Signed: signed, Jobs: othersOf(view, op)}
	if op.Action == jobspec.Enable {
		j, _ := view.Job(op.Job)
		target, err := e.chain.Entry(j.SpecSeq)
		if err != nil {
			return err
		}
		if subject.Op, err = jobspec.DecodeOp(target.Op); err != nil {
			return err
		}
	}
	if subject.Op.Spec == nil {
		return nil
	}
	x, err := e.Examiner.Examine(ctx, jobspec.PhaseApply, subject, 0)
	if err != nil {
		return err
	}
	defer x.Close()
	if x.Decision.Allowed() {
		return nil
	}
	return refusal(op.Job, x.Decision)
}

// othersOf counts the jobs of an op's principal beside the one it is about.
func othersOf(view *jobspec.View, op *jobspec.Op) int64 {
	n := view.JobsOf(op.Principal)
	if j, ok := view.Job(op.Job); ok && j.Principal == op.Principal && j.State != jobspec.JobRemoved {
		n--
	}
	return n
}

// refusal is a decision that said no, as an error that lists every reason.
func refusal(job jobspec.Name, d jobspec.Decision) *api.Error {
	reasons := api.ReasonsOf(d)
	out := api.New(jobspec.CodeInternal, "refused without a reason")
	if len(reasons) > 0 {
		out = api.New(reasons[0].Code, fmt.Sprintf("job %q is refused: %s", job, reasons[0].Text()))
	}
	out.Job, out.Reasons = job, reasons
	return out
}

// Submit judges a signed op and puts it in force. It returns once the pin is
// durable. The trust files that vouched for the op are kept first, so that it
// can be verified for as long as it is history.
func (e *Engine) Submit(ctx context.Context, s api.Submission) (api.Accepted, error) {
	e.commit.Lock()
	defer e.commit.Unlock()
	w, release, err := e.writing()
	if err != nil {
		return api.Accepted{}, err
	}
	defer release()
	entry := store.Entry{Seq: w.State().Len(), Op: s.Op, Sigs: [][]byte{s.Sig}}
	now := e.Now()
	op, err := e.judge(ctx, w.State().View, entry, now)
	if err != nil {
		return api.Accepted{}, e.refused(op, entry, err)
	}
	if err := e.putInForce(w, s, op, now); err != nil {
		return api.Accepted{}, err
	}
	e.changed()
	return e.accepted(s, op, now), nil
}

// putInForce commits an op that was judged, and records it.
func (e *Engine) putInForce(w *store.Writer, s api.Submission, op *jobspec.Op, now time.Time) error {
	if _, err := w.Commit(s.Op, s.Sig, now, e.serial()); err != nil {
		return err
	}
	e.mu.Lock()
	e.vouch(op.Created.Time())
	e.mu.Unlock()
	return e.note(&record.Leaf{Kind: record.OpAccepted, Job: op.Job, Op: jobspec.DigestOf(s.Op), Seq: op.Seq, Principal: op.Principal, KeyID: e.keyID(s.Sig)})
}

func (e *Engine) accepted(s api.Submission, op *jobspec.Op, now time.Time) api.Accepted {
	return api.Accepted{Job: op.Job, Op: jobspec.DigestOf(s.Op), Seq: op.Seq, Revision: op.Revision, Next: e.nextOf(op.Job, now)}
}

// refused records that an op was turned away and adds what the owner's tool
// needs to try again.
func (e *Engine) refused(op *jobspec.Op, entry store.Entry, cause error) error {
	out := api.Wrap(cause)
	if op != nil {
		out.Job = op.Job
	}
	if out.ErrCode == jobspec.CodeHeadMoved || out.ErrCode == jobspec.CodeSeqInvalid {
		head := e.headOf(e.writer.State())
		out.Head = &head
		out.Help = fmt.Sprintf("the chain goes on from seq %d, prev %s; run the command again to sign for that", head.Seq, head.Prev)
	}
	leaf := &record.Leaf{Kind: record.OpRefused, Op: jobspec.DigestOf(entry.Op), Reasons: []record.Reason{{Code: out.ErrCode}}}
	if op != nil && len(op.Job) <= 63 {
		leaf.Job = op.Job
	}
	if err := e.note(leaf); err != nil {
		return err
	}
	return out
}
