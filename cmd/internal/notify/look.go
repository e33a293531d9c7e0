package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/cmd/internal/notify/send"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
)

// look takes what the queue holds, and reads the ledger where the queue was full or
// nobody had looked.
func (n *Notifier) look() {
	seen := n.queue.seen.Load() // lines before it are in the queue already, or were left out of it
	facts, from := n.queue.take()
	for _, f := range facts {
		if f.index >= n.scanned && (from < 0 || f.index < from) {
			n.take(f)
		}
	}
	if from >= 0 {
		n.scan(from)
	}
	if next := max(n.state.Next, seen, n.scanned); next != n.state.Next {
		n.state.Next = next
		n.dirty = n.dirty || len(facts) > 0 || from >= 0
	}
	n.queue.settle(n.state.Desk.Problems)
}

func (n *Notifier) scan(from int64) {
	n.scanned = max(n.scanned, from)
	err := n.World.ScanLedger(from, func(l store.Leaf) error {
		n.scanned = l.Index + 1
		if n.queue.matters(l.Leaf) || n.state.Desk.Problems[l.Job] != nil {
			if f, ok := factOf(l.Index, l.Leaf); ok {
				n.take(f)
			}
		}
		return nil
	})
	if err != nil {
		n.Log.Warn("notices: read the ledger", "cause", err.Error())
	}
}

// take decides about one fact.
func (n *Notifier) take(f fact) {
	if n.queue.pings.Load() {
		n.ping(f)
	}
	var t telling
	tell := false
	switch f.event {
	case jobspec.EventStarted:
		return
	case jobspec.EventSucceeded:
		t, tell = n.state.Desk.right(f.job)
	default:
		t, tell = n.state.Desk.wrong(f.job, f.event, f.at, n.World.Now(), n.reminder())
	}
	n.dirty = true
	if tell {
		n.tell(f, t)
	}
}

func (n *Notifier) reminder() time.Duration {
	if n.conf.Reminder > 0 {
		return n.conf.Reminder
	}
	return day
}

// poll asks the world for what no line says.
func (n *Notifier) poll(ctx context.Context, all *sync.WaitGroup) {
	n.readConfig()
	n.look()
	if !n.queue.watching.Load() {
		return
	}
	n.ahead()
	n.faults()
	n.ends()
	if now := n.World.Now(); !n.walking && (!now.Before(n.walkAt) || n.walkAt.After(now.Add(walkEvery))) {
		n.walking, n.walkAt = true, now.Add(walkEvery)
		all.Go(func() { n.walked <- n.walk(ctx, now) })
	}
}

// ahead takes which jobs would be refused at their next slot.
func (n *Notifier) ahead() {
	would, known := n.World.Foretold()
	if !known {
		return
	}
	now := n.World.Now()
	for job, why := range would {
		event := jobspec.EventWouldBeRefused
		if why.Code == jobspec.CodeKeyRevoked {
			event = jobspec.EventKeyRevoked
		}
		f := fact{at: now, job: job, event: event, code: why.Code, target: why.Target, detail: why.Detail, index: -1}
		if t, tell := n.state.Desk.ahead(job, event, why.Code, now, n.reminder()); tell {
			n.dirty = true
			n.tell(f, t)
		}
	}
	for job, p := range n.state.Desk.Problems {
		if _, still := would[job]; job == "" || still || p.Ahead == "" {
			continue
		}
		n.dirty = true
		if t, tell := n.state.Desk.clear(job); tell {
			n.tell(fact{at: now, job: job, index: -1}, t)
		}
	}
}

// faults takes what is wrong with the whole installation.
func (n *Notifier) faults() {
	now := n.World.Now()
	all := n.World.Faults()
	for _, p := range all {
		event := jobspec.EventWouldBeRefused
		if c := p.Code.Class(); c == jobspec.ClassTampered || c == jobspec.ClassAudit || p.Code == jobspec.CodeAuditUnavailable {
			event = jobspec.EventAuditFailed
		}
		if t, tell := n.state.Desk.ahead("", event, p.Code, now, n.reminder()); tell {
			n.dirty = true
			n.tell(fact{at: now, event: event, code: p.Code, target: p.Target, detail: p.Detail, index: -1}, t)
		}
	}
	if len(all) == 0 {
		if t, tell := n.state.Desk.clear(""); tell {
			n.dirty = true
			n.tell(fact{at: now, index: -1}, t)
		}
	}
}

