package escape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Table is the list of attempts in Markdown, for docs/sandbox.md: first those
// that one layer stops, then all.
func Table() string {
	var b strings.Builder
	all := Attempts()
	fmt.Fprintf(&b, "%d attempts: %d in tier scratch, %d in read-only, %d in workspace, %d in workspace behind the proxy, on amd64 as root.\n", len(all),
		count(jobspec.Scratch, jobspec.NetNone), count(jobspec.ReadOnly, jobspec.NetNone), count(jobspec.Workspace, jobspec.NetNone), count(jobspec.Workspace, jobspec.NetProxy))
	b.WriteString("\n### Stopped by one layer\n\n| layer | attempts |\n|---|---|\n")
	for _, l := range Removable() {
		var ids []string
		for _, a := range all {
			if slices.Equal(a.Layers, []Layer{l}) {
				ids = append(ids, a.ID)
			}
		}
		if len(ids) > 0 {
			fmt.Fprintf(&b, "| %s | %s |\n", l, strings.Join(ids, " "))
		}
	}
	b.WriteString("\n### All attempts\n\n| id | attempt | layers that stop it | answers | event |\n|---|---|---|---|---|\n")
	for _, a := range all {
		event := ""
		if a.Code != "" {
			event = fmt.Sprintf("`%s` %s", a.Code, a.Target)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", a.ID, a.What, words(a.Layers), strings.Join(a.Want, " "), event)
	}
	return b.String()
}

func count(t jobspec.Tier, n jobspec.Net) int {
	return len(Select(Where{Tier: t, Net: n, Arch: "amd64", System: true}))
}

func words(layers []Layer) string {
	var list []string
	for _, l := range layers {
		list = append(list, string(l))
	}
	return strings.Join(list, ", ")
}
