package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

func newCancel(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run: TERM, the job's grace, then KILL of the whole tree",
		Args:  cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			if !isRunID(args[0]) {
				return usageError("%q is not the id of a run; \"sbxcron status\" lists what runs", args[0])
			}
			return a.act(ctx, "cancel", args[0], func(svc api.Service) error { return svc.Cancel(ctx, args[0]) })
		}),
	}
}

func newHold(a *App) *cobra.Command {
	var reason, until string
	cmd := &cobra.Command{
		Use:   "hold NAME",
		Short: "Stop a job from starting until it is released, or for a time; unsigned, and recorded",
		Long: `Stop a job from starting until it is released. Its slots get a row each that says so.
What runs goes on.

With --until the hold ends by itself: slots before that time are held, those from it
on start, and the record says when it ended. A clock that is set back does not make
it longer.`,
		Args: cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			name, err := jobArg(args)
			if err != nil {
				return err
			}
			if reason == "" {
				return needFlag("--reason TEXT", "say why job %q is held", name)
			}
			end, err := comingTime("--until", until, a.Now())
			if err != nil {
				return err
			}
			return a.act(ctx, "hold", args[0], func(svc api.Service) error { return svc.Hold(ctx, name, reason, end) })
		}),
	}
	cmd.Flags().StringVar(&until, "until", "", "when the hold ends by itself: RFC 3339, or 8h, 3d from now")
	cmd.Flags().StringVar(&reason, "reason", "", "why; required, and kept in the record")
	return cmd
}

// comingTime reads a time that is yet to come: RFC 3339, or a span from now; zero for
// an empty text.
func comingTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		span, spanErr := jobspec.ParseSpan(text)
		if spanErr != nil {
			return time.Time{}, usageError("%s %q is neither a time such as 2026-12-24T18:00:00+01:00 nor a span such as 8h or 3d", flag, text)
		}
		at = now.Add(span)
	}
	if !at.After(now) {
		return time.Time{}, usageError("%s %q has passed", flag, text)
	}
	return at, nil
}

func newRelease(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "release NAME",
		Short: "Lift a hold",
		Args:  cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			name, err := jobArg(args)
			if err != nil {
				return err
			}
			return a.act(ctx, "release", args[0], func(svc api.Service) error { return svc.Release(ctx, name) })
		}),
	}
}

// acted is what an operator's command prints.
type acted struct {
	Done   string `json:"done"`
	Target string `json:"target"`
}

func (a *App) act(ctx context.Context, what, target string, do func(api.Service) error) error {
	return a.service(ctx, func(svc api.Service) error {
		if err := do(svc); err != nil {
			return err
		}
		if a.flags.json {
			return a.item(what, acted{Done: what, Target: target})
		}
		a.say("%s: %s", what, target)
		return nil
	})
}
