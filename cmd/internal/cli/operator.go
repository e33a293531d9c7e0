package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
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
	var reason string
	cmd := &cobra.Command{
		Use:   "hold NAME",
		Short: "Stop a job from starting until it is released; unsigned, and recorded",
		Args:  cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			name, err := jobArg(args)
			if err != nil {
				return err
			}
			if reason == "" {
				return needFlag("--reason TEXT", "say why job %q is held", name)
			}
			return a.act(ctx, "hold", args[0], func(svc api.Service) error { return svc.Hold(ctx, name, reason) })
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; required, and kept in the record")
	return cmd
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
