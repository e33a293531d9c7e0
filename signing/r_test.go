package signing_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"math/big"
	"slices"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

// little reads a number as RFC 8032 writes it.
func little(b []byte) *big.Int {
	b = slices.Clone(b)
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}

// withIdentityR is a signature whose R is the identity, in this encoding: only
// the key's owner can make it, for S = k a (RFC 8032 5.1.6 with r = 0).
func withIdentityR(k *signingtest.Key, r [32]byte) []byte {
	h := sha512.Sum512(k.Private().Seed())
	h[0] &= 248
	h[31] = h[31]&127 | 64
	public := k.Private().Public().(ed25519.PublicKey)
	sum := sha512.Sum512(concat(r[:], public, signing.SignedBlob(ns, opBytes)))
	s := new(big.Int).Mul(little(sum[:]), little(h[:32]))
	s.Mod(s, little(order[:]))
	out := s.FillBytes(make([]byte, 32))
	slices.Reverse(out)
	return concat(r[:], out)
}

func TestSecondEncodingOfRIsRefused(t *testing.T) {
	k := signingtest.NewKey(t, "alice", ns)
	identity := [32]byte{1}
	again := [32]byte{0: 0xee, 31: 0x7f} // 1 + p
	copy(again[1:31], bytes.Repeat([]byte{0xff}, 30))
	signed := identity
	signed[31] |= 0x80 // -0 is 0
	for name, tt := range map[string]struct {
		r    [32]byte
		want string
	}{
		"canonical": {identity, ""}, // shows that the sample is a good one
		"y plus p":  {again, "sig_invalid"},
		"minus 0":   {signed, "sig_invalid"},
	} {
		sig, err := signing.NewSignature(k.Public(), ns, &ssh.Signature{Format: ssh.KeyAlgoED25519, Blob: withIdentityR(k, tt.r)})
		if err != nil {
			t.Fatal(err)
		}
		if got := code(t, sig.Verify(opBytes)); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
