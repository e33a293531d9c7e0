package evidence

import (
	"fmt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
)

// every lets a signature count whatever its algorithm is: what the policy of its
// day accepted was decided then.
var every = signing.Algorithms{ECDSAP256: true, RSA: true}

// maxSignatures bounds what one op makes a verifier do.
const maxSignatures = 16

// judgeSigners holds every signature against the lists of signers that the anchor
// vouches for: the one that the auditor brings, or the one that genesis names and
// those that a line under a checkpoint names.
func judgeSigners(j *judgement, ev *Evidence, c *chain, l *lines, anchor Anchor) error {
	if anchor.none() || len(c.ops) == 0 {
		return nil
	}
	if !anchor.Genesis.IsZero() && c.ops[0].digest != anchor.Genesis {
		j.against(authentic, jobspec.CodeHostMismatch, opName(0), "its digest is %s, and the genesis that you named is %s", c.ops[0].digest, anchor.Genesis)
		return nil
	}
	vouched, other, err := versions(j, ev.Dirs, c, l, anchor)
	if err != nil {
		return err
	}
	j.checked[authentic] = true
	for _, o := range c.ops {
		judgeOp(j, o, vouched, other)
	}
	return nil
}

// versions are the lists of signers, newest first: those that are vouched for, and
// those that merely lie there.
func versions(j *judgement, d store.Dirs, c *chain, l *lines, anchor Anchor) (vouched, other []*signing.Trust, err error) {
	if len(anchor.Lists) > 0 {
		return anchor.Lists, nil, nil
	}
	if len(anchor.Signers) > 0 {
		t, err := signing.ParseTrust(anchor.Signers, []byte{}, every)
		if err != nil {
			return nil, nil, fmt.Errorf("the signers that you brought: %w", err)
		}
		return []*signing.Trust{t}, nil, nil
	}
	copies, err := store.AllTrust(d, store.AllowedSigners)
	if err != nil {
		j.against(intact, jobspec.CodeOr(err, jobspec.CodeStoreCorrupt), d.TrustDir(), "%v", err)
	}
	for i := len(copies) - 1; i >= 0; i-- {
		t, err := signing.ParseTrust(copies[i].Bytes, []byte{}, every)
		switch {
		case err != nil:
			j.against(intact, jobspec.CodeOf(err), "allowed_signers "+copies[i].Digest.Short(), "%v", err)
		case copies[i].Digest == c.ops[0].op.Root.AllowedSigners || l.trusted[copies[i].Digest]:
			vouched = append(vouched, t)
		default:
			other = append(other, t)
		}
	}
	return vouched, other, nil
}

// judgeOp judges one op as it was judged when it was applied, but for revocation:
// that a key was revoked later takes nothing from what it signed before.
func judgeOp(j *judgement, o chainOp, vouched, other []*signing.Trust) {
	if len(o.Sigs) == 0 {
		j.against(authentic, jobspec.CodeSigMissing, opName(o.op.Seq), "it has no signature")
		return
	}
	if len(o.Sigs) > maxSignatures {
		j.against(authentic, jobspec.CodeSigInvalid, opName(o.op.Seq), "it has %d signatures, at most %d are looked at", len(o.Sigs), maxSignatures)
		return
	}
	who := map[string]bool{}
	for n, sig := range o.Sigs {
		r, err := bestOf(vouched, o, sig)
		if err != nil {
			if _, elsewhere := bestOf(other, o, sig); elsewhere == nil {
				j.doubt(authentic, jobspec.CodeKeyUnknown, opName(o.op.Seq), "signed by a key of a list of signers that neither genesis nor a checkpoint vouches for")
				return
			}
			j.against(authentic, jobspec.CodeOf(err), opName(o.op.Seq), "%v", err)
			return
		}
		if o.namespace != "" && r.Signature.Namespace != o.namespace {
			j.against(authentic, jobspec.CodeNamespaceMismatch, opName(o.op.Seq), "signed in namespace %q, action %s needs %q", r.Signature.Namespace, o.op.Action, o.namespace)
		}
		if n == 0 && r.Signer.Principal != string(o.op.Principal) {
			j.against(authentic, jobspec.CodeKeyNotForPrincipal, opName(o.op.Seq), "the key belongs to another principal than the op names")
		}
		who[r.Signer.Principal] = true
	}
}

// bestOf is what the first list says that accepts the signature, else the first.
func bestOf(lists []*signing.Trust, o chainOp, sig []byte) (first signing.Result, err error) {
	err = &jobspec.OpError{Reason: jobspec.CodeKeyUnknown, Seq: o.op.Seq, Detail: "no list of signers is there that genesis or a checkpoint vouches for"}
	for i, t := range lists {
		r, bad := t.Check(o.Op, sig, o.op.Created.Time())
		if bad == nil {
			bad = r.ErrBeforeRevocation()
		}
		if bad == nil {
			return r, nil
		}
		if i == 0 {
			first, err = r, bad
		}
	}
	return first, err
}
