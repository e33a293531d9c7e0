package signing

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"
)

// Signer is one line of allowed_signers: who a key belongs to and for what it
// counts.
type Signer struct {
	Principal   string
	KeyID       string
	Key         ssh.PublicKey
	Namespaces  []string
	ValidAfter  time.Time // zero: from ever; the instant itself is valid
	ValidBefore time.Time // zero: for ever; the instant itself is valid, as for OpenSSH
	Revoked     bool      // in revoked_keys: counts for nothing, whatever the time
}

// MaySign reports whether the line names this namespace. Names are compared
// byte by byte; there are no patterns.
func (s Signer) MaySign(namespace string) bool { return slices.Contains(s.Namespaces, namespace) }

// Trust is both trust files, read and accepted as a whole. The zero value
// trusts nobody.
type Trust struct {
	signers []Signer
	byKey   map[string]int  // wire form of a key -> signers
	revoked map[string]bool // wire form of a key
	digest  [sha256.Size]byte
	revDig  [sha256.Size]byte

	algorithms Algorithms
}

// Digests are those of allowed_signers and of revoked_keys, as they were read.
func (t *Trust) Digests() (allowed, revoked [sha256.Size]byte) { return t.digest, t.revDig }

// ParseTrust reads allowed_signers (ssh-keygen(1), ALLOWED SIGNERS, of which a
// strict subset is accepted) and revoked_keys (a plain list of public keys, as
// ssh-keygen -r takes it). A missing revoked_keys, nil here, is refused: without
// it nobody knows what was revoked. An empty one is fine. The error is an
// *UntrustedError with trust_refused that names file and line.
func ParseTrust(allowedSigners, revokedKeys []byte, a Algorithms) (*Trust, error) {
	signers, err := parseSigners(allowedSigners, a)
	if err != nil {
		return nil, &UntrustedError{code: CodeTrustRefused, what: "read allowed_signers", cause: err}
	}
	if revokedKeys == nil {
		return nil, refuse(CodeTrustRefused, "read revoked_keys: missing (an empty file says that nothing is revoked)")
	}
	revoked, err := parseRevoked(revokedKeys)
	if err != nil {
		return nil, &UntrustedError{code: CodeTrustRefused, what: "read revoked_keys", cause: err}
	}
	t := &Trust{
		signers: signers, byKey: make(map[string]int, len(signers)), revoked: revoked,
		digest: sha256.Sum256(allowedSigners), revDig: sha256.Sum256(revokedKeys),
		algorithms: a,
	}
	for i := range signers {
		blob := string(signers[i].Key.Marshal())
		t.byKey[blob] = i
		signers[i].Revoked = revoked[blob]
	}
	return t, nil
}

// Signers lists the lines of allowed_signers in their order. The caller owns
// the list.
func (t *Trust) Signers() []Signer {
	out := slices.Clone(t.signers)
	for i := range out {
		out[i].Namespaces = slices.Clone(out[i].Namespaces)
	}
	return out
}

// Digest is the SHA-256 of allowed_signers as it was read.
func (t *Trust) Digest() [sha256.Size]byte { return t.digest }

// RevokedDigest is the SHA-256 of revoked_keys as it was read.
func (t *Trust) RevokedDigest() [sha256.Size]byte { return t.revDig }

// IsRevoked reports whether revoked_keys names the key, be it in allowed_signers
// or not.
func (t *Trust) IsRevoked(key ssh.PublicKey) bool { return t.revoked[string(key.Marshal())] }

// Find gives the line of a key. Whole wire forms are compared: the same point
// under another key type is another key.
func (t *Trust) Find(key ssh.PublicKey) (Signer, bool) {
	i, ok := t.byKey[string(key.Marshal())]
	if !ok {
		return Signer{}, false
	}
	s := t.signers[i]
	s.Namespaces = slices.Clone(s.Namespaces)
	return s, true
}

// Limits of a trust file.
const (
	maxTrustFile  = 64 << 10
	maxTrustLines = 200
)

// lines splits a trust file. It refuses what editors leave behind and what one
// reader takes for a line break and another does not; a missing last newline is
// accepted.
func lines(file []byte) ([]string, error) {
	switch {
	case len(file) > maxTrustFile:
		return nil, errors.New("longer than 64 KiB")
	case bytes.HasPrefix(file, []byte("\xef\xbb\xbf")):
		return nil, atLine(1, errors.New("begins with a byte order mark"))
	case len(file) == 0:
		return nil, nil
	}
	raw := bytes.Split(bytes.TrimSuffix(file, []byte("\n")), []byte("\n"))
	if len(raw) > maxTrustLines {
		return nil, errors.New("more than 200 lines")
	}
	out := make([]string, len(raw))
	for i, l := range raw {
		if bytes.ContainsFunc(l, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
			return nil, atLine(i+1, errors.New("a character that is not printable ASCII (tab, carriage return, NUL ...)"))
		}
		out[i] = string(l)
	}
	return out, nil
}

// skipped reports whether a line says nothing: it is empty or a comment.
func skipped(line string) bool { return line == "" || line[0] == '#' }
