package engine

import (
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/statement"
	"github.com/sbxcron/sbxcron/store"
)

// Entries reads proven ops by their place in the chain.
type Entries interface {
	Entry(seq int64) (store.Entry, error)
}

// Verified is the op of a job, verified just now.
type Verified struct {
	Job    jobspec.Job
	Signed jobspec.Signed // valid only where Refused is ""
	Op     *jobspec.Op    // what the bytes say, signed or not
	Entry  store.Entry
	KeyID  string

	Refused jobspec.Code // why it does not count, "" if it does
	Detail  string
}

// verifyJob reads the op that holds a job's spec, and the one that put it in
// force where that is another, and verifies both against the trust files as they
// are now. Keys are judged at the time of the op: an expired key keeps the jobs
// it approved, a revoked one does not.
func verifyJob(m *memo, chain Entries, trust *signing.Trust, j jobspec.Job) (Verified, error) {
	v, err := verifyEntry(m, chain, trust, j.SpecSeq)
	if err != nil {
		return Verified{}, err
	}
	v.Job = j
	if v.Refused != "" || j.ForceSeq == j.SpecSeq {
		return v, nil
	}
	force, err := verifyEntry(m, chain, trust, j.ForceSeq)
	if err != nil {
		return Verified{}, err
	}
	if force.Refused != "" {
		v.Signed, v.Refused, v.Detail = jobspec.Signed{}, force.Refused, fmt.Sprintf("op %d, which enabled the job: %s", j.ForceSeq, force.Detail)
	}
	return v, nil
}

// verifyEntry reads an op anew each time and holds it against its digest.
func verifyEntry(m *memo, chain Entries, trust *signing.Trust, seq int64) (Verified, error) {
	e, err := chain.Entry(seq)
	if err != nil {
		return Verified{}, err
	}
	return m.of(trust, e, func() (Verified, error) { return judgeEntry(trust, e) })
}

func judgeEntry(trust *signing.Trust, e store.Entry) (Verified, error) {
	op, err := jobspec.DecodeOp(e.Op)
	if err != nil {
		return Verified{}, err
	}
	v := Verified{Op: op, Entry: e}
	st, err := verifyOp(trust, e, op, op.Created.Time())
	if err != nil {
		v.Refused, v.Detail = jobspec.CodeOf(err), err.Error()
		return v, nil
	}
	v.KeyID = st.KeyID()
	if v.Signed, err = jobspec.ReadSigned(st); err != nil {
		v.Refused, v.Detail = jobspec.CodeOf(err), err.Error()
	}
	return v, nil
}

// verifyOp checks the signatures of an entry: every one must be good, and the
// first speaks. Two are needed only once there are thresholds, so more than one
// is refused until then.
func verifyOp(trust *signing.Trust, e store.Entry, op *jobspec.Op, at time.Time) (statement.Statement, error) {
	if len(e.Sigs) != 1 {
		return statement.Statement{}, &jobspec.OpError{Reason: jobspec.CodeSigInvalid, Seq: e.Seq, Detail: fmt.Sprintf("%d signatures, want one", len(e.Sigs))}
	}
	st, err := trust.Verify(e.Op, e.Sigs[0], at)
	if err != nil {
		return statement.Statement{}, err
	}
	if err := matches(st, op); err != nil {
		return statement.Statement{}, err
	}
	return st, nil
}

// matches holds a statement against what its bytes say: the principal, and the
// namespace that such an op needs. An op about another's job needs root's, which
// only the chain can tell; see View.Check.
func matches(st statement.Statement, op *jobspec.Op) error {
	if string(op.Principal) != st.Principal() {
		return &jobspec.OpError{Reason: jobspec.CodeKeyNotForPrincipal, Seq: op.Seq,
			Detail: fmt.Sprintf("the op says %q, the key belongs to %q", op.Principal, st.Principal())}
	}
	want := []string{jobspec.JobNamespace(op.Tier, op.Net)}
	switch op.Action {
	case jobspec.Genesis:
		want = []string{jobspec.RootNamespace}
	case jobspec.Attest:
		want = []string{jobspec.ManageNamespace}
	case jobspec.Disable, jobspec.Remove:
		want = []string{jobspec.ManageNamespace, jobspec.RootNamespace}
	}
	for _, w := range want {
		if st.Namespace() == w {
			return nil
		}
	}
	return namespaceError(op, st.Namespace(), want[0])
}

func namespaceError(op *jobspec.Op, have, want string) error {
	return &jobspec.OpError{Reason: jobspec.CodeNamespaceMismatch, Seq: op.Seq,
		Detail: fmt.Sprintf("signed in namespace %q, action %s needs %q", have, op.Action, want)}
}