// walk finds the jobs whose approval ends soon, nil where it could not tell.
func (n *Notifier) walk(ctx context.Context, now time.Time) []engine.Watched {
	soon := []engine.Watched{}
	err := n.World.EachWatched(ctx, func(w engine.Watched) {
		if !w.Expires.IsZero() && w.Expires.Sub(now) <= endLevels[0]+walkEvery {
			soon = append(soon, w)
		}
	})
	switch {
	case err == nil:
		return soon
	case ctx.Err() == nil:
		n.Log.Warn("notices: look for approvals that end", "cause", err.Error())
	}
	return nil // not all were seen
}

// sawAll takes what walk found.
func (n *Notifier) sawAll(soon []engine.Watched) {
	n.walking = false
	if soon != nil {
		n.soon = soon
		n.forgetEnds()
	}
	n.ends()
}

// forgetEnds drops what was told of jobs that are gone or were signed again.
func (n *Notifier) forgetEnds() {
	soon := map[jobspec.Name]bool{}
	for _, w := range n.soon {
		soon[w.Name] = true
	}
	for name := range n.state.Desk.Ends {
		if !soon[name] {
			delete(n.state.Desk.Ends, name)
			n.dirty = true
		}
	}
}

// ends tells of approvals that end soon, or have.
func (n *Notifier) ends() {
	now := n.World.Now()
	for _, w := range n.soon {
		if levelOf(w.Expires.Sub(now)) == n.state.Desk.Ends[w.Name].Level && n.state.Desk.Ends[w.Name].At.Equal(w.Expires) {
			continue
		}
		current, there := n.World.Watched(w.Name)
		if !there || !current.Active || current.Op != w.Op {
			continue // renewed or gone since all were looked at
		}
		if n.state.Desk.end(w.Name, w.Created, w.Expires, now) {
			n.tell(fact{at: now, job: w.Name, event: jobspec.EventExpiring, index: -1}, telling{event: jobspec.EventExpiring})
		}
		n.dirty = true
	}
}

// tell puts a notice into the boxes of all channels that take it.
func (n *Notifier) tell(f fact, t telling) {
	who := engine.Watched{}
	if f.job != "" {
		var there bool
		if who, there = n.World.Watched(f.job); !there {
			n.state.Desk.forget(f.job)
			return
		}
		if !wanted(n.conf, who.Events, t.event) {
			return
		}
	}
	notice := n.notice(f, t, who)
	for _, c := range n.conf.Channels {
		if c.Kind != jobspec.ChannelPing && takes(c, t.event, f.job, who.Principal) {
			n.put(c, n.fit(notice, f, c))
		}
	}
}

// ping tells each start and end to those who watch for silence.
func (n *Notifier) ping(f fact) {
	for _, c := range n.conf.Channels {
		if c.Kind != jobspec.ChannelPing || len(c.Jobs) > 0 && !slices.Contains(c.Jobs, f.job) {
			continue
		}
		who, there := n.World.Watched(f.job)
		if !there {
			return
		}
		asked := f.event
		if asked == jobspec.EventStarted || asked == jobspec.EventSucceeded {
			c.Events = nil // notify.toml cannot name these
		}
		if takes(c, asked, f.job, who.Principal) {
			n.put(c, n.fit(n.notice(f, telling{event: f.event}, who), f, c))
		}
	}
}

func (n *Notifier) put(c jobspec.Channel, notice send.Notice) {
	o := n.state.Boxes[c.Name]
	if o == nil {
		o = &outbox{}
		n.state.Boxes[c.Name] = o
	}
	o.put(notice, c.Kind == jobspec.ChannelPing, n.World.Now())
	n.dirty = true
}

// notice is what is told, without what only some channels may know.
func (n *Notifier) notice(f fact, t telling, who engine.Watched) send.Notice {
	s := send.Notice{Time: f.at, Host: n.Host, HostID: string(n.HostID), Event: t.event, Job: string(f.job), Principal: string(who.Principal),
		Code: string(f.code), Outcome: string(f.outcome), ExitCode: f.exit, Signal: f.signal, Run: f.run, Slot: f.slot,
		Count: t.count, Reminder: t.reminder, Remedy: f.code.Remedy()}
	if !t.since.IsZero() {
		s.Since = &t.since
	}
	if t.event == jobspec.EventExpiring {
		s.Expires, s.Remedy = &who.Expires, "have the owner sign the job again, with a later end"
	}
	s.ID = n.id(f, t)
	return s
}

// id is the same for the same line, also when a restart looks at it again, so that
// a receiver can tell.
func (n *Notifier) id(f fact, t telling) string {
	what := fmt.Sprintf("%s %d %s %s", n.HostID, f.index, f.job, t.event)
	if f.index < 0 {
		what += " " + f.at.UTC().Format(time.RFC3339)
	}
	sum := sha256.Sum256([]byte(what))
	return hex.EncodeToString(sum[:10])
}
