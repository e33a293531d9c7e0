package notify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/cmd/internal/notify/send"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/safefile"
)

// world is a service with a ledger in memory and a clock that the test moves.
type world struct {
	t       *testing.T
	mu      sync.Mutex
	now     time.Time
	leaves  []*record.Leaf
	watcher engine.Watcher
	jobs    map[jobspec.Name]engine.Watched
	would   map[jobspec.Name]record.Reason
	known   bool
	faults  []api.Reason
	conf    *jobspec.Notices
	confErr error
	dirs    store.Dirs
	outputs map[string]string
	answers func(send.Task) send.Result
	tasks   []send.Task
}

func newWorld(t *testing.T, channels ...jobspec.Channel) *world {
	t.Helper()
	root := t.TempDir()
	if err := os.Chmod(root, 0o700); err != nil {
		t.Fatal(err)
	}
	dirs, err := store.RootDirs(root, os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	if err := dirs.Make(); err != nil {
		t.Fatal(err)
	}
	if len(channels) == 0 {
		channels = []jobspec.Channel{{Name: "ops", Kind: jobspec.ChannelWebhook, URL: "https://example.org/", Host: true}}
	}
	return &world{t: t, dirs: dirs, now: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), known: true,
		jobs: map[jobspec.Name]engine.Watched{}, would: map[jobspec.Name]record.Reason{}, outputs: map[string]string{},
		conf: &jobspec.Notices{Default: jobspec.JobEvents(), Reminder: day, Channels: channels}}
}

func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) ScanLedger(from int64, fn func(store.Leaf) error) error {
	w.mu.Lock()
	leaves := w.leaves
	w.mu.Unlock()
	for i := from; i < int64(len(leaves)); i++ {
		if err := fn(store.Leaf{Index: i, Leaf: leaves[i]}); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) LedgerLen() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int64(len(w.leaves))
}

func (w *world) Append(leaves ...*record.Leaf) (int64, error) {
	w.mu.Lock()
	first := int64(len(w.leaves))
	for _, l := range leaves {
		l.Time = record.Stamp(w.now)
		w.leaves = append(w.leaves, l)
	}
	watcher := w.watcher
	w.mu.Unlock()
	if watcher != nil {
		watcher.Appended(first, leaves)
	}
	return first, nil
}

func (w *world) Watched(name jobspec.Name) (engine.Watched, bool) {
	j, ok := w.jobs[name]
	return j, ok
}

func (w *world) EachWatched(_ context.Context, fn func(engine.Watched)) error {
	for _, j := range w.jobs {
		fn(j)
	}
	return nil
}

func (w *world) Foretold() (map[jobspec.Name]record.Reason, bool) { return w.would, w.known }
func (w *world) Faults() []api.Reason                             { return w.faults }

func (w *world) Do(_ context.Context, t send.Task) send.Result {
	w.mu.Lock()
	w.tasks = append(w.tasks, t)
	answers := w.answers
	w.mu.Unlock()
	if answers == nil {
		return send.Result{Class: send.Delivered, Text: "200"}
	}
	return answers(t)
}

// job adds a job that names events.
func (w *world) job(name jobspec.Name, events ...jobspec.Event) {
	w.jobs[name] = engine.Watched{Name: name, Principal: "alice", Active: true, Events: events, Created: w.now, Expires: w.now.Add(90 * day)}
}

func (w *world) end(job jobspec.Name, outcome record.Outcome) {
	w.t.Helper()
	l := &record.Leaf{Kind: record.Finished, Job: job, Outcome: outcome, Run: "r", Exited: true}
	if outcome != record.OutcomeSucceeded {
		l.ExitCode = 1
	}
	w.append(l)
}

func (w *world) append(l *record.Leaf) {
	w.t.Helper()
	if _, err := w.Append(l); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) output(run, stream string) (*os.File, error) {
	text, ok := w.outputs[run+"."+stream]
	if !ok {
		return nil, fs.ErrNotExist
	}
	f, err := os.CreateTemp(w.t.TempDir(), "out")
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(text)
	return f, err
}

// start makes a notifier that the test moves by hand.
func (w *world) start() *Notifier {
	w.t.Helper()
	n := New(Options{Dirs: w.dirs, Disk: safefile.RealDisk{}, World: w, Sender: w,
		Config: func() (*jobspec.Notices, error) { return w.conf, w.confErr },
		Credential: func(name string) ([]byte, error) {
			if name == "gone" {
				return nil, errors.New("no such file")
			}
			return []byte("value of " + name), nil
		},
		Output: w.output, Host: "box", HostID: "9c1f", Log: slog.New(slog.NewTextHandler(w.t.Output(), nil))})
	w.watcher = n.Watcher()
	return n
}

// turn is one round of Run, with the attempts waited for.
func (n *Notifier) turn(t *testing.T) {
	t.Helper()
	var all sync.WaitGroup
	n.poll(t.Context(), &all)
	if n.walking {
		n.sawAll(<-n.walked)
	}
	for {
		busy := 0
		n.dispatch(t.Context(), &all)
		for _, o := range n.state.Boxes {
			if o.busy {
				busy++
			}
		}
		for range busy {
			n.ended(<-n.results)
		}
		if busy == 0 {
			break
		}
	}
	n.save()
	all.Wait()
}

// told are the notices that the sender was given since the last call.
func (w *world) told() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, t := range w.tasks {
		s := fmt.Sprintf("%s:%s %s", t.Channel.Name, t.Notice.Event, t.Notice.Job)
		if t.Notice.Reminder {
			s += fmt.Sprintf(" again, %d", t.Notice.Count)
		}
		if len(t.Notice.More) > 0 {
			s += fmt.Sprintf(" and %d", len(t.Notice.More))
		}
		all = append(all, strings.TrimSpace(s))
	}
	w.tasks = nil
	return strings.Join(all, "; ")
}
