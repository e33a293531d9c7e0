package signing

import (
	"errors"
	"slices"
)

// strongEd25519 refuses keys for which a signature says nothing. Go and
// ssh-keygen both accept, for the identity point, one fixed signature over every
// message; the other seven points of small order give the same for a part of the
// messages. A y of p or more is a second encoding of another key.
func strongEd25519(key [32]byte) error {
	y := key
	y[31] &= 0x7f // the top bit is the sign of x (RFC 8032 5.1.2)
	if !canonicalY(y) {
		return errors.New("Ed25519 key is not in its one encoding")
	}
	if slices.Contains(smallOrderY(), y) {
		return errors.New("Ed25519 key has a small order: anybody can sign for it")
	}
	return nil
}

// canonicalY reports whether the little-endian y is below p = 2^255 - 19.
func canonicalY(y [32]byte) bool {
	if y[31] != 0x7f {
		return true
	}
	for _, b := range y[1:31] {
		if b != 0xff {
			return true
		}
	}
	return y[0] < 0xed
}

// smallOrderY lists the y of the eight points whose order divides 8, little
// endian. x and -x share a y, so five values stand for eight points, and also
// for their encodings with a wrong sign. A test finds the order of each with
// nothing but the standard library.
func smallOrderY() [][32]byte {
	minusOne := [32]byte{0: 0xec, 31: 0x7f}
	for i := 1; i < 31; i++ {
		minusOne[i] = 0xff
	}
	return [][32]byte{
		{0: 1},   // order 1: the identity
		minusOne, // order 2
		{},       // order 4, both signs of x
		{ // order 8
			0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
			0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
		},
		{ // order 8
			0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
			0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
		},
	}
}
