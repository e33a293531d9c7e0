package engine

import (
	"context"
	"errors"
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

// lockWait is how long a command waits for another one's commit.
const lockWait = time.Second

// Options are what an Engine is made of. All fields are needed but Serve.
type Options struct {
	Site     config.Site
	Clock    func() time.Time // wall clock
	BootID   string           // of the kernel
	Version  string
	Examiner *examine.Examiner
	Outputs  *store.Outputs
	Disk     store.Disk
	Serve    bool // take the lock for the life of the engine
}

// Engine works on the files of one installation. Its methods may be called by
// several goroutines.
type Engine struct {
	Options
	site     config.Site
	examiner *examine.Examiner
	outputs  *store.Outputs

	commit sync.Mutex // one commit at a time

	mu       sync.RWMutex
	lock     *store.Lock
	chain    *store.Chain  // nil while it cannot be proven
	chainErr error         // why not
	writer   *store.Writer // while the lock is held
	history  *store.History
	ledger   *store.Ledger // while the lock is held
	runs     *store.Runs
	seen     time.Time    // highest time ever stated, see Now
	trusted  trustDigests // the trust files last kept
	live     Live
}

// Live is what only a running service knows. The zero engine has none.
type Live interface {
	IsRunning(run string) bool
	IsHeld(job jobspec.Name) bool
	Changed() // the chain has changed
}

// Open opens an installation. A chain that cannot be proven is no error here:
// history stays readable, and everything that would need the chain says why not.
func Open(o Options) (*Engine, error) {
	e := &Engine{Options: o, site: o.Site, examiner: o.Examiner, outputs: o.Outputs}
	if err := o.Site.Check(); err != nil {
		return nil, uninitialised(o.Site, err)
	}
	if o.Serve {
		lock, err := store.TryLock(o.Site.Dirs, lockWait)
		if err != nil {
			return nil, err
		}
		e.lock = lock
	}
	if err := e.open(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	if err := e.Settle(); err != nil && e.chainErr == nil {
		e.chainErr = err
	}
	return e, nil
}

// uninitialised prefers "there is nothing" to "a folder is missing".
func uninitialised(site config.Site, err error) error {
	if _, chainErr := store.Load(site.Dirs); errors.As(chainErr, new(*store.UninitialisedError)) {
		return chainErr
	}
	return err
}

func (e *Engine) open() error {
	if err := e.openChain(); err != nil {
		return err
	}
	if err := e.openHistory(); err != nil {
		return err
	}
	var err error
	if e.runs, err = store.OpenRuns(e.site.Dirs, e.history, e.BootID); err != nil {
		return err
	}
	return e.findHighest()
}

// openChain proves the chain. Only what says that there is no installation, or
// that another process has it, is an error.
func (e *Engine) openChain() error {
	var err error
	if e.lock != nil {
		if e.writer, err = store.OpenWriter(e.site.Dirs, e.lock, e.Disk); err == nil {
			e.chain = e.writer.Chain
		}
	} else {
		e.chain, err = store.OpenChain(e.site.Dirs)
	}
	if err == nil {
		return nil
	}
	e.chain, e.writer = nil, nil
	if errors.As(err, new(*store.UninitialisedError)) || errors.As(err, new(*store.LockedError)) || codeOf(err) == jobspec.CodeInitIncomplete {
		return err
	}
	e.chainErr = err
	return nil
}

func (e *Engine) openHistory() error {
	var err error
	if e.lock == nil {
		e.history, err = store.OpenHistory(e.site.Dirs)
		return err
	}
	e.ledger, err = store.OpenLedger(e.site.Dirs, e.lock, e.Disk)
	if err == nil {
		e.history = &e.ledger.History
		return nil
	}
	if e.chainErr == nil && errors.As(err, new(*store.LedgerError)) {
		e.chainErr = err // nothing can be recorded, so nothing may run
	}
	if e.chainErr == nil {
		return err
	}
	e.history, err = store.OpenHistory(e.site.Dirs)
	return err
}

// findHighest looks for the highest time ever stated: the newest op, the pin,
// and the newest line of the ledger.
func (e *Engine) findHighest() error {
	if e.chain != nil {
		state := e.chain.State()
		e.raise(state.View.HeadCreated.Time())
		e.raise(state.Pin.Time.Time())
	}
	n := e.history.Len()
	if n == 0 {
		return nil
	}
	err := e.history.Scan(n-1, func(l store.Leaf) error {
		e.raise(record.ParseStamp(l.Time))
		return nil
	})
	if errors.As(err, new(*store.LedgerError)) {
		return nil // told of by Problems
	}
	return err
}

func (e *Engine) raise(t time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t.After(e.seen) {
		e.seen = t
	}
}

// Now is the effective time: the wall clock, which never goes back behind what
// was stated before. So a clock set back un-expires nothing.
func (e *Engine) Now() time.Time {
	now := e.Clock()
	e.mu.RLock()
	defer e.mu.RUnlock()
	if now.Before(e.seen) {
		return e.seen
	}
	return now
}

// ClockHold reports whether the wall clock lies so far behind the highest time
// seen that nothing may be started by it.
func (e *Engine) ClockHold() bool {
	now := e.Clock()
	e.mu.RLock()
	defer e.mu.RUnlock()
	return now.Add(maxAhead).Before(e.seen)
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

func (e *Engine) changed() {
	if l := e.attached(); l != nil {
		l.Changed()
	}
}

// opened is the proven chain, or why there is none.
func (e *Engine) opened() (*store.Chain, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.chain == nil {
		return nil, e.chainErr
	}
	if len(e.chain.State().Pending) > 0 && e.chainErr != nil {
		return nil, e.chainErr
	}
	return e.chain, nil
}

// Close gives everything back.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closeAll()
}

func (e *Engine) closeAll() error {
	var all []error
	if e.runs != nil {
		all = append(all, e.runs.Close())
	}
	if e.ledger != nil {
		all = append(all, e.ledger.Close())
	}
	if e.chain != nil {
		all = append(all, e.chain.Close())
	}
	if e.lock != nil {
		all = append(all, e.lock.Close())
	}
	e.runs, e.ledger, e.history, e.chain, e.writer, e.lock = nil, nil, nil, nil, nil, nil
	return errors.Join(all...)
}

// writing gives the chain for a commit. A command takes the lock for that time
// only; whatever it finds beyond the pin is judged first.
func (e *Engine) writing() (*store.Writer, func(), error) {
	if e.lock == nil {
		if err := e.takeOver(); err != nil {
			return nil, nil, err
		}
		if err := e.Settle(); err != nil {
			e.giveBack()
			return nil, nil, err
		}
		return e.writer, e.giveBack, nil
	}
	if _, err := e.opened(); err != nil {
		return nil, nil, err
	}
	return e.writer, func() {}, nil
}

// takeOver takes the lock. It gives its files back before it waits: who holds the
// lock waits for them in turn.
func (e *Engine) takeOver() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.closeAll(); err != nil {
		return err
	}
	lock, err := store.TryLock(e.site.Dirs, lockWait)
	if err != nil {
		e.chainErr = e.openUnlocked()
		return err
	}
	e.lock, e.chainErr = lock, nil
	if err := e.openUnlocked(); err != nil {
		return err
	}
	return e.chainErr
}

func (e *Engine) giveBack() {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.closeAll() // what was committed is durable already
	e.chainErr = e.openUnlocked()
}

// openUnlocked is open for a caller that holds mu.
func (e *Engine) openUnlocked() error {
	if err := errors.Join(e.openChain(), e.openHistory()); err != nil {
		return err
	}
	var err error
	e.runs, err = store.OpenRuns(e.site.Dirs, e.history, e.BootID)
	return err
}

// Settle judges the ops that lie beyond the pin, as a crash between two writes
// leaves one: each is judged like a fresh one, then the pin moves. The first one
// that does not pass stops everything. Without the lock the pin stays where it
// is, and the first one is judged so that a command that only reads says so.
func (e *Engine) Settle() error {
	if e.writer == nil && e.chain != nil {
		if state := e.chain.State(); len(state.Pending) > 0 {
			return e.judgePending(state.View, state.Pending[0])
		}
	}
	for e.writer != nil && len(e.writer.State().Pending) > 0 {
		state := e.writer.State()
		entry := state.Pending[0]
		if err := e.judgePending(state.View, entry); err != nil {
			return err
		}
		if _, err := e.writer.AdvancePin(e.Now(), e.serial()); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) judgePending(view *jobspec.View, entry store.Entry) error {
	_, err := e.judge(context.Background(), view, entry, e.Now())
	if err == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.chainErr = &PendingError{Seq: entry.Seq, Cause: err}
	return e.chainErr
}

// PendingError says that an op beyond the pin may not be put in force.
type PendingError struct {
	Seq   int64
	Cause error
}

func (p *PendingError) Error() string {
	return fmt.Sprintf("op %d lies beyond the pin and may not be put in force: %v", p.Seq, p.Cause)
}

// Code is the stable reason: whatever is wrong with the op, the chain is not
// the one that was pinned.
func (p *PendingError) Code() string { return string(jobspec.CodeChainBroken) }

// Hint says how to go on.
func (p *PendingError) Hint() string {
	return "nobody was told that this op is in force; put the chain.db of the last good backup back"
}

func (p *PendingError) Unwrap() error { return p.Cause }

// serial is the highest policy serial to remember in the pin.
func (e *Engine) serial() int64 {
	if p, err := e.site.Policy(0); err == nil {
		return p.Serial
	}
	return 0
}

func (e *Engine) host() jobspec.HostID {
	h, err := store.ReadHost(e.site.Dirs)
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
	ledger, runs := e.ledger, e.runs
	e.mu.RUnlock()
	if ledger == nil {
		return 0, fmt.Errorf("append to the ledger: %w", e.chainErr)
	}
	now := e.Now()
	for _, l := range leaves {
		l.Host, l.Boot, l.Version = e.host(), e.BootID, e.Version
		if l.Time == "" {
			l.Time = record.Stamp(now)
		}
		e.raise(record.ParseStamp(l.Time))
	}
	first, err := ledger.Append(leaves...)
	if err != nil {
		return 0, err
	}
	return first, runs.Add(first, leaves...)
}
