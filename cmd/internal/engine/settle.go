package engine

import (
	"context"
	"fmt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
)

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
