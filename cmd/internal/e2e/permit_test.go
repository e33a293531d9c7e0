//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// What the tests of controls share: a policy that is changed under a running
// service, and what add says of a draft.

// control is one behaviour of the whole program, shown in a house that others
// use before and after it.
type control struct {
	name string
	show func(h *house)
}

// showAll runs controls one after the other, each from the usual policy.
func showAll(t *testing.T, h *house, all []control) {
	t.Helper()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			again := h.under(t)
			again.permit(nil)
			c.show(again)
		})
	}
	h.permit(nil)
}

// permit writes the usual policy, changed.
func (h *house) permit(change func(top, alice map[string]any)) {
	h.t.Helper()
	alice := map[string]any{"max_tier": "workspace", "max_jobs": 500}
	if os.Getuid() == 0 {
		alice["run_as"] = []any{jobUser}
	}
	top := map[string]any{"serial": 1, "enabled_platforms": []any{"linux"}, "principals": map[string]any{"alice": alice}}
	if change != nil {
		change(top, alice)
	}
	h.policyFile(top)
}

// rules makes the rules of a policy from lists of effect, id and program.
func rules(all ...[3]string) []any {
	var list []any
	for _, r := range all {
		list = append(list, map[string]any{"effect": r[0], "id": r[1], "name": r[2], "why": "a test says so"})
	}
	return list
}

// jobFile writes a job.toml beside the house and returns its name.
func (h *house) jobFile(text string) string {
	h.t.Helper()
	file := filepath.Join(h.t.TempDir(), "job.toml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
	return file
}

// refusesToAdd wants add to refuse with the code, and nothing to be stored.
func (h *house) refusesToAdd(code jobspec.Code, args ...string) api.Error {
	h.t.Helper()
	before := h.head()
	r := h.run(append([]string{"add", "--json"}, args...)...)
	if r.code == 0 {
		h.t.Errorf("add %q: exit 0, want %s", args, code)
		return api.Error{}
	}
	var e api.Error
	h.decode(r.err, &e)
	if e.ErrCode != code || e.Exit != r.code {
		h.t.Errorf("add %q: %s (%s), want %s", args, e.ErrCode, e.Message, code)
	}
	if e.Help == "" || strings.Contains(e.Help, "sandbox off") {
		h.t.Errorf("add %q: hint %q", args, e.Help)
	}
	if after := h.head(); after != before {
		h.t.Errorf("add %q was refused, and the chain grew from %d to %d", args, before, after)
	}
	return e
}

// head is the number of the newest op, as the service knows it.
func (h *house) head() int64 {
	h.t.Helper()
	head, err := h.service().Head(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return head.Seq
}

// refusedFile is refusesToAdd of a job.toml.
func (h *house) refusedFile(code jobspec.Code, text string) api.Error {
	h.t.Helper()
	return h.refusesToAdd(code, "-f", h.jobFile(text), "--yes")
}

// drafted is what add --dry-run says.
type drafted struct {
	Asks []struct {
		ID       string `json:"ask_id"`
		Rule     string `json:"rule"`
		Question string `json:"question"`
	} `json:"asks"`
	Reasons []api.Reason `json:"reasons"`
}

func (d drafted) codes() []jobspec.Code {
	var all []jobspec.Code
	for _, r := range d.Reasons {
		all = append(all, r.Code)
	}
	return all
}

// dryRun asks add what it thinks of a draft.
func (h *house) dryRun(args ...string) drafted {
	h.t.Helper()
	var doc struct {
		Item drafted `json:"item"`
	}
	r := h.run(append([]string{"add", "--dry-run", "--json"}, args...)...)
	if r.out == "" {
		h.t.Fatalf("add --dry-run %q: exit %d\n%s", args, r.code, r.err)
	}
	h.decode(r.out, &doc)
	return doc.Item
}

// row triggers a job by hand and wants it to end so, for this reason if any.
func (h *house) row(job, outcome string, code jobspec.Code) api.Run {
	h.t.Helper()
	r := h.trigger(job)
	told := code == "" || slices.ContainsFunc(r.Reasons, func(x api.Reason) bool { return x.Code == code })
	if r.Outcome != outcome || !told {
		h.t.Errorf("%s: %s with %+v, want %s %s", job, r.Outcome, r.Reasons, outcome, code)
	}
	if outcome == "refused" && (r.StartedAt != nil || len(r.Outputs) > 0) {
		h.t.Errorf("%s was refused, and its row tells of a start: %+v", job, r)
	}
	return r
}

// text is what a run wrote.
func (h *house) text(r api.Run) string {
	h.t.Helper()
	return h.must("logs", r.Run, "--stream", "out")
}
