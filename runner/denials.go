package runner

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// LoopLimit is how often a run may try the same denied thing. A program that
// tries once more after that does not understand the answer.
const LoopLimit = 5

// maxDenials bounds how many different denials a run's record tells apart.
const maxDenials = 31

// otherDenials is the target of those beyond that.
const otherDenials = "and others"

// Attempt is one thing that a job tried and was stopped at, Count times.
type Attempt struct {
	Code   jobspec.Code
	Target string
	Count  int64
	// Rule names what said no where that is one of several, "" otherwise.
	Rule string
	// Expected marks what ordinary programs try without being asked to; Rule then
	// names the entry of the table that says so.
	Expected bool
}

// Denials collects what one run was stopped at, and says when the run must end.
// A denial that the owner expects is stopped and recorded like any other; it
// only does not count against the run. It may be used by many goroutines.
type Denials struct {
	rules jobspec.DenialRules
	now   func() time.Time

	mu         sync.Mutex
	list       []record.Denial
	unexpected int64
	ended      record.Reason // why the run must end, the first time
}

// NewDenials makes an empty collection for a run with these rules.
func NewDenials(rules jobspec.DenialRules, now func() time.Time) *Denials {
	return &Denials{rules: rules, now: now}
}

// Observed notes a denial that one of our own mechanisms saw and returns the code
// to end the run with, "" while it may go on.
func (d *Denials) Observed(a Attempt) jobspec.Code {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := d.find(a)
	x.Count += a.Count
	if !x.Expected {
		d.unexpected += a.Count
		d.judge(*x)
	}
	return d.ended.Code
}

// find returns the entry of a denial, and makes it if need be: of its own while
// there is room or it is expected, else the one for all others. What is expected
// is bounded by the tables that expect it. The caller holds mu.
func (d *Denials) find(a Attempt) *record.Denial {
	expected := a.Expected || slices.Contains(d.rules.Expected, jobspec.ExpectedDenial{Code: a.Code, Target: a.Target})
	i := slices.IndexFunc(d.list, func(x record.Denial) bool {
		return x.Code == a.Code && x.Target == a.Target && x.Rule == a.Rule && x.Expected == expected
	})
	if i < 0 && !expected && d.different() >= maxDenials {
		a.Target, a.Rule = otherDenials, ""
		i = slices.IndexFunc(d.list, func(x record.Denial) bool { return x.Target == otherDenials })
	}
	if i < 0 {
		i = len(d.list)
		d.list = append(d.list, record.Denial{Code: a.Code, Target: a.Target, Certainty: "observed", FirstAt: record.Stamp(d.now()), Expected: expected, Rule: a.Rule})
	}
	return &d.list[i]
}

// different counts the denials that nobody expected. The caller holds mu.
func (d *Denials) different() int {
	n := 0
	for _, x := range d.list {
		if !x.Expected {
			n++
		}
	}
	return n
}

// judge applies the rules after one more unexpected denial. The caller holds mu.
func (d *Denials) judge(x record.Denial) {
	if d.ended.Code != "" {
		return
	}
	switch target := fmt.Sprintf("%s %s", x.Code, x.Target); {
	case d.rules.OnDenial == "kill":
		d.ended = record.Reason{Code: jobspec.CodeDenialKilled, Target: target, Detail: "the job asks to be ended at its first denial"}
	case x.Count > LoopLimit:
		d.ended = record.Reason{Code: jobspec.CodeDenialLoop, Target: target, Detail: fmt.Sprintf("the same was tried more than %d times", LoopLimit)}
	case d.rules.Max > 0 && d.unexpected > d.rules.Max:
		d.ended = record.Reason{Code: jobspec.CodeDenialLoop, Target: target, Detail: fmt.Sprintf("more than %d denials, as many as denials.max lets pass", d.rules.Max)}
	}
}

// Into adds the denials to the end of a run and makes it denied if one of them
// was not expected, whatever status the command chose. A run that was over its
// time, or that somebody ended, stays what it is: it was no success either way.
func (d *Denials) Into(end *record.End) {
	d.mu.Lock()
	defer d.mu.Unlock()
	end.Denials = append(end.Denials, d.list...)
	ours := d.ended.Code != "" && len(end.Reasons) > 0 && end.Reasons[0].Code == d.ended.Code
	if ours {
		end.Reasons[0] = d.ended
	}
	byItself := end.Outcome == record.OutcomeSucceeded || end.Outcome == record.OutcomeFailed
	if d.unexpected > 0 && (byItself || ours) {
		end.Outcome = record.OutcomeDenied
	}
}
