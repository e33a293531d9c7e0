package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Statuses that only run --wait has (see help.go).
const (
	exitTimedOut   = 124
	exitNotStarted = 125
	exitSignal     = 128
)

type runOptions struct {
	job  jobspec.Name
	wait bool
}

func newRun(a *App) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run NAME",
		Short: "Run a job now, through the same gate and in the same sandbox",
		Long: `Run a job now. It is verified, judged and confined exactly as at its schedule; the
record says who asked. With --wait the exit status is the job's own; see
"sbxcron help exit-codes".`,
		Args: cobra.ExactArgs(1),
		RunE: work(func(ctx context.Context, args []string) (err error) {
			if o.job, err = jobArg(args); err != nil {
				return err
			}
			return a.run(ctx, o)
		}),
	}
	cmd.Flags().BoolVar(&o.wait, "wait", false, "wait for the end and exit with the job's status")
	return cmd
}

func (a *App) run(ctx context.Context, o runOptions) error {
	if !a.Platform.Runs() {
		return a.platformRefusal("run")
	}
	return a.service(ctx, func(svc api.Service) error {
		r, err := svc.Start(ctx, o.job)
		if err == nil && o.wait && r.Outcome == api.Running {
			r, err = svc.Run(ctx, r.Run, true)
		}
		if err == nil && (o.wait || r.Outcome != api.Running) {
			err = runError(r)
		}
		if err != nil {
			return waitStatus(o, r, err)
		}
		return a.printRun(r)
	})
}

// started reports whether the job was let run. A lost run was: what is not known
// is how it ended.
func started(r api.Run) bool {
	return r.StartedAt != nil || r.Outcome == api.Running || r.Outcome == string(record.OutcomeLost)
}

// waitStatus picks the exit status of --wait for a run that did not succeed.
func waitStatus(o runOptions, r api.Run, err error) error {
	if !o.wait {
		return err
	}
	if !started(r) {
		return withStatus{err, exitNotStarted}
	}
	return withStatus{err, endStatus(r)}
}

// runError says why a run did not succeed, nil when it did.
func runError(r api.Run) error {
	if r.Outcome == string(record.OutcomeSucceeded) {
		return nil
	}
	e := api.New(jobspec.CodeInternal, fmt.Sprintf("run %s of job %q: %s", r.Run, r.Job, outcomeWords(r)))
	e.ErrCode, e.Exit, e.Class, e.Help = codeRunEnded, jobspec.ClassOther.Exit(), string(jobspec.ClassOther), runHint(r)
	if code := firstCause(r); code != "" {
		e.ErrCode, e.Exit, e.Class = code, code.Class().Exit(), string(code.Class())
		if remedy := code.Remedy(); remedy != "" {
			e.Help = remedy
		}
	}
	e.Job, e.Reasons = r.Job, r.Reasons
	return e
}

// firstCause is the code that says most about a run: a reason, else the first
// denial that nobody expected.
func firstCause(r api.Run) jobspec.Code {
	if len(r.Reasons) > 0 {
		return r.Reasons[0].Code
	}
	for _, d := range r.Denials {
		if !d.Expected && r.Outcome == string(record.OutcomeDenied) {
			return d.Code
		}
	}
	return ""
}

// endedForDenials reports whether the run was ended because of what it was
// denied: its signal is ours then, and says nothing of the job.
func endedForDenials(r api.Run) bool {
	return slices.ContainsFunc(r.Reasons, func(x api.Reason) bool {
		return x.Code == jobspec.CodeDenialKilled || x.Code == jobspec.CodeDenialLoop
	})
}

func runHint(r api.Run) string {
	if !started(r) {
		return fmt.Sprintf("sbxcron explain %s", r.Job)
	}
	return fmt.Sprintf("sbxcron explain %s; sbxcron logs %s", r.Run, r.Run)
}

// endStatus is the exit status of a run that started and did not succeed. It is
// never 0.
func endStatus(r api.Run) int {
	switch {
	case r.Outcome == string(record.OutcomeTimedOut):
		return exitTimedOut
	case r.Outcome == string(record.OutcomeLost):
		return exitNotStarted
	case endedForDenials(r):
		return jobspec.ClassDenied.Exit()
	case r.Signal != "":
		return exitSignal + signalNumber(r.Signal)
	case r.ExitCode != nil && *r.ExitCode != 0:
		return int(*r.ExitCode)
	case r.Outcome == string(record.OutcomeDenied):
		return jobspec.ClassDenied.Exit()
	default:
		return jobspec.ClassOther.Exit()
	}
}

func (a *App) printRun(r api.Run) error {
	if a.flags.json {
		return a.item("run", r)
	}
	a.line("%s", r.Run)
	a.say("%s of job %s: %s", r.Run, r.Job, outcomeWords(r))
	return nil
}
