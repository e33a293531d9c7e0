package engine

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

// windowNote says why a start will be refused.
const windowNote = "refused then: outside of the windows of the policy, "

// windows are those of the policy in force, by principal.
type windows struct {
	policy *jobspec.Policy
	known  map[jobspec.Principal]jobspec.Ceiling
}

// windows reads the policy once. One that cannot be read refuses every start, which
// explain and status tell.
func (e *Engine) windows() *windows {
	w := &windows{known: map[jobspec.Principal]jobspec.Ceiling{}}
	if e.Examiner != nil {
		w.policy, _ = e.Examiner.Policy()
	}
	return w
}

// of tells whether a start of a principal's job at an instant lies in no window, and
// of which list; nil where there are no windows.
func (w *windows) of(who jobspec.Principal) func(time.Time) (string, bool) {
	if w.policy == nil {
		return nil
	}
	c, ok := w.known[who]
	if !ok {
		c = w.policy.For(who).Principals[who]
		w.known[who] = c
	}
	if len(c.Windows) == 0 {
		return nil
	}
	return func(at time.Time) (string, bool) { return c.Outside(at, calendar.Location) }
}
