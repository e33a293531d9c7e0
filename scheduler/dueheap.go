package scheduler

// dueHeap has what is due first on top. Each entry has four below it, and its instant
// beside it: a comparison looks at neighbours in memory and not at the items, and in a
// heap of a hundred thousand there are nine steps and not seventeen. A wake finds all
// of that in no cache.
type dueHeap []dueEntry

type dueEntry struct {
	next int64 // Unix time
	it   *item // whose pos is the place of the entry
}

// heapWidth is how many lie below each.
const heapWidth = 4

// at is when an item is due.
func (h dueHeap) at(it *item) int64 { return h[it.pos].next }

func (h *dueHeap) push(it *item, next int64) {
	*h = append(*h, dueEntry{next, it})
	h.up(len(*h) - 1)
}

// set moves the entry of a place to where its new instant belongs.
func (h dueHeap) set(pos int, next int64) {
	sooner := next < h[pos].next
	h[pos].next = next
	if sooner {
		h.up(pos)
		return
	}
	h.down(pos)
}

func (h *dueHeap) remove(pos int) {
	old := *h
	last := len(old) - 1
	moved := old[last]
	old[last] = dueEntry{}
	*h = old[:last]
	if pos == last {
		return
	}
	gone := old[pos].next
	old[pos] = moved
	if moved.next < gone {
		h.up(pos)
		return
	}
	h.down(pos)
}

// up lets an entry rise to its place.
func (h dueHeap) up(pos int) {
	e := h[pos]
	for pos > 0 {
		above := (pos - 1) / heapWidth
		if h[above].next <= e.next {
			break
		}
		h.put(pos, h[above])
		pos = above
	}
	h.put(pos, e)
}

// down lets an entry sink to its place.
func (h dueHeap) down(pos int) {
	e := h[pos]
	for {
		below := h.firstBelow(pos)
		if below < 0 || h[below].next >= e.next {
			break
		}
		h.put(pos, h[below])
		pos = below
	}
	h.put(pos, e)
}

// firstBelow is the place of the entry that is due first of those right below another,
// less than 0 where there is none.
func (h dueHeap) firstBelow(pos int) int {
	from := heapWidth*pos + 1
	if from >= len(h) {
		return -1
	}
	best := from
	for i := from + 1; i < min(from+heapWidth, len(h)); i++ {
		if h[i].next < h[best].next {
			best = i
		}
	}
	return best
}

func (h dueHeap) put(pos int, e dueEntry) {
	h[pos] = e
	e.it.pos = int32(pos)
}
