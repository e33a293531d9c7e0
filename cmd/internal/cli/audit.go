package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

func newAudit(a *App) *cobra.Command {
	var brought anchorFlags
	verify := &cobra.Command{
		Use:   "verify [BUNDLE]",
		Short: "Check who signed, whether anything was changed, and whether anything is missing",
		Long: `Check the whole chain and the ledger. Four verdicts are given, each pass, fail or
not_checked:

  authentic   every op was signed by a key that was trusted for it then
  intact      no op, no line of the ledger and no kept output was changed
  complete    nothing is missing
  runs        the lines of the ledger are those that checkpoints vouch for

On the machine itself CONF says whom to trust. A BUNDLE (sbxcron audit export
--bundle FILE), or a folder with --root and one of the flags below, is judged by
what you bring from elsewhere, and without that authentic is not_checked. Neither
needs a service, a network or a lock.

Exit status: 0 all pass; 20 one fails; 3 one of the first three could not be checked.`,
		Args: cobra.MaximumNArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			if len(args) == 0 && brought.none() {
				return a.auditVerify(ctx)
			}
			return a.auditEvidence(strings.Join(args, ""), brought)
		}),
	}
	brought.bind(verify)
	return group("audit", "Prove what was approved and what ran", verify, newAuditExport(a), newAuditReport(a), newAuditSelftest(a), newAttest(a), newFollow(a), newAuditProve(a), newAuditCheck(a))
}

func (a *App) auditVerify(ctx context.Context) error {
	return a.service(ctx, func(svc api.Service) error {
		v, err := svc.Verify(ctx)
		if err != nil {
			return err
		}
		return a.tellAudit(v)
	})
}

func (a *App) tellAudit(v api.Audit) error {
	if !a.flags.json {
		a.printAudit(v)
	} else if err := a.item("audit_verify", v); err != nil {
		return err
	}
	return auditStatus(v)
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
		a.line("%-10s %-12s %s", row.name, spaced(row.verdict), row.means)
	}
	if v.Runs == api.NotChecked {
		a.line("%-10s %s", "", "the ledger has no checkpoints yet: its lines are read, and proven by nothing but this machine")
	}
	if v.Authentic == api.NotChecked && v.Ops > 0 {
		a.line("%-10s %s", "", "say whom you trust: --genesis with the digest that init printed, or --signers FILE")
	}
	for _, p := range v.Problems {
		a.line("problem: %s", fmt.Sprintf("%s: %s: %s", p.Code, p.Where, p.Detail))
	}
	a.line("%d ops, %d ledger lines, %d of them under a checkpoint", v.Ops, v.Leaves, v.Proven)
}
