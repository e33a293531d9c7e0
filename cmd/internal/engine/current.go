package engine

import (
	"fmt"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// Current verifies the op in force of a job from its stored bytes, with the
// trust files as they are now. An error means that the chain itself is not what
// was proven.
func (e *Engine) Current(name jobspec.Name) (Verified, error) {
	chain, err := e.opened()
	if err != nil {
		return Verified{}, err
	}
	j, ok := chain.State().View.Job(name)
	if !ok {
		return Verified{}, api.New(jobspec.CodeJobUnknown, fmt.Sprintf("no job %q", name))
	}
	if code, detail := notInForce(j); code != "" {
		v, err := rawJob(chain, j)
		v.Refused, v.Detail = code, detail
		return v, err
	}
	trust, err := e.trust()
	if err != nil {
		code, detail := jobspec.CodeOf(err), err.Error()
		v, verr := rawJob(chain, j)
		v.Refused, v.Detail = code, detail
		return v, verr
	}
	return verifyJob(&e.memo, chain, trust, j)
}

func notInForce(j jobspec.Job) (jobspec.Code, string) {
	switch j.State {
	case jobspec.JobRemoved:
		return jobspec.CodeJobTombstoned, "the job was removed"
	case jobspec.JobDisabled:
		return jobspec.CodeJobDisabled, "the job is disabled"
	}
	return "", ""
}

// rawJob reads a job's op without judging its signature.
func rawJob(chain Entries, j jobspec.Job) (Verified, error) {
	entry, err := chain.Entry(j.SpecSeq)
	if err != nil {
		return Verified{}, err
	}
	op, err := jobspec.DecodeOp(entry.Op)
	return Verified{Job: j, Op: op, Entry: entry}, err
}

// Owner is whose job that is or was; "" for a name that no op ever added.
func (e *Engine) Owner(name jobspec.Name) jobspec.Principal {
	chain, err := e.opened()
	var view *jobspec.View
	if err == nil {
		view = chain.State().View
	} else if view, _, err = e.unproven(); err != nil {
		return ""
	}
	j, _ := view.Job(name)
	return j.Principal
}

// Proven is nil while the chain is proven and jobs may run, else why not.
func (e *Engine) Proven() error {
	_, err := e.opened()
	return err
}
