package main

import (
	"fmt"
	"strconv"
	"sync"
	"time"
)

// parallel is how many run at a time, here and in the bare loop.
const parallel = 4

// burst compares how many due jobs a second are run, records durable, with bare
// bwrap and the options of the same plan by as many workers.
func burst(of size) ([]Item, error) {
	n := of.burst
	s, err := newSite("--max-parallel", strconv.Itoa(parallel))
	if err != nil {
		return nil, err
	}
	defer s.close()
	plan, done, err := s.plan(launchJob)
	if err != nil {
		return nil, err
	}
	defer done()
	slot := time.Now().Truncate(time.Minute).Add(time.Minute + time.Duration(n/4)*time.Second).Truncate(time.Minute)
	cron := fmt.Sprintf("%d %d * * *", slot.UTC().Minute(), slot.UTC().Hour())
	for _, name := range numbered(n) {
		if err := s.add(name, "--schedule", cron, "--timezone", "UTC", "--tier", "scratch", "--", s.payload()); err != nil {
			return nil, err
		}
	}
	if time.Until(slot) < 3*time.Second {
		return nil, fmt.Errorf("adding %d jobs took too long", n)
	}
	time.Sleep(time.Until(slot))
	runs, err := s.ended(n, 10*time.Minute)
	if err != nil {
		return nil, err
	}
	if err := succeeded(runs); err != nil {
		return nil, err
	}
	end := slot
	for _, r := range runs {
		if r.EndedAt.After(end) {
			end = *r.EndedAt
		}
	}
	begun := time.Now()
	var wg sync.WaitGroup
	errs := make([]error, parallel)
	for w := range parallel {
		wg.Go(func() {
			for range n / parallel {
				if _, err := s.bare(plan); err != nil {
					errs[w] = err
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	peer := float64(n/parallel*parallel) / time.Since(begun).Seconds()
	return []Item{single("burst.runs", "runs/s", "a bare bwrap loop", float64(len(runs))/end.Sub(slot).Seconds(), peer, len(runs))}, nil
}
