package engine

import (
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
	"github.com/sbxcron/sbxcron/store"
)

// Case C30, what is told of it: one line when the service starts with another
// release of the zone data, and none after that.
func TestAnotherReleaseOfTheZoneDataIsALineOfTheLedger(t *testing.T) {
	b := newBench(t)
	e := b.open(true)
	told := func() (all []record.Reason) {
		must(t, e.history.Scan(0, func(l store.Leaf) error {
			if l.Kind == record.Alert {
				all = append(all, l.Reasons...)
			}
			return nil
		}))
		return all
	}
	must(t, e.NoteBoot(1))
	if got := told(); len(got) != 0 {
		t.Errorf("a first start tells %+v", got)
	}
	must(t, e.note(&record.Leaf{Kind: record.Boot, PID: 2, Zone: "2024a"}))
	for range 2 {
		must(t, e.NoteBoot(3))
	}
	got := told()
	if len(got) != 1 || got[0].Code != jobspec.CodeZoneDataChanged || got[0].Target != calendar.ZoneDataVersion() || got[0].Detail != "the zone data was 2024a before" {
		t.Errorf("told %+v", got)
	}
}
