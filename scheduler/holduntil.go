package scheduler

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// HoldUntil is Hold that ends by itself. Slots before the given instant are held,
// those from it on start; a released row by the service says when it ended. A clock
// that is set back cannot make it longer: it ends at the latest when as much time has
// passed, by the clock that nobody sets, as there was left when it was taken, or when
// this service began. An instant that is not to come is a *Refusal.
func (s *Scheduler) HoldUntil(job jobspec.Name, by record.Requester, why Remark, until time.Time) error {
	if !until.After(s.o.Clock.Now()) {
		return refusal(jobspec.CodeSpecMalformed, "the hold would end at "+until.UTC().Format(time.RFC3339)+", which has passed")
	}
	return s.hold(job, Hold{By: by, Until: until.Round(0)}, why)
}

// bound sets when a hold ends at the latest by the clock that nobody sets.
func (h Hold) bound(now time.Time, boot time.Duration) Hold {
	if !h.Until.IsZero() {
		h.ends = boot + max(h.Until.Sub(now), 0)
	}
	return h
}

// covers reports whether a slot of that instant is held.
func (h Hold) covers(at time.Time) bool { return h.Until.IsZero() || at.Before(h.Until) }

// over reports whether a hold has ended by itself.
func (h Hold) over(now time.Time, boot time.Duration) bool {
	return !h.Until.IsZero() && (!now.Before(h.Until) || boot >= h.ends)
}

// expireHolds ends what is over. The slots up to now are accounted for. The caller
// holds mu; the rows are to be written.
func (s *Scheduler) expireHolds(now time.Time, boot time.Duration) (rows []*record.Leaf) {
	for job, h := range s.holds {
		if !h.over(now, boot) {
			continue
		}
		delete(s.holds, job)
		row := s.rows.manual(record.Released, s.table.KeyOf(job), s.o.Origin.Self)
		row.Until = record.Stamp(h.Until)
		rows = append(rows, row)
	}
	return rows
}

// wakeLater is the next instant at which a hold ends, or the moment of a run comes
// that is kept apart; the zero time for none. The caller holds mu.
func (s *Scheduler) wakeLater(now time.Time, boot time.Duration) (at time.Time) {
	sooner := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	for _, h := range s.holds {
		if !h.Until.IsZero() {
			sooner(h.Until)
			sooner(now.Add(h.ends - boot))
		}
	}
	if len(s.queue.apart) > 0 {
		sooner(now.Add(s.queue.apart[0].notBefore - boot))
	}
	return at
}
