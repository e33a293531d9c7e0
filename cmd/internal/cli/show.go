package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

type showOptions struct {
	job  jobspec.Name
	spec bool
}

func newShow(a *App) *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show everything about one job",
		Args:  cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) (err error) {
			if o.job, err = jobArg(args); err != nil {
				return err
			}
			return a.show(ctx, o)
		}),
	}
	cmd.Flags().BoolVar(&o.spec, "spec", false, "print the exact signed bytes and nothing else")
	return cmd
}

func (a *App) show(ctx context.Context, o showOptions) error {
	return a.service(ctx, func(svc api.Service) error {
		d, err := svc.Job(ctx, o.job)
		if err != nil {
			return err
		}
		if d.State == string(jobspec.JobRemoved) {
			return removedJob(o.job)
		}
		switch {
		case o.spec:
			_, err := a.UI.Out.Write(d.Bytes)
			return err
		case a.flags.json:
			return a.item("show", d)
		default:
			a.printDetail(d)
			return nil
		}
	})
}

func removedJob(name jobspec.Name) error {
	e := api.New(jobspec.CodeJobUnknown, fmt.Sprintf("job %q was removed", name))
	e.Job, e.Help = name, "sbxcron history "+string(name)+" lists what it did"
	return e
}

func (a *App) printDetail(d api.JobDetail) {
	a.line("%s  revision %d  %s", string(d.Job.Job), d.Revision, stateWords(d.Job))
	for _, s := range d.Summary {
		a.line("  %s", s)
	}
	a.line("")
	a.field("signed by", fmt.Sprintf("%s with %s at %s", d.Principal, d.KeyID, d.SignedAt))
	a.field("verified", verifiedWords(d))
	a.field("op", fmt.Sprintf("%s (seq %d of host %s)", d.Op, d.Seq, d.Host))
	a.field("signed bytes", d.Hash.String())
	a.field("expires", d.ExpiresAt.String())
	a.field("policy", fmt.Sprintf("floor %s, managed %s, serial %d", d.Policy.Floor.Short(), d.Policy.Managed.Short(), d.Policy.Serial))
	a.field("state folder", d.StateDir)
	a.field("next", a.UI.Time(d.Next, a.Now()))
	a.field("last", a.lastWords(d.Last))
	for _, f := range d.Files {
		a.field(string(f.Role), fmt.Sprintf("%s (%d bytes, %s)", f.Real, f.Size, f.SHA256))
	}
}

func verifiedWords(d api.JobDetail) string {
	switch {
	case d.Verified:
		return "yes, just now"
	case d.Problem != nil:
		return "NO: " + reasonLine(*d.Problem)
	default:
		return "NO"
	}
}

// field prints a name and a value on a line; nothing for an empty value.
func (a *App) field(name, value string) {
	if value != "" {
		a.line("%-13s %s", name, value)
	}
}
