package engine

import (
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
	"github.com/sbxcron/sbxcron/store"
)

// zoneLooked is in how many of the newest lines the release of the zone data is
// looked for. Every start of a service and every row of a slot names it.
const zoneLooked = 4096

// newZoneData is the line that tells of another release of the zone data than that
// which was used last: from here on slots may lie at other instants. Their names,
// which are civil times, stay, so that none runs twice.
func (e *Engine) newZoneData() []*record.Leaf {
	last := ""
	err := e.history.Scan(max(0, e.history.Len()-zoneLooked), func(l store.Leaf) error {
		if l.Zone != "" {
			last = l.Zone
		}
		return nil
	})
	now := calendar.ZoneDataVersion()
	if err != nil || last == "" || last == now { // damage is told of by Problems
		return nil
	}
	return []*record.Leaf{{Kind: record.Alert, Zone: now, Reasons: []record.Reason{{Code: jobspec.CodeZoneDataChanged, Target: now, Detail: "the zone data was " + last + " before"}}}}
}
