package scheduler

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// RunInfo is one living run, for status.
type RunInfo struct {
	Run         string
	Job         jobspec.Name
	Op          jobspec.Digest
	Trigger     record.Trigger
	RequestedBy *record.Requester
	Slot        jobspec.Slot // zero for a manual run
	Scheduled   time.Time
	State       string    // queued, armed, preparing, running, waiting (for the next attempt)
	ReleasedAt  time.Time // zero until running
	Ending      jobspec.Code
}

// Running lists the living runs, the oldest first.
func (s *Scheduler) Running() []RunInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]RunInfo, 0, len(s.live)+len(s.waiting))
	for _, r := range slices.Concat(slices.Collect(maps.Values(s.live)), slices.Collect(maps.Values(s.waiting))) {
		info := RunInfo{Run: r.id, Job: r.key.Job, Op: r.key.Op, Trigger: r.trigger, RequestedBy: r.by,
			Scheduled: r.order, State: [...]string{queued: "queued", armed: "armed", preparing: "preparing", running: "running", pausing: "waiting"}[r.stage], ReleasedAt: r.began}
		if len(r.due.Slots) > 0 {
			info.Slot = r.due.Slots[0]
		}
		if r.halt != nil {
			info.Ending = r.halt.code
		}
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b RunInfo) int { return cmp.Compare(a.Run, b.Run) })
	return all
}

// Soonest are the jobs that are due next, the first one first, at most n.
func (s *Scheduler) Soonest(n int) []jobspec.Name {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []jobspec.Name
	s.table.ascend(func(it *item, _ int64) bool {
		if len(all) < n {
			all = append(all, it.job)
		}
		return len(all) < n
	})
	return all
}

// NextOf is when a job is due next; false for a job that is not in the table.
func (s *Scheduler) NextOf(job jobspec.Name) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.NextOf(job)
}

// Problems lists the jobs that are in force and cannot become due, by name.
func (s *Scheduler) Problems() []Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.problems), func(a, b Problem) int { return cmp.Compare(a.Job, b.Job) })
}
