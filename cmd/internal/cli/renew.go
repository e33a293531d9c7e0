package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

type renewOptions struct {
	keyFlags
	expires time.Duration
	yes     bool
	dryRun  bool
}

func newRenew(a *App) *cobra.Command {
	var o renewOptions
	cmd := &cobra.Command{
		Use:   "renew NAME",
		Short: "Sign a job anew until a later day, the same in everything else",
		Long:  renewText,
		Args:  cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			name, err := jobArg(args)
			if err != nil {
				return err
			}
			return a.renew(ctx, o, name)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.key, "key", "", keyUsage)
	f.Var(spanFlag{&o.expires}, "expires", "how long the approval holds from now; default: as long as the one before")
	f.BoolVar(&o.yes, "yes", false, "do not ask before signing")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be signed and sign nothing")
	return cmd
}

const renewText = `Every approval ends on a day, so that no job runs for ever because nobody looked.
renew shows the job once more and signs a replace that is the same in everything but
that day. Where something that the job is bound to has changed since, it refuses:
rebind shows what, and renew then follows. An expired job can be renewed.`

// renew signs one job until a later day.
func (a *App) renew(ctx context.Context, o renewOptions, name jobspec.Name) error {
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return err
	}
	return a.service(ctx, func(svc api.Service) error {
		who, err := a.author(ctx, site, o.keyFlags, o.dryRun)
		if err != nil {
			return err
		}
		p, err := a.findPlace(ctx, svc, site, name)
		if err != nil {
			return err
		}
		if err := mayRebind("renew", p, who, name); err != nil {
			return err
		}
		made, err := a.renewed(ctx, svc, site, who, o, p)
		if err != nil {
			return err
		}
		if o.dryRun {
			if !a.flags.json {
				a.showProposal(made, who)
			}
			a.say("nothing was signed, nothing was stored")
			return nil
		}
		return a.finishOp(ctx, svc, who, made, o.yes)
	})
}

// renewed makes the op and judges it like every replace. The answers of before are
// kept where the asks are word for word the same.
func (a *App) renewed(ctx context.Context, svc api.Service, site Site, who owner, o renewOptions, p place) (proposal, error) {
	old, op, err := a.sameAgain(ctx, svc, site, who, p)
	if err != nil {
		return proposal{}, err
	}
	if changes := jobspec.Changes(old.Spec, op.Spec); len(changes) > 0 {
		c := changes[0]
		e := api.New(driftOf(c), fmt.Sprintf("what job %q is bound to changed since it was signed: %s %s, %d change(s) in all", old.Job, c.What, jobspec.Quote(c.Typed), len(changes)))
		e.Job, e.Help = old.Job, fmt.Sprintf("look at them and sign with: sbxcron rebind %s", old.Job)
		return proposal{}, e
	}
	length := o.expires
	if length == 0 {
		length = old.Spec.ExpiresAt.Time().Sub(old.Created.Time())
	}
	op.Spec.ExpiresAt = op.Created.Add(length)
	r := &rebound{Job: old.Job}
	if err := a.judgeRebound(ctx, site, who, rebindOptions{dryRun: o.dryRun}, p, old, op, r); err != nil {
		return proposal{}, err
	}
	if len(r.Refused) > 0 {
		e := api.New(r.Refused[0].Code, r.Refused[0].Detail)
		e.Job, e.Reasons, e.Help = old.Job, r.Refused, r.Refused[0].Remedy
		return proposal{}, e
	}
	return r.proposal, nil
}

// driftOf is the code that a trigger has for a change of this kind.
func driftOf(c jobspec.Change) jobspec.Code {
	code, ok := map[string]jobspec.Code{
		string(jobspec.RoleExecutable): jobspec.CodeDriftExecHash, string(jobspec.RoleInterpreter): jobspec.CodeDriftInterpreter,
		string(jobspec.RoleScript): jobspec.CodeDriftScript, "cwd": jobspec.CodeDriftCwd,
		string(jobspec.RoleBind): jobspec.CodeDriftBindSrc, "account": jobspec.CodeDriftUser,
	}[c.What]
	if !ok {
		return jobspec.CodeDriftFile
	}
	return code
}
