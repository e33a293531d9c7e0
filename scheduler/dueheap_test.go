package scheduler

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A sorted list is what the heap is held against, through any order of changes.
func TestTheHeapHasWhatIsDueFirstOnTop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h dueHeap
		var all []*item
		want := map[*item]int64{}
		next := rapid.Int64Range(0, 50)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			act := rapid.IntRange(0, 3).Draw(t, "act")
			if act < 2 || len(all) == 0 {
				it := &item{}
				all, want[it] = append(all, it), next.Draw(t, "next")
				h.push(it, want[it])
				continue
			}
			i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
			it := all[i]
			if act == 2 {
				want[it] = next.Draw(t, "next")
				h.set(int(it.pos), want[it])
				continue
			}
			h.remove(int(it.pos))
			delete(want, it)
			all = slices.Delete(all, i, i+1)
		}
		for it, at := range want {
			if h[it.pos].it != it || h.at(it) != at {
				t.Fatalf("an item due at %d is not at its place", at)
			}
		}
		last := int64(-1)
		for ; len(h) > 0; h.remove(0) {
			if h[0].next < last || want[h[0].it] != h[0].next {
				t.Fatalf("%d comes behind %d", h[0].next, last)
			}
			last = h[0].next
			delete(want, h[0].it)
		}
		if len(want) != 0 {
			t.Fatalf("%d items are gone", len(want))
		}
	})
}
