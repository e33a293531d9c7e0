package notify

import (
	"slices"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/notify/send"
	"github.com/sbxcron/sbxcron/jobspec"
)

// The pace of a channel. A policy that stops ten thousand jobs makes a handful of
// notices and then digests, and a server that is down makes no heap.
const (
	paceBurst  = 20
	paceTime   = time.Hour // in which paceBurst notices may go
	maxWaiting = 20        // beyond it notices are joined into one
	maxFurther = 50        // lines of a digest; the last counts what is beyond
	maxPings   = 256
	giveUp     = 3 * day
	minTries   = 12               // before it is given up: days also pass when a clock is set
	maxTries   = 1000             // what is counted
	pingGiveUp = 10 * time.Minute // later it would say when something was, and not when it is
	firstWait  = 30 * time.Second
	longWait   = time.Hour
)

// item waits to be delivered.
type item struct {
	Notice send.Notice `json:"notice"`
	Since  time.Time   `json:"since"`
	Next   time.Time   `json:"next"`
	Tries  int         `json:"tries"`
}

// outbox is what waits for one channel, the oldest first.
type outbox struct {
	Items   []item      `json:"items,omitempty"`
	Sent    []time.Time `json:"sent,omitempty"`    // within paceTime
	Dropped int64       `json:"dropped,omitempty"` // given up since the last that was delivered
	Failing time.Time   `json:"failing,omitzero"`  // since when nothing is delivered
	Said    string      `json:"said,omitempty"`    // why not
	busy    bool        // an attempt is on its way
}

// put adds a notice, or joins it to the last that waits.
func (o *outbox) put(n send.Notice, ping bool, now time.Time) {
	if ping {
		if len(o.Items) >= maxWaiting {
			n.Output = nil // a heap of them would be written to the disk of the runs again and again
		}
		if len(o.Items) >= maxPings {
			o.Items = slices.Delete(o.Items, 1, 2) // the first may be on its way
			o.Dropped++
		}
		o.Items = append(o.Items, item{Notice: n, Since: now, Next: now})
		return
	}
	waiting := len(o.Items)
	joins := waiting >= maxWaiting || waiting > 1 && !o.free(now)
	if !joins {
		o.Items = append(o.Items, item{Notice: n, Since: now, Next: now})
		return
	}
	last := &o.Items[waiting-1].Notice
	last.More = join(last.More, send.Further{Event: n.Event, Job: n.Job, Code: n.Code, Count: 1})
}

// join counts a line among those that are there already.
func join(all []send.Further, f send.Further) []send.Further {
	for i := range all {
		if all[i].Event == f.Event && all[i].Job == f.Job && all[i].Code == f.Code {
			all[i].Count += f.Count
			return all
		}
	}
	if len(all) < maxFurther {
		return append(all, f)
	}
	rest := &all[len(all)-1]
	*rest = send.Further{Event: "others", Count: rest.Count + f.Count}
	return all
}

// free reports whether the pace lets one more notice go.
func (o *outbox) free(now time.Time) bool {
	o.Sent = slices.DeleteFunc(o.Sent, func(at time.Time) bool { return now.Sub(at) >= paceTime || at.After(now) })
	return len(o.Sent) < paceBurst
}

// due is when the first item may go, zero for never.
func (o *outbox) due(ping bool, now time.Time) time.Time {
	if len(o.Items) == 0 || o.busy {
		return time.Time{}
	}
	at := o.Items[0].Next
	if at.IsZero() || at.After(now.Add(longWait)) { // the clock was ahead, or nobody of us wrote it
		at = now
	}
	if !ping && !o.free(now) {
		if free := o.Sent[0].Add(paceTime); free.After(at) {
			at = free
		}
	}
	return at
}

// ended takes the end of an attempt for the first item. It returns the notice when
// it is over with it, and whether the channel has just begun or ceased to fail.
func (o *outbox) ended(res send.Result, ping bool, now time.Time) (over *send.Notice, turned bool) {
	o.busy = false
	if len(o.Items) == 0 {
		return nil, false
	}
	first := &o.Items[0]
	if res.Class == send.Delivered {
		turned = !o.Failing.IsZero()
		o.Failing, o.Said, o.Dropped = time.Time{}, "", 0
		if !ping {
			o.Sent = append(o.Sent, now)
		}
		return o.shift(), turned
	}
	turned = o.Failing.IsZero()
	if turned {
		o.Failing = now
	}
	o.Said = res.Class.String() + ": " + res.Text
	first.Tries = min(max(first.Tries, 0), maxTries) + 1
	if first.Since.After(now) {
		first.Since = now
	}
	first.Next = now.Add(waitAfter(first.Tries, res.Class))
	most, least := giveUp, minTries
	if ping {
		most, least = pingGiveUp, 1
	}
	if now.Sub(first.Since) >= most && first.Tries >= least {
		o.Dropped++
		return o.shift(), turned
	}
	return nil, turned
}

func (o *outbox) shift() *send.Notice {
	n := o.Items[0].Notice
	o.Items = slices.Delete(o.Items, 0, 1)
	return &n
}

// waitAfter doubles from half a minute to an hour. What is refused, or lacks a
// credential, waits for somebody who mends it.
func waitAfter(tries int, class send.Class) time.Duration {
	if class != send.Delayed && tries > 2 {
		return longWait
	}
	return min(firstWait<<min(tries-1, 10), longWait)
}

// takes reports whether a channel is one for an event of a job.
func takes(c jobspec.Channel, event jobspec.Event, job jobspec.Name, who jobspec.Principal) bool {
	if len(c.Events) > 0 && !slices.Contains(c.Events, event) {
		return false
	}
	if job == "" {
		return c.Host
	}
	return (len(c.Principals) == 0 || slices.Contains(c.Principals, who)) && (len(c.Jobs) == 0 || slices.Contains(c.Jobs, job))
}

// wanted reports whether a job's notices are about an event.
func wanted(n *jobspec.Notices, named []jobspec.Event, event jobspec.Event) bool {
	if len(named) == 0 {
		named = n.Default
	}
	has := func(e jobspec.Event) bool { return slices.Contains(named, e) || slices.Contains(n.Always, e) }
	return has(event) || event == jobspec.EventKeyRevoked && has(jobspec.EventRefused)
}
