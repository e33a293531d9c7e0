package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/jobspec"
)

type policyCheckOptions struct {
	replay bool
	policy string
	runs   int
}

func newPolicyCheck(a *App) *cobra.Command {
	var o policyCheckOptions
	cmd := &cobra.Command{
		Use:   "check [FILE|DIR] | check --replay [--policy DIR]",
		Short: "Look for faults in a policy, or for jobs that it would refuse",
		Long: `Look for faults in a policy: what cannot be read, rules that can never match,
rules whose own examples do not hold, rules that allow in vain because another one
denies. Without an argument the policy in force is looked at; FILE is one file and
DIR a folder laid out like the one that holds policy.toml.

With --replay all jobs in force and the last runs are judged again, under the
policy in force or under that in --policy DIR, by what the policy says alone: what
would change is printed. Nothing runs and nothing is written.

Exit status: 0 nothing was found; 3 problems or changes are listed.`,
		Args: cobra.MaximumNArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			switch {
			case o.replay && len(args) > 0:
				return usageError("--replay takes the policy to try from --policy DIR")
			case !o.replay && o.policy != "":
				return usageError("--policy goes with --replay; to check a folder, name it")
			case o.runs < 0:
				return usageError("--runs %d: not below 0", o.runs)
			case o.replay:
				return a.policyReplay(ctx, o)
			}
			return a.policyCheck(args)
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&o.replay, "replay", false, "judge stored jobs and past runs under the policy")
	f.StringVar(&o.policy, "policy", "", "with --replay: folder with the policy to try")
	f.IntVar(&o.runs, "runs", 100, "with --replay: how many of the last runs are judged")
	return cmd
}

func (a *App) policyCheck(args []string) error {
	problems, err := a.policyProblems(args)
	if err != nil {
		return err
	}
	if a.flags.json {
		err = a.items("policy_check", problems)
	} else {
		a.printProblems(problems)
	}
	if err == nil && len(problems) > 0 {
		return exitStatus(jobspec.ClassProblems.Exit())
	}
	return err
}

func (a *App) policyProblems(args []string) ([]config.PolicyProblem, error) {
	if len(args) == 1 {
		problems, err := config.CheckDraft(args[0])
		if err != nil {
			return nil, fileError(err, "name a policy file, or a folder with policy.toml")
		}
		return emptyList(problems), nil
	}
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return nil, err
	}
	return emptyList(site.CheckPolicy()), nil
}

// emptyList keeps an answer without items a list.
func emptyList[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

func (a *App) printProblems(problems []config.PolicyProblem) {
	for _, p := range problems {
		where := p.File
		if p.Line > 0 {
			where = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
		}
		a.line("%s: %s (%s)", where, p.Detail, p.Code)
		if p.Remedy != "" {
			a.line("    do: %s", p.Remedy)
		}
	}
	if len(problems) == 0 {
		a.say("no problems found")
	}
}

// judgedByPolicy reports whether a finding depends on the policy: what files,
// sandbox, clock or record say is the same under each.
func judgedByPolicy(c jobspec.Check) bool {
	switch c.Step {
	case "policy", "ceilings", "command", "asks":
		return true
	}
	return c.Code == jobspec.CodePrincipalUnknown || c.Code == jobspec.CodePrincipalDisabled
}

// policyCode is judgedByPolicy for a record, which has codes and no steps.
func policyCode(code jobspec.Code) bool {
	for _, prefix := range []string{"policy_", "principal_", "cmd_", "env_"} {
		if strings.HasPrefix(string(code), prefix) {
			return true
		}
	}
	switch code {
	case jobspec.CodeSbxPlatformDisabled, jobspec.CodeTierOverCeiling, jobspec.CodeNetOverCeiling, jobspec.CodePathOverCeiling,
		jobspec.CodeBindOverCeiling, jobspec.CodeSocketOverCeiling, jobspec.CodeCredentialOverCeiling, jobspec.CodeLimitOverCeiling,
		jobspec.CodeTTLOverCeiling, jobspec.CodeIntervalTooShort, jobspec.CodeQuotaJobs, jobspec.CodeWeakerForbidden, jobspec.CodeWindowClosed,
		jobspec.CodeRunAsForbidden, jobspec.CodeAskAtTrigger, jobspec.CodeAskAnswerStale:
		return true
	}
	return false
}
