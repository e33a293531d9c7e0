package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxcron/sbxcron/jobspec"
)

// backendItem is one backend, as scripts read it.
type backendItem struct {
	Name         string   `json:"name"`
	Usable       bool     `json:"usable"`
	Capabilities []string `json:"capabilities"`
	Version      string   `json:"version"`
	Needs        []string `json:"needs"` // weaker choices without which it runs nothing here
	Code         string   `json:"code,omitempty"`
	Reason       string   `json:"reason"`
	Remedy       string   `json:"remedy"`
}

func newBackend(a *App) *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "Try each sandbox that jobs can be run by, and say what it can do here",
		Args:  cobra.NoArgs,
		RunE:  work(func(ctx context.Context, _ []string) error { return a.backendList(ctx) }),
	}
	check := &cobra.Command{
		Use:   "check [NAME]",
		Short: "The same, and end with 3 when the one that is named (bwrap by default) does not work",
		Args:  cobra.MaximumNArgs(1),
		RunE:  work(func(ctx context.Context, args []string) error { return a.backendCheck(ctx, args) }),
	}
	return group("backend", "The sandboxes that jobs can be run by", list, check)
}

func itemOf(s jobspec.Sandbox) backendItem {
	return backendItem{Name: s.Backend, Usable: s.Usable, Capabilities: orNone(s.Capabilities), Version: s.Version, Needs: orNone(s.Needs),
		Code: string(s.Problem), Reason: s.Detail, Remedy: s.Remedy}
}

func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func (a *App) backendList(ctx context.Context) error {
	var items []backendItem
	for _, s := range a.Ports.Backends(ctx) {
		items = append(items, itemOf(s))
	}
	return a.tellBackends(items)
}

func (a *App) tellBackends(items []backendItem) error {
	if a.flags.json {
		return a.items("backends", items)
	}
	for _, i := range items {
		a.printBackend(i)
	}
	return nil
}

func (a *App) printBackend(i backendItem) {
	word := "usable"
	switch {
	case !i.Usable:
		word = "not usable"
	case len(i.Needs) > 0:
		word = "usable where policy and spec accept " + strings.Join(i.Needs, ", ")
	}
	a.line("%s %s: %s", i.Name, orDash(i.Version), word)
	if len(i.Capabilities) > 0 {
		a.line("  has: %s", strings.Join(i.Capabilities, ", "))
	}
	if i.Reason != "" {
		a.line("  why: %s", i.Reason)
	}
	if i.Remedy != "" {
		a.line("  remedy: %s", i.Remedy)
	}
}

func (a *App) backendCheck(ctx context.Context, args []string) error {
	name := jobspec.BackendBwrap
	if len(args) > 0 {
		name = args[0]
	}
	for _, s := range a.Ports.Backends(ctx) {
		if s.Backend != name {
			continue
		}
		if err := a.tellBackends([]backendItem{itemOf(s)}); err != nil || s.Usable {
			return err
		}
		return exitStatus(jobspec.ClassProblems.Exit())
	}
	return ownError(jobspec.CodeSbxBackendMissing, jobspec.ClassUsage, "name one of "+strings.Join(jobspec.Backends(), ", "), "there is no backend %s", jobspec.Quote(name))
}
