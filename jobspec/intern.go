package jobspec

import (
	"hash/maphash"
	"sync"
)

// interned numbers values, each once, and forgets none. Views that share a past
// share it, so it is locked; a number means the same value for all of them.
//
// There may be a million values: the table holds numbers only, where a map would hold
// each value a second time. Beside each number stand eight bits of the value's hash, so
// that a search looks at other values next to never.
type interned[T comparable] struct {
	mu    sync.RWMutex
	seed  maphash.Seed
	list  []T
	slots []uint32 // number + 1, a power of two of them, at most three quarters used
	tags  []uint8  // of the slots that are used
}

func (t *interned[T]) hash(v T) uint64 {
	if name, ok := any(v).(Name); ok {
		return maphash.String(t.seed, string(name))
	}
	return maphash.Comparable(t.seed, v)
}

// place is the slot of a value, or the free one where it belongs, and its tag.
func (t *interned[T]) place(v T) (slot int, tag uint8) {
	h := t.hash(v)
	mask := len(t.slots) - 1
	i, tag := int(h)&mask, uint8(h>>56)
	for t.slots[i] != 0 && (t.tags[i] != tag || t.list[t.slots[i]-1] != v) {
		i = (i + 1) & mask
	}
	return i, tag
}

// find returns the number of a value, if it has one.
func (t *interned[T]) find(v T) (uint32, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.slots) == 0 {
		return 0, false
	}
	i, _ := t.place(v)
	return t.slots[i] - 1, t.slots[i] != 0
}

// id numbers a value.
func (t *interned[T]) id(v T) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if 4*(len(t.list)+1) > 3*len(t.slots) {
		t.grow()
	}
	i, tag := t.place(v)
	if t.slots[i] == 0 {
		t.list = append(t.list, v)
		t.slots[i], t.tags[i] = uint32(len(t.list)), tag
	}
	return t.slots[i] - 1
}

func (t *interned[T]) grow() {
	if t.slots == nil {
		t.seed = maphash.MakeSeed()
	}
	n := max(16, 2*len(t.slots))
	t.slots, t.tags = make([]uint32, n), make([]uint8, n)
	for number, v := range t.list {
		i, tag := t.place(v)
		t.slots[i], t.tags[i] = uint32(number+1), tag
	}
}

func (t *interned[T]) value(id uint32) T {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.list[id]
}

// trim gives back what the list has beyond its length.
func (t *interned[T]) trim() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(make([]T, 0, len(t.list)), t.list...)
}
