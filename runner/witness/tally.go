package witness

import "github.com/sbxcron/sbxcron/runner/shim"

// maxKinds bounds how many different events one turn hands on.
const maxKinds = 64

// others is the target of events that were too many to be told apart.
const others = "and others"

// tally counts what one turn brought, in the order of first sight.
type tally struct {
	list  []Event
	index map[Event]int // by the event with count 0
}

func (t *tally) add(a shim.Attempt) { t.count(Event{Code: a.Code, Target: Words(a.Argv)}, 1) }

// count adds n of the same event. Beyond maxKinds only the code is kept, so the
// number of kinds stays below maxKinds and the number of codes. A sum that no
// event can tell stays the highest that one can.
func (t *tally) count(e Event, n int64) {
	if t.index == nil {
		t.index = map[Event]int{}
	}
	i, known := t.index[e]
	if !known && len(t.list) >= maxKinds {
		e.Target = others
		i, known = t.index[e]
	}
	if !known {
		i = len(t.list)
		t.index[e] = i
		t.list = append(t.list, e)
	}
	t.list[i].Count = min(t.list[i].Count+n, maxCount)
}
