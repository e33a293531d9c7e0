package merkle

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/tlog"
)

// StoredBytes is how long the file of hashes of a tree of size leaves is.
func StoredBytes(size int64) int64 { return tlog.StoredHashCount(size) * HashBytes }

// Stored reads the hashes of a tree from where they are kept: 32 bytes each, in
// the order of Frontier.Add. It believes nothing that it reads: whoever asks
// brings a root.
type Stored struct{ r io.ReaderAt }

// NewStored reads from r.
func NewStored(r io.ReaderAt) Stored { return Stored{r} }

// ErrShort says that the file of hashes ends too early.
var ErrShort = errors.New("the file of hashes is too short")

// ReadHashes reads the hashes at the given places, as tlog asks for them.
func (s Stored) ReadHashes(places []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(places))
	for i, at := range places {
		n, err := s.r.ReadAt(out[i][:], at*HashBytes)
		if n == HashBytes {
			continue
		}
		if err == io.EOF {
			err = ErrShort
		}
		return nil, err
	}
	return out, nil
}

// Leaf is the kept hash of one leaf.
func (s Stored) Leaf(index int64) (Hash, error) {
	all, err := s.ReadHashes([]int64{tlog.StoredHashIndex(0, index)})
	if err != nil {
		return Hash{}, err
	}
	return Hash(all[0]), nil
}

// Frontier is the tree of size leaves, where its root is root.
func (s Stored) Frontier(size int64, root Hash) (Frontier, error) {
	if size < 0 || size > MaxSize {
		return Frontier{}, fmt.Errorf("no tree has %d leaves", size)
	}
	f := Frontier{size: size}
	var places []int64
	for level := 62; level >= 0; level-- {
		if size&(1<<level) != 0 {
			places = append(places, tlog.StoredHashIndex(level, size>>level-1))
		}
	}
	all, err := s.ReadHashes(places)
	if err != nil {
		return Frontier{}, err
	}
	f.tops = ourHashes(all)
	if f.Root() != root {
		return Frontier{}, fmt.Errorf("the kept hashes of the tree of %d do not give its root", size)
	}
	return f, nil
}

// Inclusion proves that the leaf at index lies in the tree of size leaves with
// root. The proof that it returns was checked.
func (s Stored) Inclusion(size int64, root Hash, index int64) (leaf Hash, proof []Hash, err error) {
	if index < 0 || index >= size || size > MaxSize {
		return Hash{}, nil, &ProofError{inclusionName(index, size), "there is no such leaf"}
	}
	if leaf, err = s.Leaf(index); err != nil {
		return Hash{}, nil, err
	}
	p, err := tlog.ProveRecord(size, index, s)
	if err != nil {
		return Hash{}, nil, err
	}
	proof = ourHashes(p)
	return leaf, proof, CheckInclusion(proof, size, root, index, leaf)
}

// Consistency proves that the tree of size leaves with root begins with the tree
// of from leaves, and returns the root of that one. The proof was checked.
func (s Stored) Consistency(size int64, root Hash, from int64) (old Hash, proof []Hash, err error) {
	name := consistencyName(from, size)
	switch {
	case from < 0 || from > size || size > MaxSize:
		return Hash{}, nil, &ProofError{name, "the older tree is the larger one"}
	case from == 0:
		return EmptyRoot(), nil, nil
	}
	h, err := tlog.TreeHash(from, s)
	if err != nil {
		return Hash{}, nil, err
	}
	p, err := tlog.ProveTree(size, from, s)
	if err != nil {
		return Hash{}, nil, err
	}
	old, proof = Hash(h), ourHashes(p)
	return old, proof, CheckConsistency(proof, size, root, from, old)
}
