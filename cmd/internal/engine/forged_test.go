package engine

import (
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Who can write the ledger, or the index alone, cannot keep a job from ever being
// due, nor make slots due from before its owner signed it, by the line that says when
// its op was accepted. Nor does that line lift a hold that only a signature lifts.
func TestWhenAnOpWasAcceptedIsBoundByWhatWasSigned(t *testing.T) {
	for name, c := range map[string]struct {
		forged   func(created, now time.Time) time.Time
		believed bool
	}{
		"years ahead":       {func(_, now time.Time) time.Time { return now.Add(20 * 365 * 24 * time.Hour) }, false},
		"two days ahead":    {func(_, now time.Time) time.Time { return now.Add(48 * time.Hour) }, false}, // lines move time by one at most
		"before it was":     {func(created, _ time.Time) time.Time { return created.Add(-24 * time.Hour) }, false},
		"a clock behind":    {func(created, _ time.Time) time.Time { return created.Add(-time.Minute) }, true},
		"a plan of an hour": {func(created, _ time.Time) time.Time { return created.Add(time.Hour) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.commit(jobspec.Add, "job")
			e := b.open(true)
			head, _ := e.chain.State().Head(1)
			created := head.Created.Time()
			b.now = created.Add(2 * time.Hour)
			at := c.forged(created, e.Now())
			_, err := e.Append(&record.Leaf{Kind: record.OpAccepted, Job: "job", Op: head.Digest, Seq: 1, Time: record.Stamp(at)})
			must(t, err)
			want := created
			if c.believed {
				want = at
			}
			all, _, err := e.Intervals()
			must(t, err)
			changes, err := e.IntervalsSince(1)
			must(t, err)
			for _, i := range append(all, changes.Entries...) {
				if i.Job != "job" || !i.Since.Equal(want) {
					t.Errorf("%s since %s, want %s", i.Job, i.Since, want)
				}
				if signed := created.Add(maxAhead); i.Signed.IsZero() || i.Signed.After(signed) {
					t.Errorf("signed %s, want up to %s", i.Signed, signed)
				}
			}
			if len(all) != 1 || len(changes.Entries) != 1 {
				t.Errorf("%+v, %+v", all, changes)
			}
		})
	}
}
