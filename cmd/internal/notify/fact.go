package notify

import (
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// fact is what a line of the ledger says, as far as notices go.
type fact struct {
	index   int64
	at      time.Time
	job     jobspec.Name
	event   jobspec.Event
	code    jobspec.Code
	target  string
	detail  string
	outcome record.Outcome
	exit    *int64
	signal  string
	run     string
	slot    string
}

// eventOf is the event that a line is, "" for none. It is asked of every line.
func eventOf(l *record.Leaf) jobspec.Event {
	switch {
	case l.Job == "":
		return ""
	case l.Kind == record.Started:
		return jobspec.EventStarted
	case l.Kind == record.Missed:
		return jobspec.EventMissed
	case l.Kind == record.Lost:
		return jobspec.EventFailed
	case l.Kind == record.Held && l.Slot == nil && len(l.Reasons) > 0 && l.Reasons[0].Code == jobspec.CodeBreakerOpen:
		return jobspec.EventRefused // nothing of the job will start; whoever holds it by hand knows
	case l.Kind == record.Refused, l.Kind == record.Finished && l.Outcome == record.OutcomeRefused:
		if len(l.Reasons) > 0 && l.Reasons[0].Code == jobspec.CodeKeyRevoked {
			return jobspec.EventKeyRevoked
		}
		return jobspec.EventRefused
	case l.Kind != record.Finished:
		return ""
	case l.Outcome == record.OutcomeSucceeded:
		return jobspec.EventSucceeded
	case l.Outcome == record.OutcomeDenied:
		return jobspec.EventDenied
	}
	return jobspec.EventFailed
}

// factOf takes what is needed of a line. It keeps nothing of the line itself.
func factOf(index int64, l *record.Leaf) (fact, bool) {
	f := fact{index: index, at: record.ParseStamp(l.Time), job: l.Job, event: eventOf(l), outcome: l.Outcome, signal: l.Signal, run: l.Run}
	if f.event == "" {
		return fact{}, false
	}
	if l.Slot != nil {
		f.slot = l.Slot.String()
	}
	if l.Exited {
		code := l.ExitCode
		f.exit = &code
	}
	if len(l.Reasons) > 0 {
		f.code, f.target, f.detail = l.Reasons[0].Code, l.Reasons[0].Target, l.Reasons[0].Detail
	}
	for _, d := range l.Denials {
		if f.event == jobspec.EventDenied && !d.Expected {
			f.code, f.target, f.detail = d.Code, d.Target, ""
			break
		}
	}
	return f, true
}
