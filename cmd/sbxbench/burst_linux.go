package main

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
)

// parallel is how many run at a time, here and in the bare loop.
const parallel = 4

// spell is what one stretch of runs took.
type spell struct {
	rate float64 // runs a second
	cpu  float64 // milliseconds of processor time a run, of all processes together
}

// burst compares how many due jobs of `true` a second are run, records durable, with bare
// bwrap and the options of the same plan by as many workers. The jobs are all due at
// each full minute; bare bwrap has its turn before each of them.
func burst(of size) ([]Item, error) {
	s, err := newSite("--max-parallel", strconv.Itoa(parallel))
	if err != nil {
		return nil, err
	}
	defer s.close()
	for _, name := range numbered(of.burst) {
		if err := s.add(name, "--schedule", "* * * * *", "--timezone", "UTC", "--tier", "scratch", "--", "/usr/bin/true"); err != nil {
			return nil, err
		}
	}
	plan, done, err := s.plan(numbered(1)[0])
	if err != nil {
		return nil, err
	}
	defer done()
	var ours, peer, cpuOurs, cpuPeer []float64
	for range of.turns {
		bare, err := s.bareBurst(plan, of.burst)
		if err != nil {
			return nil, err
		}
		due, err := s.dueBurst(of.burst)
		if err != nil {
			return nil, err
		}
		ours, peer = append(ours, due.rate), append(peer, bare.rate)
		cpuOurs, cpuPeer = append(cpuOurs, due.cpu), append(cpuPeer, bare.cpu)
	}
	const by = "a bare bwrap loop"
	return []Item{compare("burst.runs", "runs/s", by, ours, peer), compare("burst.cpu", "ms", by, cpuOurs, cpuPeer)}, nil
}

// dueBurst waits for the next full minute and for the end of n runs that are due
// then. While they go on nobody asks the service anything: what is durable is read
// from its ledger.
func (s *site) dueBurst(n int) (spell, error) {
	slot := time.Now().Truncate(time.Minute).Add(time.Minute)
	time.Sleep(time.Until(slot.Add(-5 * time.Second)))
	tail, err := s.ledgerTail()
	if err != nil {
		return spell{}, err
	}
	before, err := familyTime(s.daemon.Process.Pid)
	if err != nil {
		return spell{}, err
	}
	time.Sleep(time.Until(slot))
	var ends []*record.Leaf
	for limit := slot.Add(50 * time.Second); len(ends) < n; {
		if time.Now().After(limit) {
			return spell{}, fmt.Errorf("%d of %d runs ended", len(ends), n)
		}
		time.Sleep(250 * time.Millisecond)
		more, err := tail.finals()
		if err != nil {
			return spell{}, err
		}
		ends = append(ends, more...)
	}
	after, err := familyTime(s.daemon.Process.Pid)
	if err != nil {
		return spell{}, err
	}
	last := slot
	for _, l := range ends {
		if l.Outcome != record.OutcomeSucceeded || l.Scheduled != record.Stamp(slot) {
			return spell{}, fmt.Errorf("run %s of job %s, due at %s: %s %v", l.Run, l.Job, l.Scheduled, l.Outcome, l.Reasons)
		}
		if at := record.ParseStamp(l.EndedAt); at.After(last) {
			last = at
		}
	}
	return spell{rate: float64(n) / last.Sub(slot).Seconds(), cpu: ms(after-before) / float64(n)}, nil
}

// bareBurst is n starts of bare bwrap.
func (s *site) bareBurst(plan *runner.Plan, n int) (spell, error) {
	before, err := ownTime()
	if err != nil {
		return spell{}, err
	}
	begun := time.Now()
	var wg sync.WaitGroup
	errs := make([]error, parallel)
	for w := range parallel {
		wg.Go(func() {
			for range n / parallel {
				if _, err := s.bareRun(plan); err != nil {
					errs[w] = err
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(begun)
	reapAll()
	after, err := ownTime()
	if err := errors.Join(append(errs, err)...); err != nil {
		return spell{}, err
	}
	done := float64(n / parallel * parallel)
	return spell{rate: done / took.Seconds(), cpu: ms(after-before) / done}, nil
}

// reapAll waits for the inits of bare sandboxes, which this process has inherited.
// All children that somebody else waits for are gone by then, but for the service.
func reapAll() {
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if errors.Is(err, unix.ECHILD) || pid == 0 && err == nil {
			return
		}
	}
}
