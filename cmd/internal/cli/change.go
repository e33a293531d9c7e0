package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// changeOptions are those of the ops that carry no spec: remove, enable, disable.
type changeOptions struct {
	keyFlags
	job jobspec.Name
	yes bool
	out string // plan: where the bytes go; nothing is signed
}

func newRemove(a *App) *cobra.Command {
	return newChange(a, jobspec.Remove, false, "Remove a job for good; what it did stays on record")
}

func newEnable(a *App) *cobra.Command {
	return newChange(a, jobspec.Enable, false, "Put a disabled job in force again, exactly as it was signed")
}

func newDisable(a *App) *cobra.Command {
	return newChange(a, jobspec.Disable, false, "Stop a job until its owner enables it again")
}

func newChange(a *App, action jobspec.Action, plan bool, short string) *cobra.Command {
	var o changeOptions
	cmd := &cobra.Command{
		Use:   string(action) + " NAME",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) (err error) {
			if o.job, err = jobArg(args); err != nil {
				return err
			}
			if plan && o.out == "" {
				return usageError("--out FILE: say where the bytes go")
			}
			return a.change(ctx, action, o)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.key, "key", "", keyUsage)
	if plan {
		f.StringVar(&o.out, "out", "", "file to write the bytes to that are to be signed")
		f.StringVar(&o.principal, "principal", "", "who will sign, where the key is elsewhere")
	} else {
		f.BoolVar(&o.yes, "yes", false, "do not ask before signing")
	}
	return cmd
}

const keyUsage = "private key file, or .pub file or SHA256:... of a key in ssh-agent; default: the key of init"

func (a *App) change(ctx context.Context, action jobspec.Action, o changeOptions) error {
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return err
	}
	return a.service(ctx, func(svc api.Service) error {
		p, err := a.findPlace(ctx, svc, site, o.job)
		if err != nil {
			return err
		}
		if err := p.check(action, o.job); err != nil {
			return err
		}
		who, err := a.author(ctx, site, o.keyFlags, o.out != "")
		if err != nil {
			return err
		}
		pr, err := changeProposal(p, action, who, o.job)
		if err != nil {
			return err
		}
		if action == jobspec.Enable {
			if pr.target, err = targetOf(ctx, svc, pr.op); err != nil {
				return err
			}
		}
		if err := who.mayUse(pr.namespace, p.now); err != nil {
			return err
		}
		if o.out != "" {
			return a.writePlan(pr, o.out)
		}
		return a.finishOp(ctx, svc, who, pr, o.yes)
	})
}

// author opens the key, or for a plan only looks up whose it is.
func (a *App) author(ctx context.Context, site Site, k keyFlags, plan bool) (owner, error) {
	if plan {
		return a.knownOwner(site, k)
	}
	return a.openOwner(ctx, site, k)
}

// changeProposal makes an op without a spec.
func changeProposal(p place, action jobspec.Action, who owner, name jobspec.Name) (proposal, error) {
	created := jobspec.InstantOf(p.now)
	op := &jobspec.Op{Type: jobspec.OpType, Host: p.head.Host, Seq: p.head.Seq, Prev: p.head.Prev, Action: action,
		Job: name, Revision: p.revision(), Created: created, ApplyBefore: created.Add(jobspec.DefaultApplyFor),
		Principal: who.principal, Checkpoint: p.checkpoint}
	namespace := jobspec.ManageNamespace
	switch {
	case action == jobspec.Enable:
		op.Tier, op.Net, op.Target = p.job.Tier, p.job.Net, p.job.Op
		namespace = jobspec.JobNamespace(op.Tier, op.Net)
		if p.job.Principal != who.principal {
			return proposal{}, notOwner(name, p.job.Principal)
		}
	case p.job.Principal != who.principal:
		namespace = jobspec.RootNamespace
	}
	return newProposal(op, namespace)
}

// targetOf reads the op that an enable puts back in force. The service is taken
// at no word: the bytes must have the digest that is about to be signed.
func targetOf(ctx context.Context, svc api.Service, op *jobspec.Op) (*jobspec.Op, error) {
	d, err := svc.Job(ctx, op.Job)
	if err != nil {
		return nil, err
	}
	if jobspec.DigestOf(d.Bytes) != op.Target {
		return nil, api.New(jobspec.CodeOpTampered, fmt.Sprintf("the service shows other bytes than those of op %s", op.Target.Short()))
	}
	return jobspec.DecodeOp(d.Bytes)
}

func notOwner(name jobspec.Name, of jobspec.Principal) error {
	e := api.New(jobspec.CodeNotJobOwner, fmt.Sprintf("job %q belongs to %q", name, of))
	e.Job = name
	return e
}
