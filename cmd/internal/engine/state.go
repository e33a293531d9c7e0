package engine

import (
	"context"
	"errors"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner/statedir"
)

// stateName is the name of a job's state folder, "" where the chain names none.
func (e *Engine) stateName(name jobspec.Name) string {
	chain, err := e.opened()
	if err != nil {
		return ""
	}
	j, ok := chain.State().View.Job(name)
	if !ok || j.State == jobspec.JobRemoved {
		return ""
	}
	return j.StateName()
}

// SweepState removes the state folders of jobs that are no more. Each removal is
// a line of the ledger first, so that nothing goes without a trace; a removal
// that was cut short is taken up again, with another line. A folder whose job
// still runs waits.
func (e *Engine) SweepState(ctx context.Context) (gone []string, err error) {
	root := e.Site.JobsState()
	names, err := statedir.Names(root)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	keep, err := e.keptState()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if keep[name] || ctx.Err() != nil {
			continue
		}
		leaf := &record.Leaf{Kind: record.Pruned, Job: jobOfState(name), Count: 1,
			Reasons: []record.Reason{{Code: jobspec.CodeJobTombstoned, Target: name, Detail: "the state folder of a removed job"}}}
		if err := e.note(leaf); err != nil {
			return gone, err
		}
		if e := statedir.Remove(root, name); e != nil {
			err = errors.Join(err, e)
			continue
		}
		gone = append(gone, name)
	}
	return gone, errors.Join(err, ctx.Err())
}

// keptState names the folders that stay: those of the jobs that are there, and
// those of removed jobs that still run.
func (e *Engine) keptState() (map[string]bool, error) {
	chain, err := e.opened()
	if err != nil {
		return nil, err
	}
	rows, err := e.runs.Open()
	if err != nil {
		return nil, err
	}
	running := map[jobspec.Name]bool{}
	for _, r := range rows {
		if first := r.First(); e.isRunning(first.Run) {
			running[first.Job] = true
		}
	}
	keep := map[string]bool{}
	for _, j := range chain.State().View.Jobs() {
		if j.State != jobspec.JobRemoved || running[j.Name] {
			keep[j.StateName()] = true
		}
	}
	return keep, nil
}

// jobOfState is the job that a folder belonged to: its name without the digest.
func jobOfState(folder string) jobspec.Name {
	const digest = 13 // "-" and what Digest.Short gives
	if len(folder) <= digest {
		return ""
	}
	name, err := jobspec.ParseName(folder[:len(folder)-digest])
	if err != nil {
		return ""
	}
	return name
}
