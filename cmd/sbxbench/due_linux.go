package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// Numbers of the rows of the schedule. The jobs of ontime are signed more than a
// second apart, so that each is due at a second of its own, twice in two minutes.
const (
	ontimeJobs  = 50
	ontimeTurns = 2
	ontimeGap   = 1150 * time.Millisecond
	instantJobs = 100
)

// ontime compares how late jobs begin that are due at instants of their own, with
// a plain start of the same program by a Go timer, in the same minutes.
func ontime(size) ([]Item, error) {
	s, err := newSite("--max-parallel", "8")
	if err != nil {
		return nil, err
	}
	defer s.close()
	begun := time.Now()
	for i, name := range numbered(ontimeJobs) { // intervals count from the second of the signature
		time.Sleep(time.Until(begun.Add(time.Duration(i) * ontimeGap)))
		if err := s.add(name, "--every", "1m", "--tier", "scratch", "--", s.payload()); err != nil {
			return nil, err
		}
	}
	off, err := offset()
	if err != nil {
		return nil, err
	}
	const n = ontimeJobs * ontimeTurns
	peer, err := timedAll(s.payload(), n, off)
	if err != nil {
		return nil, err
	}
	runs, err := s.ended(n, 3*time.Minute)
	if err != nil {
		return nil, err
	}
	if err := succeeded(runs); err != nil {
		return nil, err
	}
	var ours []float64
	for _, r := range runs {
		at, err := s.began(r.Run, off)
		if err != nil {
			return nil, err
		}
		ours = append(ours, ms(at.Sub(*r.ScheduledFor)))
	}
	const by = "plain fork and exec by a Go timer"
	return []Item{single("ontime.p50", "ms", by, quantile(ours, 0.5), quantile(peer, 0.5), len(ours)),
		single("ontime.p99", "ms", by, quantile(ours, 0.99), quantile(peer, 0.99), len(ours))}, nil
}

// timedAll starts a program so often, each time at an instant between the seconds
// at which our own jobs are due, and says how late it ran.
func timedAll(program string, n int, off time.Duration) ([]float64, error) {
	var wg sync.WaitGroup
	late, errs := make([]float64, n), make([]error, n)
	first := time.Now().Truncate(time.Second).Add(1500 * time.Millisecond)
	for i := range n {
		wg.Go(func() { late[i], errs[i] = timed(program, first.Add(time.Duration(i)*time.Second), off) })
	}
	wg.Wait()
	return late, errors.Join(errs...)
}

// timed starts a program by a Go timer and says how late it ran.
func timed(program string, at time.Time, off time.Duration) (float64, error) {
	<-time.After(time.Until(at))
	proc, from, err := plainly(program)
	if err != nil {
		return 0, err
	}
	ran, err := told(proc, from)
	return ms(time.Unix(0, int64(ran+off)).Sub(at)), err
}

// instant compares when the last of many jobs of one instant begins, with a bare
// loop that starts the same program as often.
func instant(size) ([]Item, error) {
	s, err := newSite("--max-parallel", strconv.Itoa(instantJobs))
	if err != nil {
		return nil, err
	}
	defer s.close()
	for _, name := range numbered(instantJobs) {
		if err := s.add(name, "--schedule", "* * * * *", "--timezone", "UTC", "--tier", "scratch", "--", s.payload()); err != nil {
			return nil, err
		}
	}
	off, err := offset()
	if err != nil {
		return nil, err
	}
	slot := time.Now().Truncate(time.Minute).Add(time.Minute)
	if time.Until(slot) < 5*time.Second {
		slot = slot.Add(time.Minute)
	}
	time.Sleep(time.Until(slot) + 5*time.Second)
	runs, err := s.ended(instantJobs, time.Minute)
	if err != nil {
		return nil, err
	}
	last, n := 0.0, 0
	for _, r := range runs {
		if !r.ScheduledFor.Equal(slot) {
			continue
		}
		at, err := s.began(r.Run, off)
		if err != nil {
			return nil, err
		}
		last, n = max(last, ms(at.Sub(slot))), n+1
	}
	if n != instantJobs {
		return nil, fmt.Errorf("%d of %d jobs ran at the instant", n, instantJobs)
	}
	peer, err := bareLoop(s.payload(), instantJobs)
	if err != nil {
		return nil, err
	}
	return []Item{single("instant.last", "ms", "a bare loop of the payload", last, peer, n)}, nil
}

// bareLoop starts a program so many times and says when the last one ran.
func bareLoop(program string, n int) (float64, error) {
	begun, err := monotonic()
	if err != nil {
		return 0, err
	}
	procs, pipes := make([]*os.Process, n), make([]*os.File, n)
	for i := range n {
		if procs[i], pipes[i], err = plainly(program); err != nil {
			return 0, err
		}
	}
	last := 0.0
	for i := range n {
		ran, err := told(procs[i], pipes[i])
		if err != nil {
			return 0, err
		}
		last = max(last, ms(ran-begun))
	}
	return last, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
