package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

type historyOptions struct {
	since, until string
	outcomes     []string
	limit        int
}

func newHistory(a *App) *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history [NAME]",
		Short: "Show what ran, what did not, and why; newest first",
		Args:  cobra.MaximumNArgs(1),
		RunE:  work(func(ctx context.Context, args []string) error { return a.history(ctx, o, args) }),
	}
	f := cmd.Flags()
	f.StringVar(&o.since, "since", "", "only from this time on: RFC 3339, or 24h, 7d before now")
	f.StringVar(&o.until, "until", "", "only before this time")
	f.StringSliceVar(&o.outcomes, "outcome", nil, "only these outcomes: succeeded, failed, timed_out, killed, denied, refused, skipped, missed, lost, held")
	f.IntVar(&o.limit, "limit", 50, "at most this many rows")
	return cmd
}

func (a *App) history(ctx context.Context, o historyOptions, args []string) error {
	q, err := o.query(args, a.Now())
	if err != nil {
		return err
	}
	return a.service(ctx, func(svc api.Service) error {
		runs, err := svc.History(ctx, q)
		if err != nil {
			return err
		}
		damage := a.tellDamage(ctx, svc)
		if len(runs) == 0 && q.Job != "" && damage == nil {
			if err := knownJob(ctx, svc, q.Job); err != nil {
				return err
			}
		}
		if a.flags.json {
			err = a.items("history", runs)
		} else {
			err = a.printRuns(runs)
		}
		if err == nil {
			err = damage
		}
		return err
	})
}

// tellDamage says that there was more than what is listed, where the ledger
// cannot be read to its end. What can be read is still shown, with status 3.
func (a *App) tellDamage(ctx context.Context, svc api.Service) error {
	st, err := svc.Status(ctx)
	if err != nil {
		return nil // the list came; who may not ask for more is told no more
	}
	for _, p := range st.Problems {
		if p.Target == api.LedgerTarget {
			a.note("not all can be read: %s", reasonLine(p))
			return exitStatus(jobspec.ClassProblems.Exit())
		}
	}
	return nil
}

// knownJob tells a job that has not run from a name with a typing error. A job
// that was removed is known by its runs only.
func knownJob(ctx context.Context, svc api.Service, name jobspec.Name) error {
	_, err := svc.Listed(ctx, name)
	if err == nil || api.Wrap(err).ErrCode != jobspec.CodeJobUnknown {
		return err
	}
	return api.New(jobspec.CodeJobUnknown, fmt.Sprintf("no job %q, and no run of one in that time", name))
}

func (o historyOptions) query(args []string, now time.Time) (q api.HistoryQuery, err error) {
	if len(args) == 1 {
		if q.Job, err = jobArg(args); err != nil {
			return q, err
		}
	}
	if o.limit < 1 {
		return q, usageError("--limit %d: want at least 1", o.limit)
	}
	q.Limit = o.limit
	if q.Since, err = pointInTime("--since", o.since, now); err != nil {
		return q, err
	}
	if q.Until, err = pointInTime("--until", o.until, now); err != nil {
		return q, err
	}
	for _, word := range o.outcomes {
		if !slices.Contains(outcomes, record.Outcome(word)) {
			return q, usageError("--outcome %q is unknown", word)
		}
		q.Outcome = append(q.Outcome, record.Outcome(word))
	}
	return q, nil
}

var outcomes = []record.Outcome{record.OutcomeSucceeded, record.OutcomeFailed, record.OutcomeTimedOut,
	record.OutcomeKilled, record.OutcomeDenied, record.OutcomeRefused, record.OutcomeSkipped,
	record.OutcomeMissed, record.OutcomeLost, record.OutcomeHeld}

func (a *App) printRuns(runs []api.Run) error {
	if len(runs) == 0 {
		a.say("no runs")
		return nil
	}
	now := a.Now()
	t := a.UI.Table("RUN", "JOB", "TRIGGER", "SCHEDULED", "STARTED", "TOOK", "OUTCOME", "WHY")
	for _, r := range runs {
		t.Row(r.Run, string(r.Job), r.Trigger, a.UI.Time(r.ScheduledFor, now), a.UI.Time(r.StartedAt, now),
			took(r), outcomeWords(r), why(r))
	}
	_, err := t.WriteTo(a.UI.Out)
	return err
}

func took(r api.Run) string {
	if r.StartedAt == nil || r.EndedAt == nil {
		return ""
	}
	return r.EndedAt.Sub(*r.StartedAt).Round(time.Millisecond).String()
}

// outcomeWords is the outcome with the job's own status where that says more.
func outcomeWords(r api.Run) string {
	switch {
	case r.SlotCount > 1:
		return fmt.Sprintf("%s x%d", r.Outcome, r.SlotCount)
	case r.Signal != "":
		return r.Outcome + " " + r.Signal
	case r.ExitCode != nil && *r.ExitCode != 0 && r.Outcome == string(record.OutcomeFailed):
		return fmt.Sprintf("%s %d", r.Outcome, *r.ExitCode)
	case r.ExitCode != nil && *r.ExitCode != 0: // "killed 9" would read as a signal
		return fmt.Sprintf("%s, exit %d", r.Outcome, *r.ExitCode)
	default:
		return r.Outcome
	}
}

// why names reasons and denials by code.
func why(r api.Run) string {
	var words []string
	for _, x := range r.Reasons {
		words = append(words, string(x.Code))
	}
	for _, d := range r.Denials {
		words = append(words, string(d.Code)+" "+d.Target+expectedMark(d))
	}
	return strings.Join(words, ", ")
}

// expectedMark tells a denial that the owner expects from one that counts.
func expectedMark(d api.Denial) string {
	if d.Expected {
		return " (expected)"
	}
	return ""
}

// pointInTime reads RFC 3339, or a span before now. The empty text is no time.
func pointInTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	span, err := jobspec.ParseSpan(text)
	if err != nil {
		return time.Time{}, usageError("%s %q: want RFC 3339, or a span such as 24h or 7d", flag, text)
	}
	return now.Add(-span), nil
}
