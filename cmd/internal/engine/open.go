package engine

import (
	"errors"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/store"
)

// Open opens an installation. A chain that cannot be proven is no error here:
// history stays readable, and everything that would need the chain says why not.
func Open(o Options) (*Engine, error) {
	e := &Engine{Options: o}
	if err := o.Site.Check(); err != nil {
		return nil, uninitialised(o.Site, err)
	}
	if o.Serve {
		lock, err := store.TryLock(o.Site.Dirs, store.LockWait)
		if err != nil {
			return nil, err
		}
		e.lock = lock
		if o.Locked != nil {
			if err := o.Locked(); err != nil {
				return nil, errors.Join(err, e.Close())
			}
		}
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
	if e.runs, err = store.OpenRuns(e.Site.Dirs, e.history, e.BootID, folds()...); err != nil {
		return err
	}
	return e.findHighest()
}

// openChain proves the chain. Only what says that there is no installation, or
// that another process has it, is an error.
func (e *Engine) openChain() error {
	var err error
	if e.lock != nil {
		if e.writer, err = store.OpenWriter(e.Site.Dirs, e.lock, e.Disk); err == nil {
			e.chain = e.writer.Chain
		}
	} else {
		e.chain, err = store.OpenChain(e.Site.Dirs)
	}
	if err == nil {
		return nil
	}
	e.chain, e.writer = nil, nil
	if errors.As(err, new(*store.UninitialisedError)) || errors.As(err, new(*store.LockedError)) || jobspec.CodeOf(err) == jobspec.CodeInitIncomplete {
		return err
	}
	e.chainErr = err
	return nil
}

func (e *Engine) openHistory() error {
	var err error
	if e.lock == nil {
		e.history, err = store.OpenHistory(e.Site.Dirs)
		return err
	}
	e.ledger, err = store.OpenLedger(e.Site.Dirs, e.lock, e.Disk)
	if err == nil {
		e.history = &e.ledger.History
		return e.openLog()
	}
	if e.chainErr == nil && errors.As(err, new(*store.LedgerError)) {
		e.chainErr = err // nothing can be recorded, so nothing may run
	}
	if e.chainErr == nil {
		return err
	}
	e.history, err = store.OpenHistory(e.Site.Dirs)
	return err
}

// findHighest looks for the highest time ever stated: the newest op, the pin,
// and the newest line of the ledger. The wall clock is taken as it is found: nothing
// is known that it could be held against.
func (e *Engine) findHighest() error {
	e.mu.Lock()
	e.vouch(e.Clock())
	e.mu.Unlock()
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
		e.raiseUnsigned(record.ParseStamp(l.Time))
		return nil
	})
	if errors.As(err, new(*store.LedgerError)) {
		return nil // told of by Problems
	}
	return err
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
	if e.log != nil {
		all = append(all, e.log.Close())
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
	e.runs, e.log, e.ledger, e.history, e.chain, e.writer, e.lock = nil, nil, nil, nil, nil, nil, nil
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
	lock, err := store.TryLock(e.Site.Dirs, store.LockWait)
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
	e.runs, err = store.OpenRuns(e.Site.Dirs, e.history, e.BootID, folds()...)
	return err
}
