package cli

import (
	"cmp"
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
	from, until    string
	count          int
	month          string
}

const (
	maxNext     = 1000
	defaultNext = 5
	thisMonth   = "now" // --month without a value
)

func newNext(a *App) *cobra.Command {
	var o nextOptions
	cmd := &cobra.Command{
		Use:   "next [NAME]",
		Short: "Show the coming times of a job, of all jobs, or of an expression",
		Long:  nextText,
		Args:  cobra.MaximumNArgs(1),
	}
	f := cmd.Flags()
	cmd.RunE = work(func(ctx context.Context, args []string) (err error) {
		if len(args) == 1 {
			if o.job, err = jobArg(args); err != nil {
				return err
			}
		}
		if f.Changed("count") && o.count < 1 {
			return usageError("-n %d: want 1 to %d", o.count, maxNext)
		}
		return a.next(ctx, o)
	})
	f.StringVar(&o.expr, "expr", "", "a schedule instead of a job: five fields or an @name")
	f.StringVar(&o.timezone, "timezone", "", "IANA name of the zone of --expr, UTC when absent, or in which --month counts days")
	f.StringVar(&o.from, "from", "", "times after this one (RFC 3339); now when absent")
	f.StringVar(&o.until, "until", "", "times before this one (RFC 3339), or of this span from --from on, as in 7d")
	f.IntVarP(&o.count, "count", "n", 0, "how many; 5 when absent, with --until 1000")
	f.StringVar(&o.month, "month", "", "a month as a calendar, --month=2027-03; this one without a value")
	f.Lookup("month").NoOptDefVal = thisMonth
	return cmd
}

const nextText = `List when jobs come due, in order; of all jobs together without a NAME. Notes say what
is unusual about a time: which rule of daylight saving made it, a hold, the end of the
approval. With --month a calendar shows how often something comes due on each day that
is still to come, and the times where they can be read.`

func (a *App) next(ctx context.Context, o nextOptions) error {
	from, err := pointInTime("--from", o.from, a.Now())
	if err != nil {
		return err
	}
	until, err := a.nextUntil(o.until, from)
	switch {
	case err != nil:
		return err
	case o.count > maxNext:
		return usageError("-n %d: want 1 to %d", o.count, maxNext)
	case o.expr != "" && o.job != "":
		return usageError("give a job's name or --expr, not both")
	case o.month != "" && (o.until != "" || o.count != 0):
		return usageError("--month shows the whole month: leave out --until and -n")
	case o.timezone != "" && o.expr == "" && o.month == "":
		return usageError("--timezone is that of --expr or of --month: a job's times are shown in its own zone")
	case o.month != "":
		return a.nextMonth(ctx, o, from)
	}
	if o.count == 0 {
		if o.count = defaultNext; !until.IsZero() {
			o.count = maxNext
		}
	}
	if o.expr != "" {
		return a.nextOfExpr(o, from, until)
	}
	return a.service(ctx, func(svc api.Service) error {
		next, err := svc.Next(ctx, api.NextQuery{Job: o.job, From: from, Until: until, Count: o.count})
		if err != nil {
			return err
		}
		return a.printNext(next, o, until)
	})
}

// nextUntil reads --until: a span lies ahead here, while --since means one back.
func (a *App) nextUntil(text string, from time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if from.IsZero() {
		from = a.Now()
	}
	until, err := time.Parse(time.RFC3339, text)
	if err != nil {
		span, spanErr := jobspec.ParseSpan(text)
		if spanErr != nil {
			return time.Time{}, usageError("--until %q: want RFC 3339, or a span such as 24h or 7d", text)
		}
		until = from.Add(span)
	}
	if !until.After(from) {
		return time.Time{}, usageError("--until %q does not lie behind %s", text, from.UTC().Format(time.RFC3339))
	}
	return until, nil
}

// exprCalendar reads --expr and says in words what it means.
func (a *App) exprCalendar(o nextOptions) (*calendar.Calendar, error) {
	c, err := calendar.Parse(o.expr, cmp.Or(o.timezone, "UTC"))
	if err != nil {
		return nil, err
	}
	a.say("%s", c)
	if apart := c.Apart(); apart != "" {
		a.say("%s", apart)
	}
	for _, w := range c.Warnings() {
		a.say("note: %s", w)
	}
	return c, nil
}

// nextOfExpr needs no installation: an expression is tried out before there is a job.
func (a *App) nextOfExpr(o nextOptions, from, until time.Time) error {
	c, err := a.exprCalendar(o)
	if err != nil {
		return err
	}
	if from.IsZero() {
		from = a.Now()
	}
	return a.printNext(engine.NextOf("", c, from, until, o.count), o, until)
}

func (a *App) printNext(next []api.Next, o nextOptions, until time.Time) error {
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
	if _, err := t.WriteTo(a.UI.Out); err != nil {
		return err
	}
	if !until.IsZero() && len(next) == o.count {
		a.say("there may be more before %s: only the first %d are shown", until.UTC().Format(time.RFC3339), o.count)
	}
	return nil
}
