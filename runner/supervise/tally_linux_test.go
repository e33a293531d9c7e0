package supervise

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// heard is whoever is told.
type heard struct {
	mu   sync.Mutex
	list []Event
}

func (h *heard) hear(e Event) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, e)
	return nil
}

func (h *heard) all() []Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.list)
}

func TestAFloodOfEventsIsAFewMessagesAndLosesNone(t *testing.T) {
	const n, threads = 50000, 4
	x, h := newTally(), &heard{}
	go x.pass(h.hear)
	var done sync.WaitGroup
	began := time.Now()
	for range threads {
		done.Go(func() {
			for range n {
				x.add(Event{Code: jobspec.CodeEscKeyctl, Target: "keyctl", Count: 1})
			}
		})
	}
	done.Wait()
	took := time.Since(began)
	x.end()
	sum := int64(0)
	for _, e := range h.all() {
		sum += e.Count
	}
	if most := int(took/turn) + 3; sum != n*threads || len(h.all()) > most {
		t.Errorf("%d of %d events in %d messages, at most %d in %s", sum, n*threads, len(h.all()), most, took)
	}
}

func TestTheFirstEventIsToldAtOnce(t *testing.T) {
	x, first := newTally(), make(chan time.Time, 1)
	go x.pass(func(Event) error { first <- time.Now(); return nil })
	began := time.Now()
	x.add(Event{Code: jobspec.CodeAskTTY, Target: terminal, Count: 1})
	if late := (<-first).Sub(began); late > turn {
		t.Errorf("told after %s", late)
	}
	x.end()
}

func TestDifferentEventsOfOneTurnAreBounded(t *testing.T) {
	x := newTally()
	for i := range 10000 {
		x.count(Event{Code: jobspec.CodeEscMount, Target: fmt.Sprint("mount /", i), Count: 1})
		x.count(Event{Code: jobspec.CodeEscMount, Target: "mount /0", Count: 1})
	}
	list := x.take()
	sum := int64(0)
	for _, e := range list {
		sum += e.Count
	}
	if len(list) != maxKinds+1 || list[0].Count != 10001 || list[maxKinds].Target != others || sum != 20000 {
		t.Errorf("%d kinds, sum %d, first %+v, last %+v", len(list), sum, list[0], list[len(list)-1])
	}
	if len(x.take()) != 0 {
		t.Error("what was taken is still there")
	}
}

// Whoever counts never waits for whoever hears, and nobody waits for one that is
// gone.
func TestNobodyWaitsForAParentThatIsStuckOrGone(t *testing.T) {
	x, stuck := newTally(), make(chan struct{})
	go x.pass(func(Event) error { <-stuck; return errors.New("gone") })
	for range 1000 {
		x.add(Event{Code: jobspec.CodeEscBPF, Target: "bpf", Count: 1})
	}
	close(stuck)
	x.end()
}
