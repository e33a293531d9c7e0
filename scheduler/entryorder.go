package scheduler

import (
	"cmp"
	"slices"
)

// sortEntries puts entries in the order of their jobs' names, and the stretches of one
// job in the order of time; those of one time stay as they are. An entry is large and
// there may be a million: their places are sorted, and each entry moves once.
func sortEntries(all []Entry) {
	order := make([]int32, len(all))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		x, y := &all[a], &all[b]
		return cmp.Or(cmp.Compare(x.Job, y.Job), x.Since.Compare(y.Since), cmp.Compare(a, b))
	})
	for i := range order {
		if int(order[i]) == i {
			continue
		}
		first, to := all[i], i // the entries of one circle, each to where the one before it was
		for from := int(order[to]); from != i; to, from = from, int(order[from]) {
			all[to], order[to] = all[from], int32(to)
		}
		all[to], order[to] = first, int32(to)
	}
}
