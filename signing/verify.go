package signing

import (
	"time"

	"github.com/sbxcron/sbxcron/signing/internal/seal"
	"github.com/sbxcron/sbxcron/signing/statement"
)

// Result is a signature that is over the given bytes, and what the trust files
// say about its key. The two are apart, so that history can say "signed by this
// key, which was revoked later". A Result is no statement: nothing runs on it.
type Result struct {
	Signature *Signature
	Signer    Signer // zero when Known is false
	Known     bool   // the key is in allowed_signers
	Revoked   bool   // the key is in revoked_keys

	judged   bool            // by Check; a Result from elsewhere counts for nothing
	standing *UntrustedError // apart from revocation
}

// Err says why the signature does not count, revocation first; nil if it counts.
// The zero Result does not count.
func (r Result) Err() error {
	if r.judged && r.Revoked {
		return r.refusal(CodeKeyRevoked, "check signer: revoked")
	}
	return r.ErrBeforeRevocation()
}

// ErrBeforeRevocation is Err as if the key had never been revoked: only for
// telling what was right at the time, never for letting something run.
func (r Result) ErrBeforeRevocation() error {
	switch {
	case !r.judged:
		return refuse(CodeSigMissing, "check signature: nothing was checked")
	case r.standing != nil:
		return r.standing
	}
	return nil
}

func (r Result) refusal(code Code, what string) *UntrustedError {
	e := refuseFor(code, r.Signature.KeyID(), what)
	e.Principal = r.Signer.Principal
	return e
}

// Verify returns the statement that sig makes about msg at that time: sig is in
// binary form and well-formed, its key is in allowed_signers, not revoked, valid
// at that time and allowed for the signed namespace, and it signed exactly msg.
// A revoked key is refused whatever the time. The error is an *UntrustedError.
func (t *Trust) Verify(msg, sig []byte, at time.Time) (statement.Statement, error) {
	r, err := t.Check(msg, sig, at)
	if err != nil {
		return statement.Statement{}, err
	}
	if err := r.Err(); err != nil {
		return statement.Statement{}, err
	}
	return statement.New(seal.New(), msg, statement.Facts{
		Namespace: r.Signature.Namespace, Principal: r.Signer.Principal,
		KeyID: r.Signer.KeyID, Trust: t.digest,
	})
}

// Check tells whether sig, in binary form, is a signature over msg, and judges
// its key apart from that. Its error is an *UntrustedError with sig_missing,
// sig_invalid or sig_alg_unsupported and means that there is no signature over
// msg; all else stands in the Result.
func (t *Trust) Check(msg, sig []byte, at time.Time) (Result, error) {
	if len(sig) == 0 {
		return Result{}, refuse(CodeSigMissing, "check signature: nothing there")
	}
	s, err := parseBlob(sig)
	if err != nil {
		return Result{}, err
	}
	if !t.algorithms.allows(s.Key.Type()) {
		return Result{}, refuseFor(CodeSigAlgUnsupported, s.KeyID(), "check signature: "+s.Key.Type()+" is not accepted here")
	}
	if err := s.Verify(msg); err != nil {
		return Result{}, t.named(err, s)
	}
	r := Result{Signature: s, Revoked: t.IsRevoked(s.Key), judged: true}
	r.Signer, r.Known = t.Find(s.Key)
	r.standing = r.judge(at)
	return r, nil
}

// named adds the principal that the claimed key would have had.
func (t *Trust) named(err error, s *Signature) error {
	u, ok := err.(*UntrustedError)
	if signer, known := t.Find(s.Key); ok && known {
		u.Principal = signer.Principal
	}
	return err
}

// judge applies the key's line, without regard to revocation. Both ends of the
// validity are inclusive, as in OpenSSH.
func (r Result) judge(at time.Time) *UntrustedError {
	switch {
	case !r.Known:
		return r.refusal(CodeKeyUnknown, "check signer: not in allowed_signers")
	case at.IsZero():
		return r.refusal(CodeKeyNotYetValid, "check signer: no time to judge it by")
	case !r.Signer.ValidAfter.IsZero() && at.Before(r.Signer.ValidAfter):
		return r.refusal(CodeKeyNotYetValid, "check signer: valid only from "+r.Signer.ValidAfter.Format(time.RFC3339))
	case !r.Signer.ValidBefore.IsZero() && at.After(r.Signer.ValidBefore):
		return r.refusal(CodeKeyExpired, "check signer: valid only until "+r.Signer.ValidBefore.Format(time.RFC3339))
	case !r.Signer.MaySign(r.Signature.Namespace):
		return r.refusal(CodeKeyNotForNamespace, "check signer: not for namespace "+r.Signature.Namespace)
	}
	return nil
}
