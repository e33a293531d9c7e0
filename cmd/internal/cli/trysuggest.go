package cli

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
)

// findings is what a suggestion is made from.
type findings struct {
	checks []jobspec.Check // refusals, where nothing ran
	asks   []jobspec.Ask
	run    *api.Run // what was recorded, where it ran
	stderr []byte
}

// suggest prints the suggestion where standard output is its own.
func (t *attempt) suggest(ctx context.Context, a *App, e findings) {
	if !a.flags.json {
		for l := range strings.SplitSeq(strings.TrimSuffix(t.suggestion(ctx, e), "\n"), "\n") {
			a.line("%s", l)
		}
	}
}

// suggestion is the smallest job.toml that the draft would have needed, as far as
// it can be told. It is judged once more by the same policy, and what it would
// still be refused for stands in it.
func (t *attempt) suggestion(ctx context.Context, e findings) string {
	n := newNeeds(t.draft, t.base)
	n.fromChecks(e.checks)
	if e.run != nil {
		n.fromRecord(*e.run)
		if e.run.Outcome != "succeeded" {
			n.fromWords(string(e.stderr))
		}
	}
	var b strings.Builder
	fmt.Fprintln(&b, "# What this draft would have needed. Read it before you sign it: it is made from one try.")
	if n.draft.Cron == "" && n.draft.Every == 0 && n.draft.At.IsZero() {
		fmt.Fprintln(&b, "# add needs a schedule too, such as: schedule = \"30 2 * * *\"")
	}
	for _, w := range n.why {
		fmt.Fprintf(&b, "# %s\n", w)
	}
	for _, line := range t.judged(ctx, n.draft) {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	b.Write(jobtoml.WriteJob(n.draft))
	return b.String()
}

// judged says what is still asked about a draft and what it is refused for.
func (t *attempt) judged(ctx context.Context, d *jobspec.Draft) []string {
	var lines []string
	err := t.app.service(context.WithoutCancel(ctx), func(svc api.Service) error {
		c, err := t.consider(context.WithoutCancel(ctx), svc, d, jobspec.Add)
		if err != nil {
			return err
		}
		for _, ask := range c.decision.Asks {
			lines = append(lines, "asked at add, --answer "+ask.ID+"=allow: "+ask.Lines()[0])
		}
		for _, no := range c.refusals() {
			switch no.Code {
			case jobspec.CodeNetOverCeiling, jobspec.CodeSocketOverCeiling, jobspec.CodeCredentialOverCeiling:
				continue // the policy of a try knows the draft as it was typed only
			}
			lines = append(lines, strings.TrimSuffix("still refused: "+reasonLine(reasonOf(no))+"; to allow it: "+no.Allow, "; to allow it: "))
		}
		return nil
	})
	if err != nil {
		lines = append(lines, "it cannot be judged: "+strings.Split(err.Error(), "\n")[0])
	}
	for i, l := range lines { // nothing foreign begins a line of its own
		lines[i] = strings.Trim(jobspec.Quote(l), `"`)
	}
	return lines
}

// needs is a draft that grows by what was missing, with the reason of each step.
type needs struct {
	draft *jobspec.Draft
	cwd   string // "" in tier scratch
	why   []string
}

func newNeeds(d *jobspec.Draft, base string) *needs {
	grown := *d
	grown.Env = maps.Clone(d.Env)
	n := &needs{draft: &grown}
	if d.Cwd != "" {
		n.cwd = d.Cwd
		if !filepath.IsAbs(n.cwd) {
			n.cwd = filepath.Join(base, n.cwd)
		}
		grown.Cwd = n.cwd // the file may be kept elsewhere
	}
	return n
}

// because keeps a reason once. Foreign text in it is quoted by the caller.
func (n *needs) because(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); !slices.Contains(n.why, w) {
		n.why = append(n.why, w)
	}
}

// add puts an entry into a list once.
func add(list *[]string, item string) bool {
	if slices.Contains(*list, item) {
		return false
	}
	*list = append(slices.Clone(*list), item)
	return true
}

// write opens a path for writing: the tier for one below the cwd, fs.write for
// another, which needs the tier too.
func (n *needs) write(path, how string) {
	if path = n.absolute(path); path == "" {
		return
	}
	if n.cwd == "" {
		n.because("%s: it writes %s; tier workspace and a cwd would let it", how, jobspec.Quote(path))
		return
	}
	n.draft.Tier = jobspec.Workspace
	inside := path == n.cwd || strings.HasPrefix(path, n.cwd+"/")
	if !inside {
		add(&n.draft.Write, path)
	}
	n.because("%s: it writes %s", how, jobspec.Quote(path))
}

func (n *needs) read(path, how string) {
	if path = n.absolute(path); path != "" && add(&n.draft.Read, path) {
		n.because("%s: it reads %s", how, jobspec.Quote(path))
	}
}

func (n *needs) host(endpoint, how string) {
	n.draft.Net = jobspec.NetProxy
	add(&n.draft.NetAllow, endpoint)
	n.because("%s: it reaches %s", how, jobspec.Quote(endpoint))
}

// absolute is a path as a spec has it, "" where it cannot be told.
func (n *needs) absolute(path string) string {
	switch {
	case path == "":
		return ""
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case n.cwd == "":
		return ""
	}
	return filepath.Join(n.cwd, path)
}

// raise doubles a limit as far as the floor lets it.
func (n *needs) raise(name, how string) {
	had, top := n.draft.Limits.Of(name), jobspec.FloorLimits().Of(name)
	if had == 0 {
		had = jobspec.DefaultLimits().Of(name)
	}
	if had == 0 || had >= top {
		n.because("%s: the limit %s was met, and it cannot be raised from here", how, name)
		return
	}
	n.draft.Limits.Set(name, min(2*had, top))
	n.because("%s: the limit %s was met; twice as much is a guess", how, name)
}
