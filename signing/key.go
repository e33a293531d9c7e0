package signing

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"

	"golang.org/x/crypto/ssh"
)

// Limits of what is looked at, before anything is computed with it.
const (
	minRSABits = 3072
	maxRSABits = 8192
)

// rsaExponent is 65537 as an mpint: the only one ssh-keygen has made since 2010.
var rsaExponent = [...]byte{1, 0, 1}

// Algorithms says which key types may sign beside ssh-ed25519. The zero value
// allows Ed25519 alone.
type Algorithms struct {
	ECDSAP256 bool // ecdsa-sha2-nistp256
	RSA       bool // rsa-sha2-512 with 3072 to 8192 bits
}

// allows reports whether a key of this type may sign.
func (a Algorithms) allows(keyType string) bool {
	switch keyType {
	case ssh.KeyAlgoED25519:
		return true
	case ssh.KeyAlgoECDSA256:
		return a.ECDSAP256
	case ssh.KeyAlgoRSA:
		return a.RSA
	}
	return false
}

// every allows all that this package can check.
func every() Algorithms { return Algorithms{ECDSAP256: true, RSA: true} }

// KeyID is the key's SHA-256 fingerprint as OpenSSH prints it.
func KeyID(key ssh.PublicKey) string { return ssh.FingerprintSHA256(key) }

// ParseKey reads the wire form of a public key that may sign. Sizes are checked
// on the bytes, so that no arithmetic is done with a modulus or an exponent of
// somebody else's choice (CVE-2026-39829). The error is an *UntrustedError.
func ParseKey(blob []byte, a Algorithms) (ssh.PublicKey, error) {
	keyType, fields, err := shapeOf(blob)
	if err != nil {
		return nil, &UntrustedError{code: CodeSigInvalid, what: "read public key", cause: err}
	}
	if !a.allows(keyType) {
		return nil, refuse(CodeSigAlgUnsupported, "read public key: %s is not accepted here", keyType)
	}
	if err := strong(keyType, fields); err != nil {
		return nil, &UntrustedError{code: CodeSigAlgUnsupported, what: "read public key", cause: err}
	}
	key, err := ssh.ParsePublicKey(blob)
	if err != nil {
		return nil, &UntrustedError{code: CodeSigInvalid, what: "read public key", cause: err}
	}
	if !bytes.Equal(key.Marshal(), blob) {
		return nil, refuse(CodeSigInvalid, "read public key: not in its one encoding")
	}
	return key, nil
}

// strong refuses keys with which anybody, or too many, can sign.
func strong(keyType string, fields [][]byte) error {
	switch keyType {
	case ssh.KeyAlgoED25519:
		return strongEd25519([32]byte(fields[0]))
	case ssh.KeyAlgoRSA:
		return strongRSA(fields[0], fields[1])
	}
	return nil
}

// strongRSA looks at bytes only: e, then n, both already shortest mpints.
func strongRSA(e, n []byte) error {
	if !bytes.Equal(e, rsaExponent[:]) {
		return errors.New("RSA exponent is not 65537")
	}
	n = bytes.TrimLeft(n, "\x00")
	size := (len(n)-1)*8 + bits.Len8(n[0])
	if size < minRSABits || size > maxRSABits {
		return fmt.Errorf("RSA key has %d bits, accepted are %d to %d", size, minRSABits, maxRSABits)
	}
	if n[len(n)-1]&1 == 0 {
		return errors.New("RSA modulus is even")
	}
	return nil
}
