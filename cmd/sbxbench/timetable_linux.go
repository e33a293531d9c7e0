package main

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// Numbers of the rows of the timetable. In each second some jobs are due; all others
// are not due while it is measured.
const (
	tableBusy    = 10
	tableStretch = 5 * time.Second
	tableAdds    = 20
)

// tableSizes are the numbers of jobs, up to a limit.
func tableSizes(limit int) []int {
	var all []int
	for n := 1000; n <= limit; n *= 10 {
		all = append(all, n)
	}
	return all
}

// sizeName is how a number stands in the name of a row.
func sizeName(n int) string {
	if n >= 1_000_000 {
		return fmt.Sprintf("%dM", n/1_000_000)
	}
	return fmt.Sprintf("%dk", n/1000)
}

// texts are n schedules, each due once in a year and none within four weeks.
func texts(n int) []string {
	month := int(time.Now().UTC().AddDate(0, 2, 0).Month())
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%d %d %d %d *", i%60, i/60%24, 1+i/1440%28, month)
	}
	return all
}

// newText is the schedule of a job that is added to a running loop, and that no
// other job has.
func newText(i int) string { return fmt.Sprintf("%d 3 29 2 *", i%60) }

// timetable compares what a wake costs, and what adding to a running table costs,
// with robfig/cron's own runner and the same schedules.
func timetable(of size) ([]Item, error) {
	var items []Item
	for _, n := range tableSizes(of.jobs) {
		wakes, adds, err := tableRows(n)
		if err != nil {
			return nil, fmt.Errorf("%d jobs: %w", n, err)
		}
		items = append(items, wakes, adds)
	}
	return items, nil
}

const robfigName = "robfig/cron's own runner"

// tableCost is what one loop used.
type tableCost struct{ wake, add float64 } // microseconds of processor time

func tableRows(n int) (wake, add Item, err error) {
	all := texts(n)
	ours, err := ourCost(all)
	if err != nil {
		return wake, add, err
	}
	peer, err := peerCost(all)
	if err != nil {
		return wake, add, err
	}
	return single("timetable.wake_"+sizeName(n), "us", robfigName, ours.wake, peer.wake, int(tableStretch/time.Second)),
		single("timetable.add_"+sizeName(n), "us", robfigName, ours.add, peer.add, tableAdds), nil
}

func ourCost(all []string) (tableCost, error) {
	l, err := newOurLoop(all, tableBusy)
	if err != nil {
		return tableCost{}, err
	}
	l.start()
	cost, err := costOf(&l.ran, func() error {
		for i := range tableAdds {
			l.add(len(all)+60*tableBusy+i, newText(i))
		}
		l.settle()
		return nil
	})
	if e := l.stop(); err == nil {
		err = e
	}
	return cost, err
}

func peerCost(all []string) (tableCost, error) {
	p, err := newPeerLoop(all, tableBusy)
	if err != nil {
		return tableCost{}, err
	}
	p.start()
	defer p.stop()
	return costOf(&p.ran, func() error {
		for i := range tableAdds {
			if err := p.add(newText(i)); err != nil {
				return err
			}
		}
		p.settle()
		return nil
	})
}

// costOf is what a running loop uses at a wake, and for each of the adds. The
// collector has no work of the filling left. ran counts the jobs that were due.
func costOf(ran *atomic.Int64, adds func() error) (tableCost, error) {
	runtime.GC()
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1500 * time.Millisecond)))
	due := ran.Load()
	wakes, err := used(func() error { time.Sleep(tableStretch); return nil })
	if err != nil {
		return tableCost{}, err
	}
	if due = ran.Load() - due; due != tableBusy*int64(tableStretch/time.Second) {
		return tableCost{}, fmt.Errorf("%d jobs were due in %s", due, tableStretch)
	}
	added, err := used(adds)
	return tableCost{wake: us(wakes) / tableStretch.Seconds(), add: us(added) / tableAdds}, err
}

// used is the processor time of this process while do runs.
func used(do func() error) (time.Duration, error) {
	before, err := ownTime()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := ownTime()
	return after - before, err
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
