package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
)

func newTrust(a *App) *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "List the keys that may sign, for what, until when, and whose jobs they hold",
		Args:  cobra.NoArgs,
		RunE:  work(func(ctx context.Context, _ []string) error { return a.trustList(ctx) }),
	}
	return group("trust", "Who may sign", list, newTrustAdd(a), newTrustImpact(a), newTrustRevoke(a))
}

// trusted is one line of trust list.
type trusted struct {
	Principal  string         `json:"principal"`
	KeyID      string         `json:"key_id"`
	Namespaces []string       `json:"namespaces"`
	ValidFrom  *time.Time     `json:"valid_from,omitempty"`
	ValidUntil *time.Time     `json:"valid_until,omitempty"`
	Revoked    bool           `json:"revoked"`
	Jobs       []jobspec.Name `json:"jobs"` // of the principal
}

func (a *App) trustList(ctx context.Context) error {
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return err
	}
	trust, err := site.Trust()
	if err != nil {
		return err
	}
	jobs := map[jobspec.Principal][]jobspec.Name{}
	err = a.service(ctx, func(svc api.Service) error {
		all, err := svc.Jobs(ctx)
		for _, j := range all {
			jobs[j.Principal] = append(jobs[j.Principal], j.Job)
		}
		return err
	})
	if err != nil {
		a.say("note: the jobs are not shown: %s", api.Wrap(err).Message)
	}
	var rows []trusted
	for _, s := range trust.Signers() {
		rows = append(rows, trustedOf(s, jobs[jobspec.Principal(s.Principal)]))
	}
	if a.flags.json {
		return a.items("trust", rows)
	}
	return a.printTrust(rows)
}

func trustedOf(s signing.Signer, jobs []jobspec.Name) trusted {
	t := trusted{Principal: s.Principal, KeyID: s.KeyID, Namespaces: s.Namespaces, Revoked: s.Revoked, Jobs: jobs}
	if !s.ValidAfter.IsZero() {
		from := s.ValidAfter.UTC()
		t.ValidFrom = &from
	}
	if !s.ValidBefore.IsZero() {
		until := s.ValidBefore.UTC()
		t.ValidUntil = &until
	}
	return t
}

func (a *App) printTrust(rows []trusted) error {
	t := a.UI.Table("PRINCIPAL", "KEY", "VALID FROM", "VALID UNTIL", "STATE", "JOBS", "NAMESPACES")
	now := a.Now()
	for _, r := range rows {
		var jobs []string
		for _, j := range r.Jobs {
			jobs = append(jobs, string(j))
		}
		t.Row(r.Principal, r.KeyID, a.UI.Time(r.ValidFrom, now), a.UI.Time(r.ValidUntil, now), r.state(now),
			strings.Join(jobs, ","), strings.Join(r.Namespaces, ","))
	}
	_, err := t.WriteTo(a.UI.Out)
	return err
}

func (t trusted) state(now time.Time) string {
	switch {
	case t.Revoked:
		return "revoked"
	case t.ValidFrom != nil && now.Before(*t.ValidFrom):
		return "not yet valid"
	case t.ValidUntil != nil && now.After(*t.ValidUntil):
		return "expired"
	default:
		return "valid"
	}
}
