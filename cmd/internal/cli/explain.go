package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

type explainOptions struct {
	keyFlags
	file string
	all  bool
}

func newExplain(a *App) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain NAME or RUN",
		Short: "Say what a job may do, whether it would run now, or why a run went as it did",
		Args:  cobra.MaximumNArgs(1),
		RunE: work(func(ctx context.Context, args []string) error {
			if named(len(args) == 1, o.file != "", o.all) != 1 {
				return usageError("name one of a job, a run, -f FILE and --all")
			}
			if o.all {
				return a.explainAll(ctx)
			}
			return a.explain(ctx, o, args)
		}),
	}
	cmd.Flags().StringVarP(&o.file, "file", "f", "", "a job.toml that is not signed yet")
	cmd.Flags().BoolVar(&o.all, "all", false, "every job that has a next slot, one line each; 3 if any would be refused")
	cmd.Flags().StringVar(&o.key, "key", "", "with -f: whose job it would be; "+keyUsage)
	cmd.Flags().StringVar(&o.principal, "principal", "", "with -f: whose job it would be, where no key is at hand")
	return cmd
}

func (a *App) explain(ctx context.Context, o explainOptions, args []string) error {
	return a.service(ctx, func(svc api.Service) error {
		x, err := a.explanation(ctx, svc, o, args)
		if err != nil {
			return err
		}
		if a.flags.json {
			return a.item("explain", x)
		}
		a.printExplanation(x)
		return nil
	})
}

func (a *App) explanation(ctx context.Context, svc api.Service, o explainOptions, args []string) (api.Explanation, error) {
	switch {
	case o.file != "":
		return a.explainDraft(ctx, svc, o)
	case isRunID(args[0]):
		return explainRun(ctx, svc, args[0])
	}
	name, err := jobArg(args)
	if err != nil {
		return api.Explanation{}, err
	}
	return svc.Explain(ctx, name)
}

// explainRun tells of what was, not of what would be: the verdicts and reasons
// are those of the record.
func explainRun(ctx context.Context, svc api.Service, id string) (api.Explanation, error) {
	r, err := svc.Run(ctx, id, false)
	if err != nil {
		return api.Explanation{}, err
	}
	x := api.Explanation{Job: r.Job, Run: r.Run, Decision: "refuse", Weaker: r.Weaker, Notes: r.Notes, Ended: &r}
	if started(r) {
		x.Decision = "allow"
	}
	if r.Verdicts != nil {
		x.Verdicts = *r.Verdicts
	}
	x.Checks = checksOf(r.Reasons)
	x.Now = differenceNow(ctx, svc, r)
	// What the job may open is told only when the spec of the run is still the job's.
	if d, err := svc.Job(ctx, r.Job); err == nil && (jobspec.DigestOf(d.Bytes) == r.Op || d.Op == r.Op) {
		x.Summary, x.Coverage = d.Summary, d.Coverage
		if op, err := jobspec.DecodeOp(d.Bytes); err == nil {
			x.Opens, x.May, x.MayNot = jobspec.OpensOf(op), jobspec.May(op), jobspec.MayNot(op)
		}
	}
	return x, nil
}

// isRunID tells runs from jobs: "r-" and 26 characters.
func isRunID(s string) bool { return len(s) == 28 && strings.HasPrefix(s, "r-") }

func (a *App) printExplanation(x api.Explanation) {
	switch {
	case x.Run != "":
		a.line("run %s of %s", x.Run, string(x.Job))
	case x.Job != "":
		a.line("job %s", string(x.Job))
	}
	for _, s := range x.Summary {
		a.line("  %s", s)
	}
	a.printEnd(x.Ended)
	a.line("decision: %s", x.Decision)
	v := x.Verdicts
	a.line("  identity %s, capability %s, resources %s, consent %s", v.Identity, v.Capability, v.Resources, v.Consent)
	a.printDecision(x.Decision, x.Checks)
	for _, w := range x.Weaker {
		a.line("reduces security: %s", w)
	}
	for _, n := range x.Notes {
		a.line("note: %s", n)
	}
	a.printWords("it may", x.May)
	a.printWords("it may not", x.MayNot)
	for _, what := range slices.Sorted(maps.Keys(x.Coverage)) {
		a.line("coverage: %s is %s", what, x.Coverage[what])
	}
	a.printNow(x.Now)
}

