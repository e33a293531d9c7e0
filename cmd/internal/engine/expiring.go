package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// expiryMarks are the days before the end of an approval at which its owner should
// hear of it, the farthest first.
func expiryMarks() []int { return []int{14, 7, 1} }

const day = 24 * time.Hour

// endsSoon is the nearest mark that a job in force has passed. A mark that lies in
// the first half of an approval is none: whoever signs for a day knows that it ends.
func endsSoon(j jobspec.Job, t jobspec.Timing, now time.Time) (mark int, soon bool) {
	end := t.ExpiresAt
	if end.IsZero() || j.State != jobspec.JobActive || !now.Before(end.Time()) || over(t.Schedule, j.SpecOp, now) {
		return 0, false
	}
	left, length := end.Time().Sub(now), end.Time().Sub(t.Anchor.Time())
	for _, days := range expiryMarks() {
		before := time.Duration(days) * day
		if left <= before && 2*before <= length {
			mark, soon = days, true
		}
	}
	return mark, soon
}

// expiring lists the jobs whose approval ends soon, the soonest first. The view knows
// when that is: no op is read.
func expiring(view *jobspec.View, now time.Time) []api.Expiring {
	out := []api.Expiring{}
	for j := range view.All() {
		t, _ := view.Timing(j.Name)
		if mark, soon := endsSoon(j, t, now); soon {
			out = append(out, api.Expiring{Job: j.Name, Principal: j.Principal, ExpiresAt: t.ExpiresAt.Time(), Within: mark})
		}
	}
	slices.SortFunc(out, func(a, b api.Expiring) int {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.Job, b.Job))
	})
	return out
}
