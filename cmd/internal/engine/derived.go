package engine

import (
	"fmt"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/store"
)

// Names of what the run index folds for us.
const (
	breakersFold = "breakers"
	alertsFold   = "alerts"
)

// folds are what a start needs of each job beside its rows. Holds are not among them:
// nothing but the ledger says that a job may run again.
func folds() []store.Fold {
	return []store.Fold{
		{Name: breakersFold, Version: 1, Kinds: []record.Kind{record.Finished, record.Held, record.Released}, Next: nextBreaker},
		{Name: alertsFold, Version: 1, Kinds: []record.Kind{record.Alert}, Next: nextAlert},
	}
}

func nextBreaker(state []byte, l *record.Leaf) ([]byte, error) {
	b, err := scheduler.ParseBreaker(state)
	if err != nil {
		return nil, err
	}
	b.Note(l)
	return b.Encode(), nil
}

// nextAlert keeps the last line.
func nextAlert(_ []byte, l *record.Leaf) ([]byte, error) { return l.Encode() }

// Holds are the holds that no release follows, by job: a hold outlives the
// service that took it, and the signing of another revision. They are read from the
// ledger itself: a hold that is gone from the run index is still one.
func (e *Engine) Holds() (map[jobspec.Name]*record.Leaf, error) {
	held := map[jobspec.Name]*record.Leaf{}
	err := e.history.ScanKinds(0, []record.Kind{record.Held, record.Released}, func(l store.Leaf) error {
		switch {
		case l.Kind == record.Held && l.Slot == nil && l.Outcome == "":
			held[l.Job] = l.Leaf
		case l.Kind == record.Released:
			delete(held, l.Job)
		}
		return nil
	})
	return held, err
}

// Breakers are what the ledger says of denied runs, by job.
func (e *Engine) Breakers() (map[jobspec.Name]*scheduler.Breaker, error) {
	if err := e.runs.Damage(); err != nil {
		return nil, err // what lies behind the damage is not counted
	}
	states, err := e.runs.Folded(breakersFold)
	if err != nil {
		return nil, err
	}
	all := make(map[jobspec.Name]*scheduler.Breaker, len(states))
	for job, state := range states {
		b, err := scheduler.ParseBreaker(state)
		if err != nil {
			return nil, fmt.Errorf("job %q: %w", job, err)
		}
		all[job] = b
	}
	return all, nil
}

// lastAlerts are the last alerts about jobs.
func (e *Engine) lastAlerts() (map[jobspec.Name]*record.Leaf, error) {
	states, err := e.runs.Folded(alertsFold)
	if err != nil {
		return nil, err
	}
	all := make(map[jobspec.Name]*record.Leaf, len(states))
	for job, state := range states {
		if all[job], err = record.Decode(state); err != nil {
			return nil, fmt.Errorf("job %q: %w", job, err)
		}
	}
	return all, nil
}
