package main

import (
	"fmt"
	"runtime"

	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/store"
)

// heapRow compares what a job takes of the live heap beside the stored op: the view of
// the chain, the times when ops were accepted, and the timetable of all jobs that are in
// force, as the service has them, and the entries of robfig/cron's runner.
func heapRow(d store.Dirs, n int) (Item, error) {
	before := liveHeap()
	held, err := jobsHeld(d)
	if err != nil {
		return Item{}, err
	}
	ours := liveHeap() - before
	runtime.KeepAlive(held)
	schedules := texts(n)
	before = liveHeap()
	peer, err := newPeerLoop(schedules, 0)
	if err != nil {
		return Item{}, err
	}
	peer.start()
	theirs := liveHeap() - before
	runtime.KeepAlive(schedules)
	peer.runner.Stop()
	return single("timetable.bytes_"+sizeName(n), "B", robfigName, float64(ours)/float64(n), float64(theirs)/float64(n), 1), nil
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what the first one found to be finalised
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// held is what stays in memory.
type held struct {
	state    *store.State
	accepted []int64 // by the position of the op
	table    *scheduler.Timetable
}

// jobsHeld proves the chain and puts every job into a timetable.
func jobsHeld(d store.Dirs) (held, error) {
	state, err := store.Load(d)
	if err != nil {
		return held{}, err
	}
	h := held{state, make([]int64, state.Len()), &scheduler.Timetable{}}
	h.table.Expect(state.View.Named())
	for job := range state.View.All() {
		when, _ := state.View.Timing(job.Name)
		op, _ := state.Digest(job.SpecSeq)
		e := scheduler.Entry{Job: job.Name, Op: op, Seq: job.SpecSeq, Schedule: when.Schedule, Anchor: when.Anchor.Time(),
			Since: when.Anchor.Time(), Principal: job.Principal, Tier: job.Tier}
		if err := h.table.Set(e, e.Since); err != nil {
			return held{}, fmt.Errorf("job %q: %w", job.Name, err)
		}
	}
	return h, nil
}
