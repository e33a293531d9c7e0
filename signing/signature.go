package signing

import (
	"bytes"
	"errors"

	"golang.org/x/crypto/ssh"
)

// Signature is one well-formed SSHSIG signature. It says who claims to have
// signed under which namespace; only Verify tells whether that is so.
type Signature struct {
	Key       ssh.PublicKey
	Namespace string

	alg  string
	sig  []byte
	blob []byte
}

// ParseSignature reads a signature: armored as ssh-keygen writes it, or in its
// binary form. Errors are *UntrustedError with sig_missing, sig_invalid or
// sig_alg_unsupported.
func ParseSignature(b []byte) (*Signature, error) {
	if len(b) == 0 {
		return nil, refuse(CodeSigMissing, "read signature: nothing there")
	}
	if !bytes.HasPrefix(b, []byte(magic)) {
		blob, err := Dearmor(b)
		if err != nil {
			return nil, err
		}
		b = blob
	}
	return parseBlob(b)
}

// NewSignature frames what a signer returned for SignedBlob(namespace, ...) and
// holds it to the same rules as a signature that was read.
func NewSignature(key ssh.PublicKey, namespace string, sig *ssh.Signature) (*Signature, error) {
	if sig == nil || len(sig.Rest) != 0 {
		return nil, refuse(CodeSigInvalid, "make signature: signer returned something else than a plain signature")
	}
	return parseBlob(frame(key.Marshal(), namespace, sig.Format, sig.Blob))
}

// Blob returns a copy of the one binary form: what is stored.
func (s *Signature) Blob() []byte { return bytes.Clone(s.blob) }

// KeyID names the key that claims to have signed.
func (s *Signature) KeyID() string { return KeyID(s.Key) }

// Verify checks that Key signed exactly msg under Namespace. It says nothing
// about whether anybody trusts Key. The error is an *UntrustedError with
// sig_invalid.
func (s *Signature) Verify(msg []byte) error {
	sig := &ssh.Signature{Format: s.alg, Blob: s.sig}
	if err := s.Key.Verify(SignedBlob(s.Namespace, msg), sig); err != nil {
		return refuseFor(CodeSigInvalid, s.KeyID(), "check signature: it is not over these bytes")
	}
	return nil
}

// parseBlob reads the binary form and requires that it is the only one: writing
// it again gives the same bytes.
func parseBlob(blob []byte) (*Signature, error) {
	raw, err := split(blob)
	if err != nil {
		return nil, &UntrustedError{code: CodeSigInvalid, what: "read signature", cause: err}
	}
	key, err := ParseKey(raw.key, every())
	if err != nil {
		return nil, err
	}
	alg, sig, err := inner(key.Type(), raw.inner)
	if err != nil {
		return nil, &UntrustedError{code: CodeSigInvalid, what: "read signature", cause: err}
	}
	if !bytes.Equal(frame(raw.key, raw.namespace, alg, sig), blob) {
		return nil, refuse(CodeSigInvalid, "read signature: not in its one encoding")
	}
	return &Signature{
		Key: key, Namespace: raw.namespace, alg: alg, sig: bytes.Clone(sig), blob: bytes.Clone(blob),
	}, nil
}

// parts are the fields of a signature whose content may still be anything. The
// inner signature is looked at after the key, whose type says how.
type parts struct {
	key       []byte
	namespace string
	inner     []byte
}

// split takes the fields apart (PROTOCOL.sshsig, section 3).
func split(blob []byte) (parts, error) {
	if len(blob) > maxBlob {
		return parts{}, errors.New("longer than 8 KiB")
	}
	if !bytes.HasPrefix(blob, []byte(magic)) {
		return parts{}, errors.New("does not begin with SSHSIG")
	}
	w := wire(blob[len(magic):])
	v, err := w.uint32()
	if err != nil {
		return parts{}, err
	}
	if v != version {
		return parts{}, errors.New("version is not 1")
	}
	f, err := w.strings(5)
	if err != nil {
		return parts{}, err
	}
	switch {
	case !validNamespace(string(f[1])):
		return parts{}, errors.New("namespace is empty or has unusual characters")
	case len(f[2]) != 0:
		return parts{}, errors.New("reserved field is not empty")
	case string(f[3]) != hashName:
		return parts{}, errors.New("hash is not sha512")
	}
	return parts{key: f[0], namespace: string(f[1]), inner: f[4]}, nil
}

// inner takes the signature itself apart: its algorithm and its bytes.
func inner(keyType string, b []byte) (alg string, sig []byte, err error) {
	w := wire(b)
	f, err := w.strings(2)
	if err != nil {
		return "", nil, err
	}
	return string(f[0]), f[1], rightForm(keyType, string(f[0]), f[1])
}

// rightForm ties the signature's algorithm to the key's type and checks the
// lengths. SSHSIG forbids SHA-1 for RSA, and OpenSSH always writes rsa-sha2-512.
func rightForm(keyType, alg string, sig []byte) error {
	switch {
	case keyType == ssh.KeyAlgoED25519 && alg == ssh.KeyAlgoED25519:
		if len(sig) != 64 {
			return errors.New("Ed25519 signature is not 64 bytes long")
		}
		return nil
	case keyType == ssh.KeyAlgoECDSA256 && alg == ssh.KeyAlgoECDSA256:
		return rightECDSA(sig)
	case keyType == ssh.KeyAlgoRSA && alg == ssh.KeyAlgoRSASHA512:
		if len(sig) < minRSABits/8 || len(sig) > maxRSABits/8 {
			return errors.New("RSA signature has the wrong length")
		}
		return nil
	}
	return errors.New("algorithm does not belong to the key's type")
}

// rightECDSA wants r and s, positive and shortest, at most 33 bytes each
// (RFC 5656 3.1.2). CVE-2022-21449 was r = s = 0.
func rightECDSA(sig []byte) error {
	w := wire(sig)
	rs, err := w.strings(2)
	if err != nil {
		return err
	}
	for _, n := range rs {
		if !positive(n) || len(n) > 33 {
			return errors.New("ECDSA signature has an impossible r or s")
		}
	}
	return nil
}
