package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// How idle looks at a service: after its first minutes, in which it looks at more than
// later on, for some minutes; what happens within a burst is one wake-up.
const (
	idleSettle = 130 * time.Second
	idleWatch  = 4 * time.Minute
	idleLook   = 50 * time.Millisecond
	idleBurst  = 500 * time.Millisecond
	idleBound  = 2 // timer wake-ups a minute
)

// idle counts how often a service wakes up that has nothing to do: each time at which
// any of its threads gave a processor away that it had woken up for, whoever woke it,
// the runtime's own collector and watchdog included.
func idle(size) ([]Item, error) {
	s, err := newSite()
	if err != nil {
		return nil, err
	}
	defer s.close()
	time.Sleep(idleSettle)
	pid := s.daemon.Process.Pid
	before, err := switches(pid)
	if err != nil {
		return nil, err
	}
	var wakes int
	var last time.Time
	for begun := time.Now(); time.Since(begun) < idleWatch; time.Sleep(idleLook) {
		now, err := switches(pid)
		if err != nil {
			return nil, err
		}
		if now == before {
			continue
		}
		before = now
		if time.Since(last) > idleBurst {
			wakes++
		}
		last = time.Now()
	}
	return []Item{single("timetable.idle", "wake-ups/min", "the bound", float64(wakes)/idleWatch.Minutes(), idleBound, wakes)}, nil
}

// switches is how often the threads of a process have gone to sleep by themselves.
func switches(pid int) (all int64, err error) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(lists) == 0 {
		return 0, fmt.Errorf("no threads of process %d: %v", pid, err)
	}
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that ended
		}
		_, rest, _ := bytes.Cut(b, []byte("\nvoluntary_ctxt_switches:"))
		number, _, _ := bytes.Cut(rest, []byte("\n"))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(number)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", list, err)
		}
		all += n
	}
	return all, nil
}
