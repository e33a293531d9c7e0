package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

type rebindOptions struct {
	keyFlags
	all     bool
	yes     bool
	dryRun  bool
	answers []string
}

func newRebind(a *App) *cobra.Command {
	var o rebindOptions
	cmd := &cobra.Command{
		Use:   "rebind NAME, or rebind --all",
		Short: "Show what changed since a job was signed, and sign it anew with the files as they are now",
		Long:  rebindText,
		Args:  cobra.MaximumNArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			if (len(args) == 1) == o.all {
				return usageError("name one job, or give --all")
			}
			var names []jobspec.Name
			if !o.all {
				name, err := jobArg(args)
				if err != nil {
					return err
				}
				names = []jobspec.Name{name}
			}
			return a.rebind(ctx, o, names)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.key, "key", "", keyUsage)
	f.BoolVar(&o.all, "all", false, "every job of yours that has drifted, on one screen and with one confirmation")
	f.BoolVar(&o.yes, "yes", false, "do not ask before signing; asks still need --answer")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what changed and sign nothing; 3 when something has")
	f.StringArrayVar(&o.answers, "answer", nil, "ASK_ID=allow: answer an ask that is new; may be repeated")
	return cmd
}

const rebindText = `A job runs only while its executable, interpreter, scripts, files, folder, binds and
account are what they were when its owner signed it. After an update of the system
or of the job, rebind shows for each what was and what is (path, package, size,
digest, owner) and signs a replace that is the same in everything else: command,
schedule, rights, limits and the day on which the approval ends.`

// rebound is one job as rebind sees it.
type rebound struct {
	Job     jobspec.Name     `json:"job"`
	Changes []jobspec.Change `json:"changes"`
	Refused []api.Reason     `json:"refused"` // why it cannot be signed like this
	*api.Accepted

	proposal proposal
}

// rebind shows first, asks once, then signs and submits op after op: each names
// the one before it.
func (a *App) rebind(ctx context.Context, o rebindOptions, names []jobspec.Name) error {
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return err
	}
	return a.service(ctx, func(svc api.Service) error {
		who, err := a.author(ctx, site, o.keyFlags, o.dryRun)
		if err != nil {
			return err
		}
		all, err := a.reboundJobs(ctx, svc, site, who, o, names)
		if err != nil {
			return err
		}
		if !a.flags.json {
			a.showRebound(all, who, o.dryRun)
		}
		if o.dryRun || !anySigned(all) {
			return a.endRebind(all, o.dryRun && len(all) > 0)
		}
		if err := a.confirmSigning(o.yes, fmt.Sprintf("Sign with %s as %s?", who.keyID, who.principal), opsOf(all)...); err != nil {
			return err
		}
		err = a.submitRebound(ctx, svc, who, all)
		if printErr := a.endRebind(all, false); err == nil {
			err = printErr
		}
		return err
	})
}

// opsOf are the ops that will be signed.
func opsOf(all []*rebound) []*jobspec.Op {
	var ops []*jobspec.Op
	for _, r := range all {
		if len(r.Refused) == 0 {
			ops = append(ops, r.proposal.op)
		}
	}
	return ops
}

func anySigned(all []*rebound) bool {
	return slices.ContainsFunc(all, func(r *rebound) bool { return len(r.Refused) == 0 })
}

// reboundJobs looks at the named jobs, or at all of the owner's, and leaves out
// those that have not drifted. The ops are made for places one after the other.
func (a *App) reboundJobs(ctx context.Context, svc api.Service, site Site, who owner, o rebindOptions, names []jobspec.Name) ([]*rebound, error) {
	find := a.findHead
	if o.all {
		find = a.findAll
	}
	p, err := find(ctx, svc, site)
	if err != nil {
		return nil, err
	}
	if o.all {
		names = ownJobs(p, who)
	}
	var all []*rebound
	for _, name := range names {
		at := p
		if at.job, err = amongAll(ctx, svc, p.all, name); err != nil {
			return nil, err
		}
		if err := mayRebind("rebind", at, who, name); err != nil {
			return nil, err
		}
		r, err := a.reboundJob(ctx, svc, site, who, o, at)
		if err != nil {
			return nil, err
		}
		if len(r.Changes) == 0 && len(r.Refused) == 0 {
			continue
		}
		all = append(all, r)
		if len(r.Refused) == 0 {
			p.head.Seq, p.head.Prev = r.proposal.op.Seq+1, r.proposal.digest()
			p.checkpoint = "" // one op of a plan says it for all
		}
	}
	return all, checkAnswers(o.answers, all)
}

// ownJobs are the owner's jobs that are in force. A disabled one is left alone: a
// replace would put it in force again.
func ownJobs(p place, who owner) []jobspec.Name {
	var names []jobspec.Name
	for _, j := range p.all {
		if j.Principal == who.principal && !slices.Contains(j.Flags, "disabled") && !slices.Contains(j.Flags, "expired") {
			names = append(names, j.Job)
		}
	}
	return names
}

