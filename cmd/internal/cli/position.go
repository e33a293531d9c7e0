package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
)

// place is where the next op about a job stands: the head of the chain, and
// what is known of the job.
type place struct {
	head api.Head
	now  time.Time // the service's effective time, never before the last op
	job  *api.Job  // nil: never heard of
	all  []api.Job // that are there, for whoever means all of them

	checkpoint string // the newest one of the ledger, which the op will carry; "" for none
}

// othersOf counts the jobs of a principal beside the named one, which is that of p.
func (p place) othersOf(who jobspec.Principal, name jobspec.Name) int64 {
	n := p.head.Jobs[who]
	if p.all == nil {
		if p.live() && p.job.Principal == who {
			n--
		}
		return n
	}
	n = 0
	for _, j := range p.all {
		if j.Principal == who && j.Job != name {
			n++
		}
	}
	return n
}

// findPlace asks the service for the head, holds it against the pin, and looks
// the job up.
func (a *App) findPlace(ctx context.Context, svc api.Service, site Site, name jobspec.Name) (place, error) {
	p, err := a.findHead(ctx, svc, site)
	if err != nil {
		return place{}, err
	}
	p.job, err = findJob(ctx, svc, name)
	return p, err
}

// findAll is findPlace for whoever means all jobs.
func (a *App) findAll(ctx context.Context, svc api.Service, site Site) (place, error) {
	p, err := a.findHead(ctx, svc, site)
	if err != nil {
		return place{}, err
	}
	all, err := svc.Jobs(ctx)
	p.all = append([]api.Job{}, all...)
	return p, err
}

// findHead is findPlace for whoever means no job.
func (a *App) findHead(ctx context.Context, svc api.Service, site Site) (place, error) {
	head, err := a.pinnedHead(ctx, svc, site)
	if err != nil {
		return place{}, err
	}
	p := place{head: head, now: head.Now}
	if p.checkpoint, err = a.remember(ctx, svc, site, head.Host); err != nil {
		return place{}, err
	}
	if p.now.IsZero() {
		p.now = a.Now()
	}
	if last := head.Created.Time(); p.now.Before(last) {
		p.now = last
	}
	return p, nil
}

// findJob asks for the line of the job, which everybody may read. A job that is not
// there may have been removed: then its revision goes on, which only show tells, and
// only to those who may see it. To anybody else it is a new name; the chain refuses it
// if it is not.
func findJob(ctx context.Context, svc api.Service, name jobspec.Name) (*api.Job, error) {
	j, err := svc.Listed(ctx, name)
	if err == nil {
		return &j, nil
	}
	if api.Wrap(err).ErrCode != jobspec.CodeJobUnknown {
		return nil, err
	}
	d, err := svc.Job(ctx, name)
	if err == nil {
		return &d.Job, nil
	}
	switch api.Wrap(err).ErrCode {
	case jobspec.CodeJobUnknown, jobspec.CodeRoleInsufficient:
		return nil, nil
	default:
		return nil, err
	}
}

// amongAll is findJob where all jobs are known already.
func amongAll(ctx context.Context, svc api.Service, all []api.Job, name jobspec.Name) (*api.Job, error) {
	for _, j := range all {
		if j.Job == name {
			return &j, nil
		}
	}
	return findJob(ctx, svc, name)
}

// headTries bounds how often a head is asked for again because another op was
// committed between asking and looking at the pin.
const headTries = 3

// pinnedHead refuses a service that offers another head than the one that was
// last committed: it would make the owner sign onto a chain that was cut back
// or swapped.
func (a *App) pinnedHead(ctx context.Context, svc api.Service, site Site) (api.Head, error) {
	var head api.Head
	for range headTries {
		var err error
		if head, err = svc.Head(ctx); err != nil {
			return api.Head{}, err
		}
		pin, err := site.Pin()
		if errors.Is(err, fs.ErrPermission) {
			a.say("note: the pin cannot be read by you, so the head was not held against it")
			return head, nil
		}
		if err != nil {
			return api.Head{}, fmt.Errorf("read pin: %w", err)
		}
		if pin.Host != head.Host {
			return api.Head{}, api.New(jobspec.CodeHostMismatch, fmt.Sprintf("the service is host %q, the pin names %q", head.Host, pin.Host))
		}
		if pin.Seq+1 == head.Seq && pin.Digest == head.Prev {
			return head, nil
		}
	}
	return api.Head{}, api.New(jobspec.CodeChainRollback,
		fmt.Sprintf("the service offers op %s as head, which is not the pinned one", head.Prev.Short()))
}

// live reports whether the job exists now.
func (p place) live() bool { return p.job != nil && p.job.State != string(jobspec.JobRemoved) }

// revision is that of the next op about the job. It never restarts.
func (p place) revision() int64 {
	if p.job == nil {
		return 1
	}
	return p.job.Revision + 1
}

// check refuses what the chain would refuse, before anybody is asked anything.
func (p place) check(action jobspec.Action, name jobspec.Name) error {
	switch {
	case action == jobspec.Add && p.live():
		e := api.New(jobspec.CodeJobExists, fmt.Sprintf("job %q exists, revision %d", name, p.job.Revision))
		e.Job, e.Help = name, "sbxcron replace "+string(name)
		return e
	case action != jobspec.Add && !p.live():
		e := api.New(jobspec.CodeJobUnknown, fmt.Sprintf("no job %q", name))
		e.Job, e.Help = name, `"sbxcron list" shows the jobs`
		return e
	default:
		return nil
	}
}

// position is what makes an op of a draft.
func (p place) position(action jobspec.Action, o owner) examine.Position {
	return examine.Position{Host: p.head.Host, Seq: p.head.Seq, Prev: p.head.Prev, Action: action,
		Revision: p.revision(), Principal: o.principal, Now: p.now}
}
