package scheduler

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Words of a schedule. Everything else reads as the strict one, skip.
const (
	missedOnce     = "once"
	overlapQueue   = "queue"
	overlapReplace = "replace"
)

// manner is how the slots of a job are taken: all that its op says of them beside
// when they are. Jobs that say the same share one, since there may be a million.
// A nil manner skips what is missed and what overlaps, and tries once.
type manner struct {
	share    share
	once     bool // the newest missed slot runs, if it is young enough
	overlap  string
	deadline time.Duration // how late a slot may start; 0 for no bound of its own
	retries  int64         // further attempts of one run
}

var skipping = &manner{}

// orSkip is never nil.
func (m *manner) orSkip() *manner {
	if m == nil {
		return skipping
	}
	return m
}

func mannerOf(e Entry) manner {
	return manner{
		share: share{e.Principal, e.Tier}, once: e.Schedule.Missed == missedOnce, overlap: e.Schedule.Overlap,
		deadline: time.Duration(e.Schedule.StartDeadlineSeconds) * time.Second, retries: e.Schedule.Retries,
	}
}

// manners are those of the jobs in a timetable, each once, with how many have it.
type manners map[manner]*sameManner

type sameManner struct {
	manner
	jobs int
}

func (m *manners) take(e Entry) *manner {
	how := mannerOf(e)
	same := (*m)[how]
	if same == nil {
		if *m == nil {
			*m = manners{}
		}
		same = &sameManner{manner: how}
		(*m)[how] = same
	}
	same.jobs++
	return &same.manner
}

func (m manners) giveBack(how *manner) {
	same := m[*how]
	if same.jobs--; same.jobs == 0 {
		delete(m, *how)
	}
}

// principals is how many principals have jobs in the table.
func (t *Timetable) principals() int {
	all := map[jobspec.Principal]bool{}
	for how := range t.manners {
		all[how.share.principal] = true
	}
	return len(all)
}

// mannerOf is how the slots of a job in the table are taken.
func (t *Timetable) mannerOf(job jobspec.Name) *manner {
	if it := t.byJob.find(job); it != nil {
		return it.how
	}
	return skipping
}
