package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

func newAudit(a *App) *cobra.Command {
	verify := &cobra.Command{
		Use:   "verify",
		Short: "Check who signed, whether anything was changed, and whether anything is missing",
		Long: `Check the whole chain. Three verdicts are given, each pass, fail or not_checked:

  authentic   every op was signed by a key that was trusted for it then
  intact      no op and no line of the ledger was changed
  complete    nothing is missing up to the pin

runs says whether what ran is proven by checkpoints of the ledger; it is
not_checked as long as the ledger has none, which does not change the status.

Exit status: 0 all pass; 20 one fails; 3 one could not be checked.`,
		Args: cobra.NoArgs,
		RunE: work(func(ctx context.Context, _ []string) error { return a.auditVerify(ctx) }),
	}
	var dir string
	export := &cobra.Command{
		Use:   "export --ops DIR",
		Short: "Write every op with its signature, for stock ssh-keygen to verify",
		Args:  cobra.NoArgs,
		RunE: work(func(ctx context.Context, _ []string) error {
			if dir == "" {
				return usageError("--ops DIR: say where the files go")
			}
			return a.auditExport(ctx, dir)
		}),
	}
	export.Flags().StringVar(&dir, "ops", "", "folder to write to; it is made, or must be empty")
	return group("audit", "Prove what was approved and what ran", verify, export)
}

func (a *App) auditVerify(ctx context.Context) error {
	return a.service(ctx, func(svc api.Service) error {
		v, err := svc.Verify(ctx)
		if err != nil {
			return err
		}
		if a.flags.json {
			err = a.item("audit_verify", v)
		} else {
			a.printAudit(v)
		}
		if err != nil {
			return err
		}
		return auditStatus(v)
	})
}

// auditStatus is 0 only when something was checked and everything passed. An
// unknown verdict counts as not checked.
func auditStatus(v api.Audit) error {
	verdicts := []string{v.Authentic, v.Intact, v.Complete}
	for _, w := range append(verdicts, v.Runs) {
		if w == api.Fail {
			return exitStatus(jobspec.ClassAudit.Exit())
		}
	}
	for _, w := range verdicts {
		if w != api.Pass {
			return exitStatus(jobspec.ClassProblems.Exit())
		}
	}
	if v.Ops == 0 {
		return exitStatus(jobspec.ClassProblems.Exit())
	}
	return nil
}

func (a *App) printAudit(v api.Audit) {
	for _, row := range []struct{ name, verdict, means string }{
		{"authentic", v.Authentic, "who signed the ops"},
		{"intact", v.Intact, "whether bytes were changed"},
		{"complete", v.Complete, "whether ops are missing"},
		{"runs", v.Runs, "whether what ran is proven by checkpoints"},
	} {
		words := row.verdict
		if words == api.NotChecked {
			words = "not checked"
		}
		a.line("%-10s %-12s %s", row.name, words, row.means)
	}
	if v.Runs == api.NotChecked {
		a.line("%-10s %s", "", "the ledger has no checkpoints yet: its lines are read, and proven by nothing but this machine")
	}
	for _, p := range v.Problems {
		a.line("problem: %s", fmt.Sprintf("%s: %s: %s", p.Code, p.Where, p.Detail))
	}
	a.line("%d ops, %d ledger lines", v.Ops, v.Leaves)
}
