package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

func newStatus(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say how the service is, what runs and what comes next; 3 when there are problems",
		Args:  cobra.NoArgs,
		RunE:  work(func(ctx context.Context, _ []string) error { return a.status(ctx) }),
	}
}

func (a *App) status(ctx context.Context) error {
	return a.service(ctx, func(svc api.Service) error {
		st, err := svc.Status(ctx)
		if err != nil {
			return err
		}
		if !st.Service {
			st = withoutService(st)
		}
		if a.flags.json {
			err = a.item("status", st)
		} else {
			a.printStatus(st)
		}
		if err == nil && (st.Health != "ok" || len(st.Problems) > 0) {
			return exitStatus(jobspec.ClassProblems.Exit())
		}
		return err
	})
}

// withoutService adds the problem that the files cannot show: nothing starts
// while no service runs, however sound they are.
func withoutService(st api.Status) api.Status {
	if st.Health == "ok" {
		st.Health = string(jobspec.CodeServiceDown)
	}
	st.Problems = append(st.Problems, api.Reason{Code: jobspec.CodeServiceDown,
		Detail: "no service is running on these files", Remedy: jobspec.CodeServiceDown.Remedy()})
	return st
}

func (a *App) printStatus(st api.Status) {
	a.field("health", st.Health)
	if st.Service {
		a.line("%-13s running, pid %d, since %s", "service", st.PID, a.UI.Time(st.Since, a.Now()))
	} else {
		a.field("service", "not running; nothing starts until it does")
	}
	a.field("folder", st.Folder)
	a.field("host", string(st.Host))
	a.line("%-13s %d", "jobs", st.Jobs)
	if st.SameUID {
		a.field("same_uid", "jobs run with the uid of the service; the sandbox alone holds them apart")
	}
	for _, p := range st.Problems {
		a.field("problem", reasonLine(p))
		if p.Remedy != "" {
			a.line("%-13s do: %s", "", p.Remedy)
		}
	}
	for _, w := range st.WouldRefuse {
		a.field("would refuse", fmt.Sprintf("%s at its next slot, %s; sbxcron explain %s says why", w.Target, w.Code, w.Target))
	}
	for _, x := range st.Expiring {
		a.field("expiring", fmt.Sprintf("%s ends %s; sbxcron renew %s signs it until a later day", x.Job, a.UI.Time(&x.ExpiresAt, a.Now()), x.Job))
	}
	for _, r := range st.Running {
		since := ""
		if r.StartedAt != nil {
			since = ", since " + a.UI.Time(r.StartedAt, a.Now())
		}
		a.field("running", r.Run+" of "+string(r.Job)+since)
	}
	for _, n := range st.Next {
		a.field("next", strings.TrimRight(n.At+"  "+string(n.Job)+"  "+strings.Join(n.Notes, "; "), " "))
	}
}
