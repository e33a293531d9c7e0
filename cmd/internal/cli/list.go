package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
)

func newList(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the jobs, when they run next and how they ended last",
		Args:  cobra.NoArgs,
		RunE:  work(func(ctx context.Context, _ []string) error { return a.list(ctx) }),
	}
}

func (a *App) list(ctx context.Context) error {
	return a.service(ctx, func(svc api.Service) error {
		jobs, err := svc.Jobs(ctx)
		if err != nil {
			return err
		}
		if a.flags.json {
			return a.items("list", jobs)
		}
		return a.printJobs(jobs)
	})
}

func (a *App) printJobs(jobs []api.Job) error {
	if len(jobs) == 0 {
		a.say(`no jobs; "sbxcron add" makes one`)
		return nil
	}
	now := a.Now()
	t := a.UI.Table("JOB", "TIER", "NET", "SCHEDULE", "TIMEZONE", "NEXT", "LAST", "STATE")
	for _, j := range jobs {
		t.Row(string(j.Job), j.Tier.String(), j.Net.String(), j.Schedule, j.Timezone,
			a.UI.Time(j.Next, now), a.lastWords(j.Last), stateWords(j))
	}
	_, err := t.WriteTo(a.UI.Out)
	return err
}

// lastWords is "failed 2h ago" or "failed 2026-...".
func (a *App) lastWords(l *api.Last) string {
	if l == nil {
		return ""
	}
	if l.StartedAt == nil {
		return l.Outcome
	}
	return l.Outcome + " " + a.UI.Time(l.StartedAt, a.Now())
}

// stateWords gives the state and whatever else applies.
func stateWords(j api.Job) string {
	var more []string
	for _, f := range j.Flags {
		if f == "would_refuse" && j.WouldRefuse != "" {
			f += ": " + string(j.WouldRefuse)
		}
		if f != j.State {
			more = append(more, f)
		}
	}
	if len(more) == 0 {
		return j.State
	}
	return fmt.Sprintf("%s (%s)", j.State, strings.Join(more, ", "))
}
