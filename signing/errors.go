package signing

import "fmt"

// Code is the stable reason why a signature or a trust file is not accepted.
// The words are those of jobspec's closed list, which this room may not import.
type Code string

// Codes of this room.
const (
	CodeSigMissing         Code = "sig_missing"
	CodeSigInvalid         Code = "sig_invalid"
	CodeSigAlgUnsupported  Code = "sig_alg_unsupported"
	CodeKeyUnknown         Code = "key_unknown"
	CodeKeyRevoked         Code = "key_revoked"
	CodeKeyExpired         Code = "key_expired"
	CodeKeyNotYetValid     Code = "key_not_yet_valid"
	CodeKeyNotForNamespace Code = "key_not_for_namespace"
	CodeTrustRefused       Code = "trust_refused"
)

// UntrustedError says why nothing was accepted, and of whom. Principal and
// KeyID are empty as long as they are not known.
type UntrustedError struct {
	Principal string
	KeyID     string

	code  Code
	what  string
	cause error
}

// Error is one line: what, whose, why.
func (e *UntrustedError) Error() string {
	s := e.what
	if e.KeyID != "" {
		s += ": key " + e.KeyID
	}
	if e.Principal != "" {
		s += fmt.Sprintf(" of %q", e.Principal)
	}
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return s
}

// Unwrap is the cause, where there is one.
func (e *UntrustedError) Unwrap() error { return e.cause }

// Code is the stable reason.
func (e *UntrustedError) Code() string { return string(e.code) }

// Hint says what a person can do about it.
func (e *UntrustedError) Hint() string {
	switch e.code {
	case CodeSigMissing:
		return "sign the operation with a key of allowed_signers"
	case CodeSigInvalid:
		return "the signed bytes or the signature were changed, or the signature belongs to something else: sign again"
	case CodeSigAlgUnsupported:
		return "sign with an ssh-ed25519 key; ECDSA P-256 and RSA of 3072 to 8192 bits need a policy that allows them"
	case CodeKeyUnknown:
		return "add the public key to allowed_signers, or sign with a key that is in it"
	case CodeKeyRevoked:
		return "sign again with another key of this principal; a revoked key stays revoked"
	case CodeKeyExpired:
		return "sign with the key that replaced it, or raise valid-before in allowed_signers"
	case CodeKeyNotYetValid:
		return "wait, sign with another key, or lower valid-after in allowed_signers"
	case CodeKeyNotForNamespace:
		return "ask for less, or add the namespace to the key's line in allowed_signers"
	case CodeTrustRefused:
		return "correct that line; one odd line refuses the whole file, so that none is skipped unseen"
	}
	return ""
}

// refuse makes an error that concerns no known key.
func refuse(code Code, format string, args ...any) *UntrustedError {
	return &UntrustedError{code: code, what: fmt.Sprintf(format, args...)}
}

// refuseFor makes an error that concerns the key with this ID.
func refuseFor(code Code, keyID, what string) *UntrustedError {
	return &UntrustedError{code: code, what: what, KeyID: keyID}
}
