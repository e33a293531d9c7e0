package supervise

import (
	"sync"
	"time"
)

// maxKinds bounds how many different events are kept apart between two turns.
const maxKinds = 64

// others is the target of events that were too many to be kept apart.
const others = "and others"

// turn is how long events are added up before they are passed on: a job that
// tries the same a million times sends twenty messages a second.
const turn = 50 * time.Millisecond

// tally adds up events and passes them on in turns, the first one at once. It
// never makes whoever counts wait for whoever hears.
type tally struct {
	*sums
	some chan struct{} // holds one while there is something to pass on
	stop chan struct{}
	over chan struct{}
}

type sums struct {
	mu   sync.Mutex
	list []Event
	at   map[Event]int // by the event with count 0
}

func newTally() tally {
	return tally{&sums{at: map[Event]int{}}, make(chan struct{}, 1), make(chan struct{}), make(chan struct{})}
}

// add counts an event.
func (t tally) add(e Event) {
	t.count(e)
	select {
	case t.some <- struct{}{}:
	default:
	}
}

func (s *sums) count(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := e.Count
	e.Count = 0
	i, known := s.at[e]
	if !known && len(s.list) >= maxKinds {
		e.Target, e.Rule, e.Expected = others, "", false
		i, known = s.at[e]
	}
	if !known {
		i = len(s.list)
		s.at[e] = i
		s.list = append(s.list, e)
	}
	s.list[i].Count += n
}

// take empties the sums.
func (s *sums) take() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list
	s.list = nil
	clear(s.at)
	return list
}

// pass passes events on until end, or until nobody hears them any more, which is
// when the process ends.
func (t tally) pass(on func(Event) error) {
	defer close(t.over)
	for ended := false; !ended; {
		select {
		case <-t.some:
		case <-t.stop:
			ended = true
		}
		for _, e := range t.take() {
			if on(e) != nil {
				return
			}
		}
		if !ended {
			select {
			case <-time.After(turn):
			case <-t.stop:
			}
		}
	}
}

// end passes on what is left. Nothing is added afterwards.
func (t tally) end() {
	close(t.stop)
	<-t.over
}
