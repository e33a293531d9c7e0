package scheduler

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

func TestEntriesAreSortedByNameThenTimeAndElseStay(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		all := make([]Entry, n)
		for i := range all {
			all[i] = Entry{Job: jobspec.Name(fmt.Sprint(random.IntN(1 + n/3))), Seq: int64(i), Since: time.Unix(int64(random.IntN(3)), 0)}
		}
		want := slices.Clone(all)
		slices.SortStableFunc(want, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.Job, b.Job), a.Since.Compare(b.Since)) })
		if sortEntries(all); !slices.Equal(all, want) {
			t.Fatalf("%d entries: %v, want %v", n, all, want)
		}
	}
}
