//go:build linux

package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/client"
	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/jobspec"
)

// mark is what a payload writes first, in its workspace.
const mark = "ran"

// allowed wants explain to say yes.
func (h *house) allowed(job string) {
	h.t.Helper()
	if x := h.explain(job); x.Decision != "allow" {
		h.t.Fatalf("explain %s: %s before anything changed: %+v", job, x.Decision, refusals(x))
	}
}

// explain asks what would happen now.
func (h *house) explain(job string) api.Explanation {
	h.t.Helper()
	x, err := h.service().Explain(h.t.Context(), jobspec.Name(job))
	if err != nil {
		h.t.Fatalf("explain %s: %v", job, err)
	}
	return x
}

// service speaks to the running service as its own command line does, without a
// process for each word.
func (h *house) service() *client.Client {
	h.t.Helper()
	site, err := config.Find(h.root)
	must(h.t, err)
	c, err := client.Dial(h.t.Context(), site.Socket(), site.UID)
	must(h.t, err)
	h.t.Cleanup(func() { _ = c.Close() })
	return c
}

// trigger runs a job by hand and waits for its end.
func (h *house) trigger(job string) api.Run {
	h.t.Helper()
	c := h.service()
	r, err := c.Start(h.t.Context(), jobspec.Name(job))
	if err == nil {
		r, err = c.Run(h.t.Context(), r.Run, true)
	}
	if err != nil {
		h.t.Fatalf("run %s: %v", job, err)
	}
	return r
}

// finding is a reason without its words.
type finding struct {
	Code   jobspec.Code
	Target string
}

func refusals(x api.Explanation) []finding {
	var all []finding
	for _, c := range x.Checks {
		if c.Verdict == "no" {
			all = append(all, finding{c.Code, c.Target})
		}
	}
	return all
}

func findings(reasons []api.Reason) []finding {
	var all []finding
	for _, r := range reasons {
		all = append(all, finding{r.Code, r.Target})
	}
	return all
}

// refused triggers a job by hand and wants it refused for this reason, with the
// same reasons in the record as explain gives, and with no payload.
func (h *house) refused(job string, code jobspec.Code) {
	h.t.Helper()
	x := h.explain(job)
	row := h.trigger(job)
	got := findings(row.Reasons)
	if row.Outcome != "refused" || !slices.ContainsFunc(got, func(f finding) bool { return f.Code == code }) {
		h.t.Errorf("history of %s: %s with %+v, want refused with %s", job, row.Outcome, row.Reasons, code)
	}
	if x.Decision != "refuse" || !slices.Equal(refusals(x), got) {
		h.t.Errorf("explain %s: %s with %+v, the trigger was refused with %+v", job, x.Decision, refusals(x), got)
	}
}

// ran counts the payloads that left their mark in a workspace.
func ran(t *testing.T, dir string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, mark))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(b)
}
