package notify

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/beat"
	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/cmd/internal/notify/send"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// World is what the notifier needs of the service.
type World interface {
	Now() time.Time
	ScanLedger(from int64, fn func(store.Leaf) error) error
	LedgerLen() int64
	Append(leaves ...*record.Leaf) (int64, error)
	Watched(job jobspec.Name) (engine.Watched, bool)
	EachWatched(ctx context.Context, fn func(engine.Watched)) error
	Foretold() (map[jobspec.Name]record.Reason, bool)
	// Faults are the problems that keep all jobs from running, or will.
	Faults() []api.Reason
}

// Deliverer makes one attempt; *send.Sender does.
type Deliverer interface {
	Do(ctx context.Context, t send.Task) send.Result
}

// Options are what a Notifier is made of; all fields are needed.
type Options struct {
	Dirs       store.Dirs
	Disk       safefile.Disk
	World      World
	Sender     Deliverer
	Config     func() (*jobspec.Notices, error)
	Credential func(name string) ([]byte, error)
	Output     func(run, stream string) (*os.File, error)
	Host       string // name of the machine
	HostID     jobspec.HostID
	Log        *slog.Logger
}

// Notifier tells people. One goroutine owns everything in it but the queue and
// what Problems shows.
type Notifier struct {
	Options
	queue   *queue
	state   *state
	conf    *jobspec.Notices
	scanned int64 // lines before it were read from the ledger itself
	dirty   bool
	saved   time.Time // when the state was last written
	results chan attempt
	soon    []engine.Watched // whose approval ends soon
	walked  chan []engine.Watched
	walking bool
	walkAt  time.Time // when all jobs are looked at again

	mu       sync.Mutex
	problems []api.Reason
}

// attempt is the end of one delivery.
type attempt struct {
	channel string
	res     send.Result
}

// How often the world is asked, and how often all jobs are looked at for the end
// of their approval.
const (
	pollEvery = time.Minute
	walkEvery = 6 * time.Hour
)

// New reads what is remembered. The watcher must be named to the engine before
// anything runs.
func New(o Options) *Notifier {
	n := &Notifier{Options: o, queue: newQueue(), conf: &jobspec.Notices{}, results: make(chan attempt), walked: make(chan []engine.Watched, 1)}
	end := o.World.LedgerLen()
	s, known, err := loadState(o.Dirs, end)
	if err != nil {
		o.Log.Warn("notices: begin anew", "cause", err.Error())
	}
	n.state = s
	n.queue.seen.Store(end)
	if !known {
		s.Next = end
	}
	n.readConfig()
	if n.queue.watching.Load() && s.Next < end {
		n.queue.lost = s.Next // what was written while nobody looked
	}
	n.queue.settle(s.Desk.Problems)
	return n
}

// Watcher is told of durable lines.
func (n *Notifier) Watcher() engine.Watcher { return n.queue }

// Problems are for status: channels that deliver nothing, and a notify.toml that
// cannot be read.
func (n *Notifier) Problems() []api.Reason {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.problems
}

// Run tells people until ctx ends. What waits then is delivered after the next
// start.
func (n *Notifier) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	n.queue.wake()
	n.poll(ctx, &all)
	polled := time.Now()
	for {
		n.dispatch(ctx, &all)
		n.saveNowAndThen()
		timer := time.NewTimer(n.untilNext())
		select {
		case <-ctx.Done():
			timer.Stop()
			n.drain(&all)
			return
		case <-n.queue.poke:
			n.look()
		case a := <-n.results:
			n.ended(a)
		case soon := <-n.walked:
			n.sawAll(soon)
		case <-timer.C:
			if time.Since(polled) >= pollEvery/2 {
				n.poll(ctx, &all)
				polled = time.Now()
			}
		}
		timer.Stop()
	}
}

// drain waits for the attempts that are on their way, which end with ctx.
func (n *Notifier) drain(all *sync.WaitGroup) {
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for {
		select {
		case a := <-n.results:
			n.ended(a)
		case <-done:
			n.look()
			n.dirty = true
			n.save()
			return
		}
	}
}

// untilNext is when something is due without anybody saying so.
func (n *Notifier) untilNext() time.Duration {
	now := n.World.Now()
	wait := beat.Until(pollEvery, now)
	if n.dirty {
		wait = saveEvery
	}
	for _, c := range n.conf.Channels {
		if o := n.state.Boxes[c.Name]; o != nil {
			if at := o.due(c.Kind == jobspec.ChannelPing, now); !at.IsZero() {
				wait = min(wait, max(at.Sub(now), 0))
			}
		}
	}
	return wait
}

// readConfig takes notify.toml as it is now. With a fault the last good one stays:
// a slip of the pen must not make everything silent, and status tells of it.
func (n *Notifier) readConfig() {
	conf, err := n.Config()
	problems := []api.Reason{}
	if err != nil {
		code := jobspec.CodeOr(err, jobspec.CodeNoticeConfig)
		problems = append(problems, api.Reason{Code: code, Detail: err.Error(), Remedy: code.Remedy()})
	} else {
		n.conf = conf
		n.forgetBoxes()
	}
	pings := false
	for _, c := range n.conf.Channels {
		pings = pings || c.Kind == jobspec.ChannelPing
	}
	n.queue.pings.Store(pings)
	n.queue.watching.Store(len(n.conf.Channels) > 0)
	n.tellProblems(problems)
}

// forgetBoxes drops what waits for channels that are no more.
func (n *Notifier) forgetBoxes() {
	known := map[string]bool{}
	for _, c := range n.conf.Channels {
		known[c.Name] = true
	}
	for name, o := range n.state.Boxes {
		if !known[name] && !o.busy {
			delete(n.state.Boxes, name)
			n.dirty = true
		}
	}
}

func (n *Notifier) tellProblems(problems []api.Reason) {
	for _, c := range n.conf.Channels {
		o := n.state.Boxes[c.Name]
		if o == nil || o.Failing.IsZero() {
			continue
		}
		problems = append(problems, api.Reason{Code: jobspec.CodeNoticeUndelivered, Target: c.Name,
			Detail: describe(o), Remedy: jobspec.CodeNoticeUndelivered.Remedy()})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.problems = problems
}

// saveEvery bounds how often the state is written: runs wait for the same disk.
const saveEvery = 2 * time.Second

// saveNowAndThen writes the state unless it was written just now. What a crash
// takes is told again, under the same ids.
func (n *Notifier) saveNowAndThen() {
	if n.dirty && time.Since(n.saved) >= saveEvery {
		n.save()
		n.saved = time.Now()
	}
}

func (n *Notifier) save() {
	if !n.dirty {
		return
	}
	n.dirty = false
	if err := n.state.save(n.Disk, n.Dirs); err != nil {
		n.Log.Warn("notices: remember what was told", "cause", err.Error())
	}
}
