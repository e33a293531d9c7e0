package notify

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
)

// desk knows the open problems, one a job, and which end of an approval was told.
// The job "" is the installation itself.
type desk struct {
	Problems map[jobspec.Name]*problem `json:"problems"`
	Ends     map[jobspec.Name]ending   `json:"ends"`
}

// problem is open from the first thing that went wrong to a run that succeeds and
// a next slot that would start.
type problem struct {
	Since time.Time                   `json:"since"`
	Count int64                       `json:"count"`           // runs and slots that went wrong
	Runs  bool                        `json:"runs,omitempty"`  // some did
	Ahead jobspec.Code                `json:"ahead,omitempty"` // why the next slot would be refused
	Told  map[jobspec.Event]time.Time `json:"told"`
}

// ending is the end of a job's approval that was last told.
type ending struct {
	At    time.Time `json:"at"`
	Level int       `json:"level"`
}

// maxProblems bounds what is remembered. What is beyond it is told each time, and
// the pace of the channels bounds that.
const maxProblems = 20_000

// telling is a decision to tell something.
type telling struct {
	event    jobspec.Event
	since    time.Time
	count    int64
	reminder bool
}

func newDesk() *desk {
	return &desk{Problems: map[jobspec.Name]*problem{}, Ends: map[jobspec.Name]ending{}}
}

func (d *desk) open(job jobspec.Name, at time.Time) *problem {
	p := d.Problems[job]
	if p == nil {
		p = &problem{Since: at, Told: map[jobspec.Event]time.Time{}}
		if len(d.Problems) < maxProblems {
			d.Problems[job] = p
		}
	}
	return p
}

// wrong takes a run or slot that went wrong. The first of its kind is told, and
// from then on a reminder now and then.
func (d *desk) wrong(job jobspec.Name, event jobspec.Event, at, now time.Time, every time.Duration) (telling, bool) {
	p := d.open(job, at)
	p.Runs = true
	p.Count++
	return p.tell(event, at, now, every)
}

// ahead takes why the next slot would be refused, or of the installation what is
// wrong with it. It is asked again and again.
func (d *desk) ahead(job jobspec.Name, event jobspec.Event, code jobspec.Code, at time.Time, every time.Duration) (telling, bool) {
	p := d.open(job, at)
	p.Ahead = code
	return p.tell(event, at, at, every)
}

// tell decides. What was told at a time that has not come yet was told by a clock
// that was ahead, or by nobody, and keeps nothing silent.
func (p *problem) tell(event jobspec.Event, at, now time.Time, every time.Duration) (telling, bool) {
	last, told := p.Told[event]
	if told && !last.After(now) && at.Sub(last) < every {
		return telling{}, false
	}
	p.Told[event] = at
	return telling{event, p.Since, p.Count, told}, true
}

// right takes a run that succeeded.
func (d *desk) right(job jobspec.Name) (telling, bool) {
	p := d.Problems[job]
	if p == nil {
		return telling{}, false
	}
	p.Runs = false
	return d.maybeOver(job, p)
}

// clear takes that nothing speaks against the next slot any more.
func (d *desk) clear(job jobspec.Name) (telling, bool) {
	p := d.Problems[job]
	if p == nil || p.Ahead == "" {
		return telling{}, false
	}
	p.Ahead = ""
	return d.maybeOver(job, p)
}

func (d *desk) maybeOver(job jobspec.Name, p *problem) (telling, bool) {
	if p.Runs || p.Ahead != "" {
		return telling{}, false
	}
	delete(d.Problems, job)
	return telling{jobspec.EventRecovered, p.Since, p.Count, false}, true
}

// forget drops what is known of a job that is no more, or that its owner disabled.
func (d *desk) forget(job jobspec.Name) {
	delete(d.Problems, job)
	delete(d.Ends, job)
}

// day is what the warnings before an end are counted in.
const day = 24 * time.Hour

// endLevels are how long before the end of an approval it is told, the last at the
// end itself.
var endLevels = [...]time.Duration{14 * day, 7 * day, day, 0}

func levelOf(left time.Duration) int {
	level := 0
	for _, l := range endLevels {
		if left <= l {
			level++
		}
	}
	return level
}

// end takes when a job's approval ends. Each level is told once. Who approved a job
// for a few days yesterday knows: the level that it began with is not told. A level
// that was told and is not reached was told by a clock that was ahead.
func (d *desk) end(job jobspec.Name, created, expires, now time.Time) bool {
	level := levelOf(expires.Sub(now))
	e, known := d.Ends[job]
	if !known || !e.At.Equal(expires) {
		e = ending{At: expires}
		if now.Sub(created) < day && level < len(endLevels) {
			e.Level = levelOf(expires.Sub(created))
		}
	}
	tell := level > e.Level
	e.Level = level
	if e.Level > 0 {
		d.Ends[job] = e
	} else {
		delete(d.Ends, job)
	}
	return tell
}
