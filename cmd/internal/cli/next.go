package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
)

type nextOptions struct {
	job            jobspec.Name
	expr, timezone string
	from           string
	count          int
}

const maxNext = 1000

func newNext(a *App) *cobra.Command {
	var o nextOptions
	cmd := &cobra.Command{
		Use:   "next [NAME]",
		Short: "Show the coming times of a job, of all jobs, or of an expression",
		Args:  cobra.MaximumNArgs(1),
		RunE: work(func(ctx context.Context, args []string) (err error) {
			if len(args) == 1 {
				if o.job, err = jobArg(args); err != nil {
					return err
				}
			}
			return a.next(ctx, o)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.expr, "expr", "", "a schedule instead of a job: five fields or an @name")
	f.StringVar(&o.timezone, "timezone", "UTC", "IANA name of the zone of --expr")
	f.StringVar(&o.from, "from", "", "times after this one (RFC 3339); now when absent")
	f.IntVarP(&o.count, "count", "n", 5, "how many")
	return cmd
}

func (a *App) next(ctx context.Context, o nextOptions) error {
	from, err := pointInTime("--from", o.from, a.Now())
	switch {
	case err != nil:
		return err
	case o.count < 1 || o.count > maxNext:
		return usageError("-n %d: want 1 to %d", o.count, maxNext)
	case o.expr != "" && o.job != "":
		return usageError("give a job's name or --expr, not both")
	case o.expr != "":
		return a.nextOfExpr(o, from)
	}
	return a.service(ctx, func(svc api.Service) error {
		next, err := svc.Next(ctx, api.NextQuery{Job: o.job, From: from, Count: o.count})
		if err != nil {
			return err
		}
		return a.printNext(next)
	})
}

// nextOfExpr needs no installation: an expression is tried out before there is a job.
func (a *App) nextOfExpr(o nextOptions, from time.Time) error {
	c, err := calendar.Parse(o.expr, o.timezone)
	if err != nil {
		return err
	}
	if from.IsZero() {
		from = a.Now()
	}
	a.say("%s", c)
	if apart := c.Apart(); apart != "" {
		a.say("%s", apart)
	}
	for _, w := range c.Warnings() {
		a.say("note: %s", w)
	}
	return a.printNext(engine.NextOf("", c, from, time.Time{}, o.count))
}

func (a *App) printNext(next []api.Next) error {
	if a.flags.json {
		return a.items("next", next)
	}
	if len(next) == 0 {
		a.say("nothing is due")
		return nil
	}
	t := a.UI.Table("JOB", "AT", "UTC", "NOTES")
	for _, n := range next {
		t.Row(string(n.Job), n.At, n.UTC.UTC().Format(time.RFC3339), strings.Join(n.Notes, "; "))
	}
	_, err := t.WriteTo(a.UI.Out)
	return err
}
