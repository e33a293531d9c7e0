package merkle

import "math/bits"

// Frontier is a tree that only grows: the roots of its whole subtrees, the largest
// first, at most one a level. Its zero value is the empty tree. A copy made with
// Clone is another tree.
type Frontier struct {
	size int64
	tops []Hash // one for each bit of size that is set, the highest first
}

// Size is the number of leaves.
func (f *Frontier) Size() int64 { return f.size }

// Clone is a copy that grows by itself.
func (f *Frontier) Clone() Frontier {
	return Frontier{size: f.size, tops: append([]Hash(nil), f.tops...)}
}

// Add takes one more leaf and calls keep, where it is not nil, with the hashes
// that became final by that, in the order in which a File holds them: the leaf's
// own, then that of each subtree that it completed, the smallest first.
func (f *Frontier) Add(leaf Hash, keep func(Hash)) {
	h := leaf
	if keep != nil {
		keep(h)
	}
	for full := bits.TrailingZeros64(^uint64(f.size)); full > 0; full-- {
		last := len(f.tops) - 1
		h = nodeHash(f.tops[last], h)
		f.tops = f.tops[:last]
		if keep != nil {
			keep(h)
		}
	}
	f.tops = append(f.tops, h)
	f.size++
}

// Root is the root of the tree as it is.
func (f *Frontier) Root() Hash {
	if f.size == 0 {
		return EmptyRoot()
	}
	h := f.tops[len(f.tops)-1]
	for i := len(f.tops) - 2; i >= 0; i-- {
		h = nodeHash(f.tops[i], h)
	}
	return h
}
