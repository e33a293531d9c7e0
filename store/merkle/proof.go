package merkle

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// MaxSize bounds a tree: integers in our forms stay within 2^53, and the library
// loops for ever on sizes above 2^62.
const MaxSize = 1 << 53

// maxProof bounds a proof, whose length is the height of the tree.
const maxProof = 64

// ProofError refuses a proof, or says that none can be made.
type ProofError struct {
	What   string // which proof, in words
	Detail string
}

func (e *ProofError) Error() string { return e.What + ": " + e.Detail }

func inclusionName(index, size int64) string {
	return fmt.Sprintf("proof that leaf %d lies in the tree of %d", index, size)
}

func consistencyName(from, size int64) string {
	return fmt.Sprintf("proof that the tree of %d begins with that of %d", size, from)
}

// CheckInclusion says whether proof leads from leaf, which is the one at index, to
// root, which is that of the first size leaves.
func CheckInclusion(proof []Hash, size int64, root Hash, index int64, leaf Hash) error {
	name := inclusionName(index, size)
	switch {
	case index < 0 || index >= size || size > MaxSize:
		return &ProofError{name, "there is no such leaf"}
	case len(proof) > maxProof:
		return &ProofError{name, "it is too long"}
	}
	if err := tlog.CheckRecord(tlogHashes(proof), size, tlog.Hash(root), index, tlog.Hash(leaf)); err != nil {
		return &ProofError{name, "it does not lead to the root"}
	}
	return nil
}

// CheckConsistency says whether proof shows that the tree of size leaves with root
// begins with the tree of from leaves with old. The empty tree begins every tree
// and takes an empty proof, as does a tree that did not grow.
func CheckConsistency(proof []Hash, size int64, root Hash, from int64, old Hash) error {
	name := consistencyName(from, size)
	switch {
	case size > MaxSize:
		return &ProofError{name, "no tree is as large"}
	case from < 0 || from > size:
		return &ProofError{name, "the older tree is the larger one"}
	case len(proof) > maxProof:
		return &ProofError{name, "it is too long"}
	case from == 0 && (len(proof) != 0 || old != EmptyRoot()):
		return &ProofError{name, "the older one is not the empty tree"}
	case from == 0 && size == 0 && root != old:
		return &ProofError{name, "the roots differ"}
	case from == 0:
		return nil
	}
	if err := tlog.CheckTree(tlogHashes(proof), size, tlog.Hash(root), from, tlog.Hash(old)); err != nil {
		return &ProofError{name, "it does not lead to both roots"}
	}
	return nil
}

func tlogHashes(all []Hash) []tlog.Hash {
	out := make([]tlog.Hash, len(all))
	for i, h := range all {
		out[i] = tlog.Hash(h)
	}
	return out
}

func ourHashes(all []tlog.Hash) []Hash {
	out := make([]Hash, len(all))
	for i, h := range all {
		out[i] = Hash(h)
	}
	return out
}
