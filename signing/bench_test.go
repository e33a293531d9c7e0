package signing_test

import (
	"crypto/ed25519"
	"testing"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

// BenchmarkVerify is what every trigger pays, beside the bare primitive.
func BenchmarkVerify(b *testing.B) {
	k := signingtest.NewKey(b, "alice", ns)
	msg := make([]byte, 4096)
	b.Run("sshsig", func(b *testing.B) {
		trust, sig := signingtest.Trust(b, k), k.Sign(b, ns, msg)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := trust.Verify(msg, sig, noon); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("raw", func(b *testing.B) {
		public := k.Private().Public().(ed25519.PublicKey)
		blob := signing.SignedBlob(ns, msg)
		sig := ed25519.Sign(k.Private(), blob)
		for b.Loop() {
			if !ed25519.Verify(public, blob, sig) {
				b.Fatal("bad")
			}
		}
	})
}
