package engine

import (
	"fmt"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/store"
)

// Options are what an Engine is made of. All fields are needed but the last five.
type Options struct {
	Site      config.Site
	Clock     func() time.Time // wall clock
	BootID    string           // of the kernel
	Version   string
	Examiner  *examine.Examiner
	Outputs   *store.Outputs
	Disk      store.Disk
	AuditKeys store.AuditKeys // of who makes checkpoints, nil for everybody else
	Serve     bool            // take the lock for the life of the engine
	Locked    func() error    // called when that lock is held, before anything is judged

	// Boot is the time since the machine started, and Synchronised whether the kernel
	// says that the wall clock is; see time.go. Who runs for long has both.
	Boot         func() time.Duration
	Synchronised func() bool
}

// Engine works on the files of one installation. Its methods may be called by
// several goroutines.
type Engine struct {
	Options

	commit sync.Mutex // one commit at a time

	mu       sync.RWMutex
	lock     *store.Lock
	chain    *store.Chain  // nil while it cannot be proven
	chainErr error         // why not
	unsealed bool          // it is because the ledger is not the one that was signed
	writer   *store.Writer // while the lock is held
	history  *store.History
	ledger   *store.Ledger // while the lock is held
	log      *store.Log    // the tree over it, where the chain is proven
	runs     *store.Runs
	seen     time.Time    // highest time ever stated, see Now
	base     time.Time    // when the machine started, by the word of who is believed
	trusted  trustDigests // the trust files last kept
	memo     memo
	ledgered acceptLog
	live     Live
	watcher  Watcher                   // nil for none
	future   map[jobspec.Name]foreseen // nil until the jobs were first judged ahead
	doubts   map[jobspec.Name]string   // what the record says of slots that have not come
}

// Live is what only a running service knows. The zero engine has none.
type Live interface {
	IsRunning(run string) bool
	ReleasedAt(run string) time.Time // when its payload was let go; zero before
	IsHeld(job jobspec.Name) bool
	HeldFor(job jobspec.Name) jobspec.Code // the reason of that hold, "" for none
	Soonest(n int) []jobspec.Name          // the jobs that start next, the first one first
	Changed()                              // the chain has changed
}

// Attach tells the engine of the service around it.
func (e *Engine) Attach(l Live) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.live = l
}

func (e *Engine) attached() Live {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.live
}

func (e *Engine) isRunning(run string) bool {
	l := e.attached()
	return l != nil && l.IsRunning(run)
}

func (e *Engine) releasedAt(run string) time.Time {
	if l := e.attached(); l != nil {
		return l.ReleasedAt(run)
	}
	return time.Time{}
}

func (e *Engine) changed() {
	if l := e.attached(); l != nil {
		l.Changed()
	}
}

// opened is the proven chain, or why there is none.
func (e *Engine) opened() (*store.Chain, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.chain == nil || e.unsealed {
		return nil, e.chainErr
	}
	if len(e.chain.State().Pending) > 0 && e.chainErr != nil {
		return nil, e.chainErr
	}
	return e.chain, nil
}

// serial is the highest policy serial to remember in the pin.
func (e *Engine) serial() int64 {
	if p, err := e.Site.Policy(0); err == nil {
		return p.Serial
	}
	return 0
}

func (e *Engine) host() jobspec.HostID {
	h, err := store.ReadHost(e.Site.Dirs)
	if err != nil {
		return "" // equals no leaf's host
	}
	return h
}

func (e *Engine) keyID(sig []byte) string {
	s, err := signing.ParseSignature(sig)
	if err != nil {
		return ""
	}
	return s.KeyID()
}

// note appends one leaf, stamped, and indexes it. Without the ledger, as in a
// command that only reads, there is nothing to append to.
func (e *Engine) note(leaves ...*record.Leaf) error {
	_, err := e.Append(leaves...)
	return err
}

// Append makes leaves durable. It fills in host, time and boot.
func (e *Engine) Append(leaves ...*record.Leaf) (int64, error) {
	e.mu.RLock()
	ledger, runs, watcher := e.ledger, e.runs, e.watcher
	e.mu.RUnlock()
	if ledger == nil {
		return 0, fmt.Errorf("append to the ledger: %w", e.chainErr)
	}
	now := e.Now()
	var host jobspec.HostID // read once: there may be a million lines
	for _, l := range leaves {
		if l.Host == "" { // the scheduler has read it already
			if host == "" {
				host = e.host()
			}
			l.Host = host
		}
		l.Boot, l.Version = e.BootID, e.Version
		if l.Time == "" {
			l.Time = record.Stamp(now)
		}
		e.raiseUnsigned(record.ParseStamp(l.Time))
	}
	first, err := ledger.Append(leaves...)
	if err != nil {
		return 0, err
	}
	if watcher != nil {
		watcher.Appended(first, leaves)
	}
	return first, runs.Add(first, leaves...)
}
