// Package statement is the type of verified bytes: who said what.
//
// A Statement exists only after a signature over exactly its bytes was checked
// against the trust files. Decision, plan and runner take a Statement and
// nothing else, so bytes that nobody signed cannot reach them. It imports the
// standard library only; every room may import it.
package statement

import (
	"bytes"
	"crypto/sha256"
	"errors"

	"github.com/sbxcron/sbxcron/signing/internal/seal"
)

// Statement is what one key said. Its zero value says nothing: Valid is false.
type Statement struct {
	body      []byte
	namespace string
	principal string
	keyID     string
	trust     [sha256.Size]byte
	revoked   [sha256.Size]byte
	genuine   bool
}

// Facts are what a verifier found out about a signature.
type Facts struct {
	Namespace string            // SSHSIG namespace, signed
	Principal string            // the one that allowed_signers gives the key
	KeyID     string            // "SHA256:<base64>", as OpenSSH prints it
	Trust     [sha256.Size]byte // digest of the allowed_signers that said so
	Revoked   [sha256.Size]byte // digest of the revoked_keys that did not name the key
}

// New seals verified bytes. Only the verifier holds a genuine token; any other
// token is refused.
func New(token seal.Token, body []byte, f Facts) (Statement, error) {
	if !token.Genuine() {
		return Statement{}, errors.New("make statement: token is not genuine")
	}
	return Statement{
		body: bytes.Clone(body), namespace: f.Namespace, principal: f.Principal,
		keyID: f.KeyID, trust: f.Trust, revoked: f.Revoked, genuine: true,
	}, nil
}

// Valid reports whether the statement came from a verifier.
func (s Statement) Valid() bool { return s.genuine }

// Bytes returns a copy of the signed bytes.
func (s Statement) Bytes() []byte { return bytes.Clone(s.body) }

// Digest is the SHA-256 of the signed bytes: the identity of what was said.
func (s Statement) Digest() [sha256.Size]byte { return sha256.Sum256(s.body) }

// Namespace is the SSHSIG namespace that was signed.
func (s Statement) Namespace() string { return s.namespace }

// Principal is the identity that the trust file gives the key.
func (s Statement) Principal() string { return s.principal }

// KeyID names the key as OpenSSH prints it.
func (s Statement) KeyID() string { return s.keyID }

// Trust is the digest of the allowed_signers file that vouched for the key.
func (s Statement) Trust() [sha256.Size]byte { return s.trust }

// Revoked is the digest of the revoked_keys file that did not name the key.
func (s Statement) Revoked() [sha256.Size]byte { return s.revoked }