func mayRebind(verb string, p place, who owner, name jobspec.Name) error {
	if err := p.check(jobspec.Replace, name); err != nil {
		return err
	}
	switch {
	case p.job.Principal != who.principal:
		return notOwner(name, p.job.Principal)
	case slices.Contains(p.job.Flags, "disabled"):
		e := api.New(jobspec.CodeJobDisabled, fmt.Sprintf("job %q is disabled, and %s would put it in force", name, verb))
		e.Job, e.Help = name, "enable it first, or use replace"
		return e
	}
	return nil
}

// reboundJob looks at one job. What keeps it from being signed is data, so that
// one broken job does not hide the others.
func (a *App) reboundJob(ctx context.Context, svc api.Service, site Site, who owner, o rebindOptions, p place) (*rebound, error) {
	old, op, err := a.sameAgain(ctx, svc, site, who, p)
	if old == nil {
		return nil, err
	}
	r := &rebound{Job: old.Job}
	if err != nil {
		r.refuse(err)
		return r, nil
	}
	for _, c := range jobspec.Changes(old.Spec, op.Spec) {
		if c.Is != nil && c.Is.Path != "" && !c.Is.SHA256.IsZero() {
			c.Package = packageOf(ctx, c.Is.Path)
		}
		r.Changes = append(r.Changes, c)
	}
	if len(r.Changes) == 0 {
		return r, nil
	}
	return r, a.judgeRebound(ctx, site, who, o, p, old, op, r)
}

// sameAgain reads what the owner signed, and makes the op that is the same with the
// machine as it is now. An error with an old op is why there is none.
func (a *App) sameAgain(ctx context.Context, svc api.Service, site Site, who owner, p place) (old, op *jobspec.Op, err error) {
	d, err := svc.Job(ctx, p.job.Job)
	if err != nil {
		return nil, nil, err
	}
	if jobspec.DigestOf(d.Bytes) != p.job.Op {
		return nil, nil, api.New(jobspec.CodeOpTampered, fmt.Sprintf("the service shows other bytes than those of op %s", p.job.Op.Short()))
	}
	if old, err = jobspec.DecodeOp(d.Bytes); err != nil {
		return nil, nil, err
	}
	op, err = site.Rebound(ctx, old, p.position(jobspec.Replace, who))
	return old, op, err
}

// judgeRebound judges the op like a replace. An ask that is word for word the one
// that the owner answered keeps its answer; every other needs one.
func (a *App) judgeRebound(ctx context.Context, site Site, who owner, o rebindOptions, p place, old, op *jobspec.Op, r *rebound) error {
	c, err := a.judged(ctx, site, p, who, op)
	if err != nil {
		return err
	}
	var answers []string
	var open []jobspec.Ask
	for _, ask := range c.decision.Asks {
		given := slices.ContainsFunc(o.answers, func(s string) bool { return strings.HasPrefix(s, ask.ID+"=") })
		if given || slices.Contains(old.Spec.Answers, ask.Answer()) {
			answers = append(answers, ask.ID+"=allow")
		} else {
			open = append(open, ask)
		}
	}
	if o.dryRun && len(open) > 0 { // nobody is asked where nothing is signed
		r.refuse(unanswered(op.Job, open))
	} else if r.proposal, err = a.settle(ctx, c, answers); err != nil {
		r.refuse(err)
	}
	return nil
}

// refuse keeps why the job cannot be signed like this.
func (r *rebound) refuse(err error) {
	e := api.Wrap(err)
	r.Refused = e.Reasons
	if len(r.Refused) == 0 {
		r.Refused = []api.Reason{{Code: e.ErrCode, Detail: e.Message, Remedy: e.Help}}
	}
}

// checkAnswers refuses an answer that no job asks for, and a word that is none.
func checkAnswers(answers []string, all []*rebound) error {
	for _, s := range answers {
		id, word, _ := strings.Cut(s, "=")
		used := slices.ContainsFunc(all, func(r *rebound) bool {
			return r.proposal.op != nil && slices.ContainsFunc(r.proposal.op.Spec.Answers, func(x jobspec.Answer) bool { return x.AskID == id })
		})
		if word != "allow" || !used {
			e := api.New(jobspec.CodeAskAnswerStale, fmt.Sprintf("--answer %q: no such ask", s))
			e.Help = "read the asks again with rebind --dry-run"
			return e
		}
	}
	return nil
}

// submitRebound signs and submits in order, and stops at the first that fails:
// the ones behind it name it.
func (a *App) submitRebound(ctx context.Context, svc api.Service, who owner, all []*rebound) error {
	for _, r := range all {
		if len(r.Refused) > 0 {
			continue
		}
		sig, err := who.signer.Sign(ctx, r.proposal.namespace, r.proposal.bytes)
		if err != nil {
			return err
		}
		done, err := svc.Submit(ctx, api.Submission{Op: r.proposal.bytes, Sig: sig})
		if err != nil {
			return submitError(err)
		}
		r.Accepted = &done
	}
	return nil
}
