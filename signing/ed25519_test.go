package signing

import (
	"crypto/ed25519"
	"fmt"
	"testing"
)

// encodings lists every way to write the points of small order: five y, each
// with both signs of x.
func encodings() [][32]byte {
	var out [][32]byte
	for _, y := range smallOrderY() {
		neg := y
		neg[31] |= 0x80
		out = append(out, y, neg)
	}
	return out
}

// TestAnybodySignsForKeysOfSmallOrder shows why they are refused: without any
// private key, one fixed signature is good over one message in at most eight.
func TestAnybodySignsForKeysOfSmallOrder(t *testing.T) {
	for _, key := range encodings() {
		if !forgeable(key) {
			t.Errorf("no forgery for %x: not of small order?", key)
		}
		if strongEd25519(key) == nil {
			t.Errorf("%x accepted", key)
		}
	}
}

// forgeable looks for a message over which a signature that nobody made is good:
// R is a point of small order and S is 0.
func forgeable(key [32]byte) bool {
	for _, r := range encodings() {
		sig := append(append([]byte(nil), r[:]...), make([]byte, 32)...)
		for n := range 64 {
			if ed25519.Verify(key[:], fmt.Appendf(nil, "message %d", n), sig) {
				return true
			}
		}
	}
	return false
}

func TestEd25519KeysHaveOneEncoding(t *testing.T) {
	p := [32]byte{0: 0xed, 31: 0x7f}
	for i := 1; i < 31; i++ {
		p[i] = 0xff
	}
	for d := byte(0); d < 19; d++ { // p to 2^255 - 1
		for _, sign := range []byte{0, 0x80} {
			key := p
			key[0] += d
			key[31] |= sign
			if strongEd25519(key) == nil {
				t.Errorf("p + %d accepted", d)
			}
		}
	}
	for d := byte(2); d < 100; d++ { // p - 2 and below; p - 1 has order 2
		key := p
		key[0] -= d
		if err := strongEd25519(key); err != nil {
			t.Errorf("p - %d: %v", d, err)
		}
	}
}

func TestOrdinaryKeysAreStrong(t *testing.T) {
	for n := range 256 {
		seed := [32]byte{byte(n)}
		public := ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey)
		if err := strongEd25519([32]byte(public)); err != nil {
			t.Errorf("%x: %v", public, err)
		}
	}
}
