package merkle

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"

	"golang.org/x/mod/sumdb/tlog"
)

// HashBytes is the length of a hash.
const HashBytes = sha256.Size

// Hash is one hash of the tree.
type Hash [HashBytes]byte

// LeafHash is the hash of one line, without its line end: SHA-256 over a zero
// byte and the line.
func LeafHash(line []byte) Hash { return Hash(tlog.RecordHash(line)) }

// EmptyRoot is the root of a tree without leaves: SHA-256 of nothing.
func EmptyRoot() Hash { return Hash(sha256.Sum256(nil)) }

// nodeHash is the hash of a node: SHA-256 over a byte of one and both children.
func nodeHash(left, right Hash) Hash {
	return Hash(tlog.NodeHash(tlog.Hash(left), tlog.Hash(right)))
}

// String is the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Base64 is the hash as checkpoints and proofs write it.
func (h Hash) Base64() string { return base64.StdEncoding.EncodeToString(h[:]) }

var errHash = errors.New("not a hash of 32 bytes in base64")

// ParseHash reads what Base64 wrote, and no other spelling of it.
func ParseHash(s string) (Hash, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b) != HashBytes {
		return Hash{}, errHash
	}
	h := Hash(b)
	if h.Base64() != s { // line breaks and spare bits decode as well
		return Hash{}, errHash
	}
	return h, nil
}
