package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// opened is any op: what covers a slot is no op's business.
var opened = jobspec.DigestOf([]byte("op"))

// slotLine is a line about one slot.
func slotLine(kind record.Kind, run string, stated, slot time.Time) *record.Leaf {
	s := jobspec.SlotAt(slot, "UTC", 0)
	l := &record.Leaf{Kind: kind, Time: record.Stamp(stated), Job: "job", Op: opened, Run: run, Slot: &s, Scheduled: record.Stamp(slot)}
	if kind == record.Finished {
		l.Outcome = record.OutcomeSucceeded
	}
	return l
}

// Who can write the ledger, or the index alone, cannot keep a job from running by
// saying that all of its slots are over.
func TestSlotsThatHaveNotComeAreNotBelievedToBeOver(t *testing.T) {
	for name, c := range map[string]struct {
		ahead    time.Duration // of the forged slot
		believed bool
		told     bool
	}{
		"a slot of now":          {0, true, false},
		"a claim in time":        {200 * time.Millisecond, true, false},
		"near":                   {5 * time.Minute, true, true},
		"far":                    {time.Hour, false, true},
		"as far as can be, say":  {20 * 365 * 24 * time.Hour, false, true},
		"a claim of this decade": {3 * 365 * 24 * time.Hour, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			e := b.open(true)
			past, forged := b.now.Add(-time.Hour), b.now.Add(c.ahead)
			_, err := e.Append(slotLine(record.Started, "r-1", past, past), slotLine(record.Finished, "r-1", past, past),
				slotLine(record.Claimed, "r-2", b.now, forged), slotLine(record.Finished, "r-2", b.now, forged))
			must(t, err)
			_, at, ok, err := e.LastCovered("job", opened)
			must(t, err)
			want := past
			if c.believed {
				want = forged
			}
			if !ok || at.Sub(want).Abs() >= time.Second {
				t.Errorf("covered up to %s (%v), want %s", at, ok, want)
			}
			told := false
			for _, p := range e.Problems() {
				told = told || p.Code == jobspec.CodeStoreCorrupt && p.Target == "job"
			}
			if told != c.told {
				t.Errorf("told %v: %+v", told, e.Problems())
			}
			a, err := e.Verify(t.Context())
			must(t, err)
			found := false
			for _, p := range a.Problems {
				found = found || p.Where == "leaf 2" && strings.Contains(p.Detail, "had not come")
			}
			if found == c.believed {
				t.Errorf("audit: %+v", a.Problems)
			}
		})
	}
}

func TestTheAuditNamesASlotThatStartedTwice(t *testing.T) {
	b := newBench(t)
	e := b.open(true)
	one, two := b.now.Add(-2*time.Hour), b.now.Add(-time.Hour)
	_, err := e.Append(slotLine(record.Claimed, "r-1", one, one), slotLine(record.Finished, "r-1", one, one),
		slotLine(record.Started, "r-2", two, two), slotLine(record.Finished, "r-2", two, two))
	must(t, err)
	a, err := e.Verify(t.Context())
	must(t, err)
	for _, p := range a.Problems {
		if strings.Contains(p.Detail, "started before") {
			t.Errorf("two slots, one start each: %+v", p)
		}
	}
	_, err = e.Append(slotLine(record.Started, "r-3", two, two), slotLine(record.Finished, "r-3", two, two))
	must(t, err)
	a, err = e.Verify(t.Context())
	must(t, err)
	for _, p := range a.Problems {
		if p.Where == "leaf 4" && strings.Contains(p.Detail, "started before") && a.Complete == "fail" {
			return
		}
	}
	t.Errorf("%+v", a)
}
