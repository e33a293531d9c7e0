package main

import (
	"fmt"
	"time"
)

// Numbers of the rows of the timetable. In each second some jobs are due; all others
// are not due while it is measured.
const (
	tableBusy    = 10
	tableStretch = 5 * time.Second
	tableTurns   = 7
	tableAdds    = 240
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
func newText(i int) string { return fmt.Sprintf("%d %d 29 2 *", i%60, i/60%24) }

// timetable compares what a wake costs, and what adding to a running table costs,
// with robfig/cron's own runner and the same schedules. Each runs in a process of its
// own, ours and the peer's in turn.
func timetable(of size) ([]Item, error) {
	var items []Item
	for _, n := range tableSizes(of.jobs) {
		rows, err := tableRows(n)
		if err != nil {
			return nil, fmt.Errorf("%d jobs: %w", n, err)
		}
		items = append(items, rows...)
	}
	return items, nil
}

const robfigName = "robfig/cron's own runner"

func tableRows(n int) ([]Item, error) {
	var wakes, adds [2][]float64
	for range tableTurns {
		for i, kind := range []string{oursKind, peerKind} {
			wake, add, err := measureLoop(kind, n)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", kind, err)
			}
			wakes[i], adds[i] = append(wakes[i], wake), append(adds[i], add)
		}
	}
	return []Item{compare("timetable.wake_"+sizeName(n), "us", robfigName, wakes[0], wakes[1]),
		compare("timetable.add_"+sizeName(n), "us", robfigName, adds[0], adds[1])}, nil
}

// measureLoop starts a loop, lets it go on for a stretch, and says what it used at a
// wake and for each of some adds, in microseconds of processor time.
func measureLoop(kind string, n int) (wake, add float64, err error) {
	l, err := startLoop(kind, n)
	if err != nil {
		return 0, 0, err
	}
	defer l.close()
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1500 * time.Millisecond)))
	due, err := l.ask("ran")
	if err != nil {
		return 0, 0, err
	}
	time.Sleep(100 * time.Millisecond) // until the answer has no part in it
	before, err := cpuTime(l.cmd.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	time.Sleep(tableStretch)
	after, err := cpuTime(l.cmd.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	ran, err := l.ask("ran")
	if err != nil {
		return 0, 0, err
	}
	wakes := float64(ran-due) / tableBusy // on a busy machine one more or less
	if wakes < tableStretch.Seconds()/2 {
		return 0, 0, fmt.Errorf("%d jobs were due in %s", ran-due, tableStretch)
	}
	added, err := l.ask("add")
	return us(after-before) / wakes, us(time.Duration(added)) / tableAdds, err
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
