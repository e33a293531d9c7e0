package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/doctor"
	"github.com/sbxcron/sbxcron/jobspec"
)

func newDoctor(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look for whatever would keep jobs from running, and say what to do; 3 when something fails",
		Args:  cobra.NoArgs,
		RunE:  work(func(ctx context.Context, _ []string) error { return a.doctor(ctx) }),
	}
}

func (a *App) doctor(ctx context.Context) error {
	facts, err := a.Ports.Probes(ctx, a.flags.root)
	if err != nil {
		return err
	}
	checks := doctor.Examine(facts)
	if a.flags.json {
		err = a.items("doctor", checks)
	} else {
		a.printChecks(checks)
	}
	if err == nil && doctor.Failed(checks) {
		return exitStatus(jobspec.ClassProblems.Exit())
	}
	return err
}

func (a *App) printChecks(checks []doctor.Check) {
	count := map[doctor.Verdict]int{}
	for _, c := range checks {
		count[c.Verdict]++
		a.line("%-4s  %s: %s", c.Verdict, c.Name, c.Detail)
		if c.Remedy != "" {
			a.line("      do: %s", c.Remedy)
		}
	}
	a.line("%d checks, %d failed, %d warnings", len(checks), count[doctor.Fail], count[doctor.Warn])
}
