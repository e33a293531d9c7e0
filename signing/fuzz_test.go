package signing_test

import (
	"bytes"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

// FuzzSignature: whatever is read is written back as it was, and no other bytes
// than those that the key made verify.
func FuzzSignature(f *testing.F) {
	k := signingtest.FixedKey(f, "fuzz", "alice", ns)
	genuine := k.Sign(f, ns, opBytes)
	for _, set := range []map[string]variant{blobVariants(k), armorVariants(k)} {
		for _, v := range set {
			f.Add(v.text)
		}
	}
	f.Add(genuine)
	trust := signingtest.Trust(f, k)
	f.Fuzz(func(t *testing.T, b []byte) {
		sig, err := signing.ParseSignature(b)
		if err != nil {
			if sig != nil || code(t, err) == "" {
				t.Fatalf("half a signature: %v", err)
			}
			return
		}
		again, err := signing.ParseSignature(signing.Armor(sig.Blob()))
		if err != nil || !bytes.Equal(again.Blob(), sig.Blob()) || again.Namespace != sig.Namespace {
			t.Fatalf("not the same again: %v", err)
		}
		if _, err := trust.Verify(opBytes, sig.Blob(), noon); err == nil && !bytes.Equal(sig.Blob(), genuine) {
			t.Fatalf("forged: %x", sig.Blob())
		}
	})
}

// FuzzTrust: an accepted file grants nothing without namespaces, holds no key
// twice, and each of its lines is written and read again alike.
func FuzzTrust(f *testing.F) {
	a, b := signingtest.FixedKey(f, "a", "alice", ns), signingtest.FixedKey(f, "b", "bob", "x", ns)
	b.ValidBefore = noon
	f.Add(signingtest.AllowedSigners(f, a, b), signingtest.RevokedKeys(b))
	f.Add([]byte("# x\n\n"+a.Line(f)), []byte{})
	f.Add([]byte(`rsa namespaces="a" `+rsaKey(3072, 65537)), []byte(rsaKey(1024, 3)))
	f.Add([]byte(`alice cert-authority,namespaces="*" ssh-ed25519 AAAA`), []byte("SSHKRL\n\x00"))
	f.Fuzz(func(t *testing.T, allowed, revoked []byte) {
		trust, err := signing.ParseTrust(allowed, revoked, all)
		if err != nil {
			if code(t, err) != "trust_refused" || trust != nil {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		seen := make(map[string]bool)
		for _, s := range trust.Signers() {
			if len(s.Namespaces) == 0 || s.Principal == "" || seen[s.KeyID] || ssh.FingerprintSHA256(s.Key) != s.KeyID {
				t.Fatalf("accepted %+v", s)
			}
			seen[s.KeyID] = true
			line, err := signing.FormatSigner(s)
			if err != nil {
				t.Fatal(err)
			}
			again, err := signing.ParseTrust([]byte(line), revoked, all)
			if err != nil || again.Signers()[0].Revoked != s.Revoked || !again.Signers()[0].ValidBefore.Equal(s.ValidBefore) {
				t.Fatalf("%q read again: %v", line, err)
			}
		}
	})
}
