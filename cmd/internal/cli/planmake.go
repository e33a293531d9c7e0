package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// folderPlan is a plan in the making. at moves on with each op: the next one
// extends it, and is judged beside the jobs that there will be then.
type folderPlan struct {
	*App
	o     folderOptions
	svc   api.Service
	site  Site
	who   owner
	at    place
	items []*planItem
}

// make looks at what is in no file first, so that a plan removes before it adds.
func (f *folderPlan) make(ctx context.Context, files []jobFile) error {
	named := map[jobspec.Name]bool{}
	for _, file := range files {
		named[file.draft.Name] = true
	}
	for _, j := range slices.Clone(f.at.all) {
		if j.Principal == f.who.principal && !named[j.Job] {
			if err := f.unnamed(j); err != nil {
				return err
			}
		}
	}
	for _, file := range files {
		if err := f.file(ctx, file); err != nil {
			return fmt.Errorf("%q: %w", file.path, err)
		}
	}
	return f.checkAnswers()
}

// unnamed is a job in force that no file names.
func (f *folderPlan) unnamed(j api.Job) error {
	item := &planItem{Job: j.Job, Action: planLeave}
	f.items = append(f.items, item)
	if !f.o.prune {
		return nil
	}
	at := f.at
	at.job = &j
	p, err := changeProposal(at, jobspec.Remove, f.who, j.Job)
	if err != nil {
		return err
	}
	if err := f.who.mayUse(p.namespace, at.now); err != nil {
		item.refuse(err)
	}
	f.plan(item, p)
	return nil
}

// file is a job that shall be in force. What keeps it from being signed is kept
// with it, so that all of it is told at once; an error means that nobody could tell.
func (f *folderPlan) file(ctx context.Context, file jobFile) error {
	at, name := f.at, file.draft.Name
	var err error
	if at.job, err = amongAll(ctx, f.svc, at.all, name); err != nil {
		return err
	}
	item := &planItem{Job: name, File: file.path, Action: string(jobspec.Add)}
	f.items = append(f.items, item)
	var old *jobspec.Op
	if at.live() {
		item.Action = string(jobspec.Replace)
		switch {
		case at.job.Principal != f.who.principal:
			item.refuse(notOwner(name, at.job.Principal))
			return nil
		case slices.Contains(at.job.Flags, "disabled"):
			item.Action = planSkip
			return nil
		}
		if old, err = opInForce(ctx, f.svc, at.job); err != nil {
			return err
		}
	}
	return f.candidate(ctx, file, at, old, item)
}

// opInForce reads the op that holds a job's spec. The service is taken at no word.
func opInForce(ctx context.Context, svc api.Service, j *api.Job) (*jobspec.Op, error) {
	d, err := svc.Job(ctx, j.Job)
	if err != nil {
		return nil, err
	}
	if jobspec.DigestOf(d.Bytes) != j.Op {
		return nil, api.New(jobspec.CodeOpTampered, fmt.Sprintf("the service shows other bytes than those of op %s", j.Op.Short()))
	}
	return jobspec.DecodeOp(d.Bytes)
}

// candidate judges what the file says and compares it with the op in force, nil for
// none.
func (f *folderPlan) candidate(ctx context.Context, file jobFile, at place, old *jobspec.Op, item *planItem) error {
	c, err := f.consider(ctx, f.site, file.draft, at, f.who, jobspec.Action(item.Action), file.base)
	if err != nil {
		item.refuse(err)
		return nil
	}
	answers, open := f.answered(c, old)
	if old != nil {
		if item.Changes, err = changedKeys(old, c.op); err != nil {
			return err
		}
		if len(open) > 0 {
			item.Changes = append(item.Changes, "answers")
		}
		if slices.Contains(at.job.Flags, "expired") {
			item.Changes = append(item.Changes, "expired")
		}
		if len(item.Changes) == 0 {
			item.Action = planKeep
			return nil
		}
		item.Words = wordDiff(old, c.op)
	} else {
		item.Words = jobspec.Summary(c.op)
	}
	if f.o.dryRun && len(c.refusals()) == 0 && len(open) > 0 { // nobody is asked where nothing is written
		item.refuse(unanswered(c.op.Job, open))
		return nil
	}
	p, err := f.settle(ctx, c, answers)
	if err != nil {
		item.refuse(err)
		return nil
	}
	f.plan(item, p)
	return nil
}

// answered are the asks with an answer: of --answer, or of the op in force where
// the question is word for word the same; and those without.
func (f *folderPlan) answered(c candidate, old *jobspec.Op) (answers []string, open []jobspec.Ask) {
	for _, ask := range c.decision.Asks {
		given := slices.ContainsFunc(f.o.answers, func(s string) bool { return strings.HasPrefix(s, ask.ID+"=") })
		if given || old != nil && slices.Contains(old.Spec.Answers, ask.Answer()) {
			answers = append(answers, ask.ID+"=allow")
		} else {
			open = append(open, ask)
		}
	}
	return answers, open
}

// plan takes the op in: the next one extends it.
func (f *folderPlan) plan(item *planItem, p proposal) {
	item.Action, item.proposal = string(p.op.Action), &p
	digest := p.digest()
	item.Revision, item.Seq, item.Op, item.Namespace = p.op.Revision, p.op.Seq, &digest, p.namespace
	f.at.head.Seq, f.at.head.Prev = p.op.Seq+1, digest
	f.at.checkpoint = "" // one op of a plan says it for all
	switch p.op.Action {
	case jobspec.Remove:
		f.at.all = slices.DeleteFunc(slices.Clone(f.at.all), func(j api.Job) bool { return j.Job == p.op.Job })
	case jobspec.Add:
		f.at.all = append(slices.Clone(f.at.all), api.Job{Job: p.op.Job, Principal: p.op.Principal})
	}
}

func (i *planItem) refuse(err error) {
	e := api.Wrap(err)
	i.refusal, i.Refused = err, e.Reasons
	if len(i.Refused) == 0 {
		i.Refused = []api.Reason{{Code: e.ErrCode, Detail: e.Message, Remedy: e.Help}}
	}
}

// checkAnswers refuses an answer that no job asks for.
func (f *folderPlan) checkAnswers() error {
	var all []*rebound
	for _, i := range f.items {
		if i.refusal != nil {
			return nil // its asks were perhaps never reached; the refusal is told instead
		}
		if i.proposal != nil && i.proposal.op.Spec != nil {
			all = append(all, &rebound{proposal: *i.proposal})
		}
	}
	return checkAnswers(f.o.answers, all)
}
