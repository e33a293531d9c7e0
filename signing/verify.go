package signing

import (
	"time"

	"golang.org/x/crypto/ssh"

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
		return revoked(r.Signature.KeyID(), r.Signer.Principal)
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
		KeyID: r.Signer.KeyID, Trust: t.digest, Revoked: t.revDig,
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
	r.standing = r.Signer.judge(s.KeyID(), s.Namespace, at)
	return r, nil
}

// Allows tells whether a signature of this key in this namespace would count at
// that time, so that nobody is asked for a passphrase or a touch in vain. The
// error is an *UntrustedError.
func (t *Trust) Allows(key ssh.PublicKey, namespace string, at time.Time) error {
	s, _ := t.Find(key)
	if t.IsRevoked(key) {
		return revoked(KeyID(key), s.Principal)
	}
	if u := s.judge(KeyID(key), namespace, at); u != nil {
		return u
	}
	return nil
}

// named adds the principal that the claimed key would have had.
func (t *Trust) named(err error, s *Signature) error {
	u, ok := err.(*UntrustedError)
	if signer, known := t.Find(s.Key); ok && known {
		u.Principal = signer.Principal
	}
	return err
}

func revoked(keyID, principal string) *UntrustedError {
	return &UntrustedError{code: CodeKeyRevoked, what: "check signer: revoked", KeyID: keyID, Principal: principal}
}

// judge applies the line of a key, without regard to revocation; the zero line
// is that of a key which has none. Both ends of the validity are inclusive, as
// in OpenSSH.
func (s Signer) judge(keyID, namespace string, at time.Time) *UntrustedError {
	no := func(code Code, what string) *UntrustedError {
		return &UntrustedError{code: code, what: "check signer: " + what, KeyID: keyID, Principal: s.Principal}
	}
	switch {
	case s.Key == nil:
		return no(CodeKeyUnknown, "not in allowed_signers")
	case at.IsZero():
		return no(CodeKeyNotYetValid, "no time to judge it by")
	case !s.ValidAfter.IsZero() && at.Before(s.ValidAfter):
		return no(CodeKeyNotYetValid, "valid only from "+s.ValidAfter.Format(time.RFC3339))
	case !s.ValidBefore.IsZero() && at.After(s.ValidBefore):
		return no(CodeKeyExpired, "valid only until "+s.ValidBefore.Format(time.RFC3339))
	case !s.MaySign(namespace):
		return no(CodeKeyNotForNamespace, "not for namespace "+namespace)
	}
	return nil
}
