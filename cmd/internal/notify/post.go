package notify

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/notify/send"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// dispatch begins what is due, one attempt a channel: a server that hangs holds up
// its own channel only.
func (n *Notifier) dispatch(ctx context.Context, all *sync.WaitGroup) {
	now := n.World.Now()
	for _, c := range n.conf.Channels {
		o := n.state.Boxes[c.Name]
		if o == nil {
			continue
		}
		at := o.due(c.Kind == jobspec.ChannelPing, now)
		if at.IsZero() || at.After(now) {
			continue
		}
		o.busy = true
		task := send.Task{Channel: c, Notice: o.Items[0].Notice, Sent: now, Secrets: map[string][]byte{}}
		task.Notice.Dropped = o.Dropped
		all.Go(func() { n.attempt(ctx, task) })
	}
}

// attempt gives one notice to the sender, with the secrets of its channel.
func (n *Notifier) attempt(ctx context.Context, t send.Task) {
	res := send.Result{}
	for _, name := range t.Channel.Credentials() {
		value, err := n.Credential(name)
		if err != nil {
			res = send.Result{Class: send.Misconfigured, Text: fmt.Sprintf("credential %s: %s", name, jobspec.CodeOf(err))}
			break
		}
		defer clear(value)
		t.Secrets[name] = value
	}
	if res.Class == 0 {
		res = n.Sender.Do(ctx, t)
	}
	if ctx.Err() != nil && res.Class != send.Delivered {
		res = send.Result{} // it was cut short, and says nothing of the channel
	}
	n.results <- attempt{t.Channel.Name, res}
}

// ended takes the end of an attempt, and writes down what is worth a line: what was
// delivered or given up, and that a channel has begun to fail. A ping is told of
// every run, whose lines are there already, so only its failing is.
func (n *Notifier) ended(a attempt) {
	o := n.state.Boxes[a.channel]
	if o == nil {
		return
	}
	if a.res.Class == 0 {
		o.busy = false
		return
	}
	n.dirty = true
	ping := false
	for _, c := range n.conf.Channels {
		ping = ping || c.Name == a.channel && c.Kind == jobspec.ChannelPing
	}
	var first send.Notice
	if len(o.Items) > 0 {
		first = o.Items[0].Notice
	}
	over, turned := o.ended(a.res, ping, n.World.Now())
	delivered := a.res.Class == send.Delivered
	if turned || over != nil && !ping {
		leaf := &record.Leaf{Kind: record.Notified, Job: jobspec.Name(first.Job), Channel: a.channel, Event: first.Event}
		if delivered {
			leaf.Count = 1 + int64(len(first.More))
		} else {
			leaf.Reasons = []record.Reason{{Code: jobspec.CodeNoticeUndelivered, Target: a.channel, Detail: a.res.Class.String() + ": " + a.res.Text}}
		}
		if over == nil { // it goes on being tried
			leaf.Notes = []string{"will be tried again"}
		}
		if _, err := n.World.Append(leaf); err != nil {
			n.Log.Warn("notices: record a delivery", "channel", a.channel, "cause", err.Error())
		}
	}
	if turned && !delivered {
		n.Log.Warn("notices: a channel delivers nothing", "channel", a.channel, "cause", o.Said)
	}
	n.readConfig()
}

func describe(o *outbox) string {
	s := fmt.Sprintf("nothing was delivered since %s, %d waiting", o.Failing.UTC().Format(time.RFC3339), len(o.Items))
	if o.Dropped > 0 {
		s += fmt.Sprintf(", %d given up", o.Dropped)
	}
	return s + ": " + o.Said
}

// fit adds what the channel may know: names that a job may have made up, and the
// end of its output.
func (n *Notifier) fit(s send.Notice, f fact, c jobspec.Channel) send.Notice {
	if c.Details {
		s.Target, s.Detail = f.target, f.detail
	}
	if c.OutputLines > 0 && f.run != "" && (s.Event == jobspec.EventFailed || s.Event == jobspec.EventDenied) {
		for _, stream := range []string{"out", "err"} {
			s.Output = append(s.Output, n.tail(f.run, stream, int(c.OutputLines))...)
		}
		s.Output = s.Output[max(0, len(s.Output)-int(c.OutputLines)):]
	}
	return s.Bounded()
}

// tailBytes is how much of a stream's end is looked at.
const tailBytes = 16 << 10

// tail gives the last lines of a stream, masked when it was kept. What cannot be
// read is not told: the notice itself matters more.
func (n *Notifier) tail(run, stream string, lines int) []string {
	file, err := n.Output(run, stream)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-tailBytes), tailBytes))
	if err != nil || len(text) == 0 {
		return nil
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return all[max(0, len(all)-lines):]
}
