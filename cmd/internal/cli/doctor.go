package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/doctor"
	"github.com/sbxcron/sbxcron/jobspec"
)

func newDoctor(a *App) *cobra.Command {
	var escape bool
	var runAs string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for whatever would keep jobs from running, and say what to do; 3 when something fails",
		Long: `Look for whatever would keep jobs from running, and say what to do.

With --escape some 300 attempts are made to get out of a sandbox of each tier, by
jobs of a throw-away installation as "sbxcron try" makes one. Files, sockets, pipes,
keys and processes outside show what came through, and the records which attempts
were seen. The exit status is 0 when nothing did and all were, else 3. The program
that makes the attempts, sbxcron-escape, must lie beside this one.`,
		Args: cobra.NoArgs,
		RunE: work(func(ctx context.Context, _ []string) error {
			if escape {
				return a.escapes(ctx, runAs)
			}
			return a.doctor(ctx)
		}),
	}
	cmd.Flags().BoolVar(&escape, "escape", false, "try to get out of the sandbox, in many ways, and print a table")
	cmd.Flags().StringVar(&runAs, "run-as", "nobody", "system mode: account of the attempts in tier workspace")
	return cmd
}

func (a *App) doctor(ctx context.Context) error {
	facts, err := a.Ports.Probes(ctx, a.flags.root)
	if err != nil {
		return err
	}
	checks := append(doctor.Examine(facts), a.stateChecks(ctx)...)
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

// stateChecks are what status finds in chain, ledger, trust files and policy:
// each of it keeps jobs from running. An installation that is not there, or not
// the caller's, is told by other checks.
func (a *App) stateChecks(ctx context.Context) []doctor.Check {
	const name = "state"
	var checks []doctor.Check
	err := a.service(ctx, func(svc api.Service) error {
		st, err := svc.Status(ctx)
		if err != nil {
			return err
		}
		for _, p := range st.Problems {
			checks = append(checks, doctor.Check{Name: name, Verdict: doctor.Fail, Detail: reasonLine(p), Remedy: p.Remedy})
		}
		if len(checks) == 0 {
			checks = []doctor.Check{{Name: name, Verdict: doctor.OK, Detail: "chain, ledger, trust files and policy can be used"}}
		}
		return nil
	})
	if err == nil {
		return checks
	}
	e := api.Wrap(err)
	switch e.ErrCode {
	case jobspec.CodeInitIncomplete, jobspec.CodeServiceDown, jobspec.CodeRoleInsufficient:
		return nil
	}
	return []doctor.Check{{Name: name, Verdict: doctor.Fail, Detail: e.Message, Remedy: e.Help}}
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
