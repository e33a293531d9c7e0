package merkle_test

import (
	"testing"

	"github.com/sbxcron/sbxcron/store/merkle"
)

// FuzzProofs offers proofs of nothing for trees of any size: none may hang, none may
// panic, and what passes must be a real one.
func FuzzProofs(f *testing.F) {
	k := grown(20)
	leaf, proof, err := k.stored().Inclusion(20, k.Root(), 7)
	if err != nil {
		f.Fatal(err)
	}
	var all []byte
	for _, h := range proof {
		all = append(all, h[:]...)
	}
	f.Add(int64(20), int64(7), all)
	f.Add(int64(0), int64(0), []byte{})
	f.Add(int64(1), int64(0), []byte{})
	f.Add(int64(1)<<62, int64(1), all)
	f.Fuzz(func(t *testing.T, size, at int64, raw []byte) {
		var p []merkle.Hash
		for ; len(raw) >= merkle.HashBytes; raw = raw[merkle.HashBytes:] {
			p = append(p, merkle.Hash(raw[:merkle.HashBytes]))
		}
		// A proof does not say how large the tree is, the signed size does: in all
		// trees of 17 to 32 leaves the way from leaf 7 is the same.
		if merkle.CheckInclusion(p, size, k.Root(), at, leaf) == nil && (at != 7 || size <= 16 || size > 32) {
			t.Errorf("leaf 7 of 20 passes as %d of %d", at, size)
		}
		if merkle.CheckConsistency(p, size, k.Root(), at, merkle.LeafHash([]byte("none"))) == nil {
			t.Errorf("a tree of nothing passes as %d of %d", at, size)
		}
	})
}
