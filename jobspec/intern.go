package jobspec

import (
	"hash/maphash"
	"sync"
)

// interned numbers values, each once, and forgets none. Views that share a past
// share it, so it is locked; a number means the same value for all of them.
type interned[T comparable] struct {
	mu   sync.RWMutex
	list []T
	ids  map[T]uint32
}

// id numbers a value.
func (t *interned[T]) id(v T) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id, ok := t.ids[v]; ok {
		return id
	}
	if t.ids == nil {
		t.ids = map[T]uint32{}
	}
	id := uint32(len(t.list))
	t.list, t.ids[v] = append(t.list, v), id
	return id
}

// find is the number of a value that has one.
func (t *interned[T]) find(v T) (uint32, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	id, ok := t.ids[v]
	return id, ok
}

func (t *interned[T]) value(id uint32) T {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.list[id]
}

// nameTable is interned for names of jobs, of which there may be a million: the table
// holds numbers only, and a map would hold each name a second time.
type nameTable struct {
	mu    sync.RWMutex
	seed  maphash.Seed
	list  []Name
	slots []uint32 // number + 1, a power of two of them, at most three quarters used
}

// place is the slot of a name, or the free one where it belongs.
func (t *nameTable) place(n Name) int {
	mask := len(t.slots) - 1
	i := int(maphash.String(t.seed, string(n))) & mask
	for t.slots[i] != 0 && t.list[t.slots[i]-1] != n {
		i = (i + 1) & mask
	}
	return i
}

// find returns the number of a name, if it has one.
func (t *nameTable) find(n Name) (uint32, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.slots) == 0 {
		return 0, false
	}
	id := t.slots[t.place(n)]
	return id - 1, id != 0
}

// id numbers a name.
func (t *nameTable) id(n Name) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if 4*(len(t.list)+1) > 3*len(t.slots) {
		t.grow()
	}
	i := t.place(n)
	if t.slots[i] == 0 {
		t.list = append(t.list, n)
		t.slots[i] = uint32(len(t.list))
	}
	return t.slots[i] - 1
}

func (t *nameTable) grow() {
	if t.slots == nil {
		t.seed = maphash.MakeSeed()
	}
	t.slots = make([]uint32, max(16, 2*len(t.slots)))
	for i, n := range t.list {
		t.slots[t.place(n)] = uint32(i + 1)
	}
}

func (t *nameTable) value(id uint32) Name {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.list[id]
}
