package jobspec

// rows is a list that grows, and of which copies are cheap: a copy shares every
// block with the original until one of the two changes it. A tree of blocks keeps
// what is copied for one change small, whatever the length. The zero value is empty.
//
// Who holds a copy reads it without a lock while another copy is changed.
type rows[T any] struct {
	n      int
	height int // levels of branches above the leaves
	root   *block[T]
	owner  *blockOwner // blocks that carry it may be changed in place; nil before the first change
}

const (
	blockBits = 6
	blockSize = 1 << blockBits
)

// block is a branch with kids or a leaf with values.
type block[T any] struct {
	owner *blockOwner
	kids  []*block[T]
	vals  []T
}

// fork returns a copy. From now on both copy what they change. Where nothing was
// changed since the last fork, it only reads r.
func (r *rows[T]) fork() rows[T] {
	if r.owner != nil {
		r.owner = nil
	}
	return *r
}

// at returns row i, which must be below n.
func (r *rows[T]) at(i int) *T {
	b := r.root
	for h := r.height; h > 0; h-- {
		b = b.kids[i>>(h*blockBits)&(blockSize-1)]
	}
	return &b.vals[i&(blockSize-1)]
}

// mine returns row i for changing, and makes all rows up to it.
func (r *rows[T]) mine(i int) *T {
	if r.owner == nil {
		r.owner = new(blockOwner)
	}
	for r.root == nil || i >= blockSize<<(r.height*blockBits) {
		r.rise()
	}
	r.n = max(r.n, i+1)
	at := &r.root
	for h := r.height; ; h-- {
		b := r.owned(*at, h)
		*at = b
		if h == 0 {
			return &b.vals[i&(blockSize-1)]
		}
		at = &b.kids[i>>(h*blockBits)&(blockSize-1)]
	}
}

// rise puts a branch above the root.
func (r *rows[T]) rise() {
	if r.root == nil {
		r.root = r.owned(nil, 0)
		return
	}
	r.height++
	top := r.owned(nil, r.height)
	top.kids[0] = r.root
	r.root = top
}

// owned is a block that may be changed: b itself, or a copy of it.
func (r *rows[T]) owned(b *block[T], height int) *block[T] {
	if b != nil && b.owner == r.owner {
		return b
	}
	mine := &block[T]{owner: r.owner}
	if height > 0 {
		mine.kids = make([]*block[T], blockSize)
	} else {
		mine.vals = make([]T, blockSize)
	}
	if b != nil {
		copy(mine.kids, b.kids)
		copy(mine.vals, b.vals)
	}
	return mine
}

// blockOwner is an identity; it is not empty, so that no two have one address.
type blockOwner struct{ _ byte }