// printDecision gives the first blocker its own line above all checks, which stand
// in the order of the decision.
func (a *App) printDecision(decision string, checks []jobspec.Check) {
	for _, c := range checks {
		if c.Verdict != "yes" && decision != "allow" {
			a.line("blocked first by %s: %s", c.Step, reasonLine(reasonOf(c)))
			break
		}
	}
	for _, c := range checks {
		a.printCheck(c)
	}
}

func (a *App) printWords(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	a.line("%s", title)
	for _, l := range lines {
		a.line("  %s", l)
	}
}

// printEnd says how a run went.
func (a *App) printEnd(r *api.Run) {
	if r == nil {
		return
	}
	a.line("ended: %s, trigger %s, backend %s, probe %s", outcomeWords(*r), orDash(r.Trigger), orDash(r.Backend), orDash(r.Probe))
	if len(r.Layers) > 0 {
		a.line("measured inside before it started: %s", strings.Join(r.Layers, ", "))
	}
	if len(r.Credentials) > 0 {
		a.line("it saw the credentials %s", strings.Join(r.Credentials, ", "))
	}
	if len(r.SoftLimits) > 0 {
		a.line("soft limits, held for each process and not for the job: %s", strings.Join(r.SoftLimits, ", "))
	}
	for _, c := range r.Connections {
		a.line("reached: %s", connectionWords(c))
	}
	for _, d := range r.Denials {
		a.line("stopped: %s %s, %s, %s, first at %s%s", d.Code, d.Target, d.Certainty, times(d.Count), d.FirstAt, expectedMark(d))
		if remedy := d.Code.Remedy(); remedy != "" && !d.Expected {
			a.line("         do: %s", remedy)
		}
	}
	if len(r.Denials) > 0 {
		a.line("nobody was asked: the answer to every request for more is no")
	}
}

// connectionWords say where a connection went and who judged the address.
func connectionWords(c api.Connection) string {
	at := "at " + c.Address
	switch {
	case c.Upstream != "":
		at = "by " + c.Upstream + ", which judged the address"
	case c.Address == "":
		return fmt.Sprintf("%s, %s, %d bytes in, %d out", c.Host, times(c.Count), c.BytesIn, c.BytesOut)
	}
	return fmt.Sprintf("%s:%d %s, %s, %d bytes in, %d out, by %s", c.Host, c.Port, at, times(c.Count), c.BytesIn, c.BytesOut, c.Rule)
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (a *App) printCheck(c jobspec.Check) {
	if c.Verdict == "yes" {
		text := c.Step
		if c.Detail != "" {
			text += ": " + c.Detail
		}
		a.line("  yes  %s", text)
		return
	}
	reason := reasonOf(c)
	a.line("  NO   %s: %s", c.Step, reasonLine(reason))
	for _, l := range moreLines(reason.Detail) {
		a.line("         %s", l)
	}
	if c.Remedy != "" {
		a.line("       do: %s", c.Remedy)
	}
	if c.Allow != "" {
		a.line("       to allow it: %s", c.Allow)
	}
}

func reasonOf(c jobspec.Check) api.Reason {
	return api.Reason{Code: c.Code, Layer: c.Layer, Rule: c.Rule, Target: c.Target, Detail: c.Detail, Remedy: c.Remedy, Allow: c.Allow}
}

// checksOf are the reasons of a record in the form of checks.
func checksOf(reasons []api.Reason) []jobspec.Check {
	var all []jobspec.Check
	for _, r := range reasons {
		all = append(all, jobspec.Check{Step: "record", Verdict: "no", Code: r.Code, Layer: r.Layer, Rule: r.Rule, Target: r.Target, Detail: r.Detail, Remedy: r.Remedy, Allow: r.Allow})
	}
	return all
}

// refusalError turns the findings of a decision into one error that names all.
func refusalError(job jobspec.Name, checks []jobspec.Check) error {
	if len(checks) == 0 {
		return api.New(jobspec.CodeInternal, fmt.Sprintf("job %q is refused without a reason", job))
	}
	first := checks[0]
	e := api.New(first.Code, fmt.Sprintf("job %q is refused: %d finding(s)", job, len(checks)))
	e.Job = job
	if first.Remedy != "" {
		e.Help = first.Remedy
	}
	for _, c := range checks {
		e.Reasons = append(e.Reasons, reasonOf(c))
	}
	return e
}
