package calendar

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// The years whose periods a zone keeps at hand: each due job asks for the period that
// it is in, and asking the zone takes three searches.
const (
	keptFrom  = 2020
	keptUntil = 2051
)

// zone is a zone with the periods of these years. It never changes, but for the slot
// that it named last.
type zone struct {
	loc  *time.Location
	from int64 // the periods answer for instants from here on
	kept []period
	last atomic.Pointer[named]
}

// named is the one slot of a due, as a list. Many jobs are due at the same minute.
type named struct {
	civil int64
	fold  int
	slots []jobspec.Slot
}

// slotsOf names the slot of a civil minute of a zone of that name.
func (z *zone) slotsOf(civil int64, fold int, name string) []jobspec.Slot {
	if n := z.last.Load(); n != nil && n.civil == civil && n.fold == fold && n.slots[0].Zone == name {
		return n.slots
	}
	slots := []jobspec.Slot{jobspec.SlotAt(time.Unix(civil, 0).UTC(), name, fold)}
	z.last.Store(&named{civil, fold, slots})
	return slots
}

func newZone(loc *time.Location) *zone {
	z := &zone{loc: loc, from: newYear(keptFrom)}
	p := readPeriod(loc, z.from)
	if p.start == math.MinInt64 && p.end == math.MaxInt64 {
		z.from = math.MinInt64 // one offset for all time
	}
	z.kept = append(z.kept, p)
	for until := newYear(keptUntil); p.end < until; z.kept = append(z.kept, p) {
		p = readPeriod(loc, p.end)
	}
	z.kept = slices.Clip(z.kept)
	return z
}

func newYear(y int) int64 { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC).Unix() }

// periodAt is the period that an instant is in.
func periodAt(z *zone, at int64) period {
	if last := len(z.kept) - 1; at < z.from || at >= z.kept[last].end {
		return readPeriod(z.loc, at)
	}
	lo, hi := 0, len(z.kept)-1 // the first whose end lies behind at
	for lo < hi {
		if mid := (lo + hi) / 2; z.kept[mid].end > at {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return z.kept[lo]
}
