package jobspec

import (
	"fmt"
	"time"
)

// Slot is one due instant of one signed op: the civil time in the job's zone to
// the minute, and which pass of a repeated hour it is. Offset and instant are
// data beside it and not part of its identity, so new zone data cannot make one
// slot run twice.
type Slot struct {
	Civil string `json:"civil"` // "2026-10-25T02:30"
	Zone  string `json:"zone"`  // IANA name
	Fold  int    `json:"fold"`  // 0, or 1 for the second pass of a repeated hour
}

const civilLayout = "2006-01-02T15:04"

// SlotAt names the slot of a civil minute, given in t's own fields, in zone.
func SlotAt(t time.Time, zone string, fold int) Slot {
	return Slot{Civil: t.Format(civilLayout), Zone: zone, Fold: fold}
}

// IsZero reports whether s names no slot, as for a manual run.
func (s Slot) IsZero() bool { return s == Slot{} }

// String is "2026-10-25T02:30/Europe/Berlin#0", or "" for no slot.
func (s Slot) String() string {
	if s.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s/%s#%d", s.Civil, s.Zone, s.Fold)
}
