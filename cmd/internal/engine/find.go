package engine

import (
	"fmt"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// find returns one job that was not removed. broken says why the chain cannot be
// proven, where it cannot.
func (e *Engine) find(name jobspec.Name) (found shown, broken error, err error) {
	chain, broken := e.opened()
	if broken != nil {
		found, err = e.findUnproven(name)
		return found, broken, err
	}
	j, ok := chain.State().View.Job(name)
	if !ok || j.State == jobspec.JobRemoved {
		return shown{}, nil, noJob(name)
	}
	return showing(j, func(seq int64) (*jobspec.Op, error) {
		entry, err := chain.Entry(seq)
		if err != nil {
			return nil, err
		}
		return jobspec.DecodeOp(entry.Op)
	}), nil, nil
}

func noJob(name jobspec.Name) error {
	return api.New(jobspec.CodeJobUnknown, fmt.Sprintf("no job %q", name))
}

// findUnproven looks among all that can be read of a broken chain.
func (e *Engine) findUnproven(name jobspec.Name) (shown, error) {
	all, _, err := e.shownJobs()
	if err != nil {
		return shown{}, err
	}
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
	}
	return shown{}, noJob(name)
}

// showing adds the op that holds a job's spec. One that cannot be read shows nothing.
func showing(j jobspec.Job, read func(int64) (*jobspec.Op, error)) shown {
	op, err := read(j.SpecSeq)
	if err != nil || op.Spec == nil {
		op = &jobspec.Op{Spec: &jobspec.Spec{}}
	}
	return shown{j, op}
}
