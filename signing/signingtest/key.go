package signingtest

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/statement"
)

// Key is a throw-away Ed25519 key of one principal, with its line of
// allowed_signers. Change ValidAfter and ValidBefore before asking for the line.
type Key struct {
	Principal   string
	Namespaces  []string
	ValidAfter  time.Time
	ValidBefore time.Time

	private ed25519.PrivateKey
	public  ssh.PublicKey
}

// NewKey makes a random key that may sign in these namespaces.
func NewKey(tb testing.TB, principal string, namespaces ...string) *Key {
	tb.Helper()
	var seed [ed25519.SeedSize]byte
	if _, err := rand.Read(seed[:]); err != nil {
		tb.Fatal(err)
	}
	return fromSeed(tb, seed, principal, namespaces)
}

// FixedKey makes the same key for the same seed text: for golden files.
func FixedKey(tb testing.TB, seed, principal string, namespaces ...string) *Key {
	tb.Helper()
	return fromSeed(tb, sha256.Sum256([]byte(seed)), principal, namespaces)
}

func fromSeed(tb testing.TB, seed [ed25519.SeedSize]byte, principal string, namespaces []string) *Key {
	tb.Helper()
	private := ed25519.NewKeyFromSeed(seed[:])
	public, err := ssh.NewPublicKey(private.Public())
	if err != nil {
		tb.Fatal(err)
	}
	return &Key{Principal: principal, Namespaces: namespaces, private: private, public: public}
}

// Public is the public half.
func (k *Key) Public() ssh.PublicKey { return k.public }

// KeyID names the key as OpenSSH prints it.
func (k *Key) KeyID() string { return signing.KeyID(k.public) }

// Private is the private half, for tests that hand it to stock tools.
func (k *Key) Private() ed25519.PrivateKey { return k.private }

// Sign returns the binary SSHSIG signature over msg.
func (k *Key) Sign(tb testing.TB, namespace string, msg []byte) []byte {
	tb.Helper()
	sig := &ssh.Signature{Format: ssh.KeyAlgoED25519, Blob: ed25519.Sign(k.private, signing.SignedBlob(namespace, msg))}
	s, err := signing.NewSignature(k.public, namespace, sig)
	if err != nil {
		tb.Fatal(err)
	}
	return s.Blob()
}

// Line is the key's line of allowed_signers, newline included.
func (k *Key) Line(tb testing.TB) string {
	tb.Helper()
	line, err := signing.FormatSigner(signing.Signer{
		Principal: k.Principal, Key: k.public, Namespaces: k.Namespaces,
		ValidAfter: k.ValidAfter, ValidBefore: k.ValidBefore,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return line
}

// AllowedSigners is the trust file of these keys.
func AllowedSigners(tb testing.TB, keys ...*Key) []byte {
	tb.Helper()
	var out []byte
	for _, k := range keys {
		out = append(out, k.Line(tb)...)
	}
	return out
}

// RevokedKeys is the list of these keys as revoked_keys has it; of none, the
// empty file.
func RevokedKeys(keys ...*Key) []byte {
	out := []byte{}
	for _, k := range keys {
		out = append(out, signing.FormatRevoked(k.public)...)
	}
	return out
}

// Trust is the trust of these keys, none revoked.
func Trust(tb testing.TB, keys ...*Key) *signing.Trust {
	tb.Helper()
	t, err := signing.ParseTrust(AllowedSigners(tb, keys...), RevokedKeys(), signing.Algorithms{})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// Statement signs msg and takes it through the real verifier, trusting this key
// alone, at a time at which it is valid.
func (k *Key) Statement(tb testing.TB, namespace string, msg []byte) statement.Statement {
	tb.Helper()
	at := k.ValidAfter
	if at.IsZero() {
		at = k.ValidBefore
	}
	if at.IsZero() {
		at = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	}
	st, err := Trust(tb, k).Verify(msg, k.Sign(tb, namespace, msg), at)
	if err != nil {
		tb.Fatal(err)
	}
	return st
}
