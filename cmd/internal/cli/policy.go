package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/jobspec"
)

func newPolicy(a *App) *cobra.Command {
	show := &cobra.Command{
		Use:   "show",
		Short: "Print the policy in force, after checking it as the service does",
		Args:  cobra.NoArgs,
		RunE:  work(func(context.Context, []string) error { return a.policyShow() }),
	}
	return group("policy", "What this machine allows", show)
}

type policyDoc struct {
	Floor   jobspec.Digest `json:"floor"`   // of the rules that are compiled in
	Managed jobspec.Digest `json:"managed"` // of policy.toml
	Serial  int64          `json:"serial"`
	Text    string         `json:"text"` // of policy.toml
}

func (a *App) policyShow() error {
	site, err := a.Ports.Site(a.flags.root)
	if err != nil {
		return err
	}
	p, text, err := site.Policy()
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.item("policy", policyDoc{Floor: jobspec.FloorDigest(), Managed: p.Digest, Serial: p.Serial, Text: string(text)})
	}
	a.say("floor %s, compiled in; managed %s, serial %d", jobspec.FloorDigest(), p.Digest, p.Serial)
	sink := a.textSink()
	if _, err := sink.Write(text); err != nil {
		return err
	}
	return sink.Close()
}
