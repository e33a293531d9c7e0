//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// explainedReasons are the refusals of an explanation as a record has them.
func explainedReasons(x api.Explanation) []api.Reason {
	var all []api.Reason
	for _, c := range x.Checks {
		if c.Verdict != "yes" {
			all = append(all, api.Reason{Code: c.Code, Layer: c.Layer, Rule: c.Rule, Target: c.Target, Detail: c.Detail})
		}
	}
	return all
}

// recordedReasons are those of a record, without what is said of a code anyway.
func recordedReasons(reasons []api.Reason) []api.Reason {
	var all []api.Reason
	for _, r := range reasons {
		r.Remedy, r.Allow = "", ""
		all = append(all, r)
	}
	return all
}

// sameDecision asks explain, lets the trigger decide, and holds the two against
// each other: decision, verdicts, and each reason with its layer, rule and words.
func (h *house) sameDecision(what, job string, code jobspec.Code) {
	h.t.Helper()
	x := h.explain(job)
	row := h.trigger(job)
	again := h.explain(job)
	if !reflect.DeepEqual(x.Checks, again.Checks) {
		h.t.Errorf("%s: explain says %+v, then %+v", what, x.Checks, again.Checks)
	}
	allowed := x.Decision == "allow"
	if allowed != (row.StartedAt != nil) || allowed != (code == "") {
		h.t.Errorf("%s: explained %s, recorded %s with %+v, want code %q", what, x.Decision, row.Outcome, row.Reasons, code)
		return
	}
	if row.Verdicts != nil && *row.Verdicts != x.Verdicts {
		h.t.Errorf("%s: explained %+v, recorded %+v", what, x.Verdicts, *row.Verdicts)
	}
	if allowed {
		return
	}
	if said, kept := explainedReasons(x), recordedReasons(row.Reasons); !reflect.DeepEqual(said, kept) {
		h.t.Errorf("%s: explained %+v, recorded %+v", what, said, kept)
	}
	if !slices.ContainsFunc(row.Reasons, func(r api.Reason) bool { return r.Code == code }) {
		h.t.Errorf("%s: %+v, want %s", what, row.Reasons, code)
	}
}

func TestExplainIsTheNextDecision(t *testing.T) {
	h := newHouse(t)
	askRule := func(why string) map[string]any {
		return map[string]any{"id": "ask-env", "effect": "ask", "why": why, "name": "env"}
	}
	h.permit(func(top, _ map[string]any) { top["rules"] = []any{askRule("to be asked")} })
	ws := h.script("ws", "true")
	h.add("good", ws, "workspace", "./job.sh")
	h.add("reads", ws, "read-only", "./job.sh", "two")
	h.add("scratch", "", "scratch", "true")
	asked, _ := h.refusal("add", "asked", "--schedule", "0 0 1 1 *", "--yes", "--", "env", "true")
	h.must("add", "asked", "--schedule", "0 0 1 1 *", "--yes", "--answer", asked.Reasons[0].Target+"=allow", "--", "env", "true")
	h.add("off", "", "scratch", "true")
	h.must("disable", "off", "--yes")
	h.add("held", "", "scratch", "true")
	s := h.start()
	defer s.stop()
	h.must("hold", "held", "--reason", "a test")
	for job, code := range map[string]jobspec.Code{"good": "", "reads": "", "scratch": "", "asked": "", "off": jobspec.CodeJobDisabled, "held": jobspec.CodeJobHeld} {
		h.sameDecision("as signed", job, code)
	}

	script := filepath.Join(ws, "job.sh")
	h.put(script, "#!/bin/sh\necho other\n", 0o755)
	h.sameDecision("changed script", "good", jobspec.CodeDriftExecHash)
	h.put(script, "#!/bin/sh\ntrue\n", 0o644)
	h.sameDecision("changed mode", "good", jobspec.CodeDriftExecOwner)
	h.put(script, "#!/bin/sh\ntrue\n", 0o755)
	h.sameDecision("put back", "good", "")

	rules := []any{askRule("for another reason"), map[string]any{"id": "no-two", "effect": "deny", "why": "never two", "name": "job.sh", "has": []any{"two"}}}
	h.permit(func(top, _ map[string]any) { top["rules"] = rules })
	h.sameDecision("another question", "asked", jobspec.CodeAskAnswerStale)
	h.sameDecision("denied by rule", "reads", jobspec.CodeCmdDeniedRule)
	h.permit(func(top, alice map[string]any) { top["rules"], alice["max_tier"] = rules, "scratch" })
	h.sameDecision("lower ceiling", "good", jobspec.CodeTierOverCeiling)
	h.sameDecision("lower ceiling and a rule", "reads", jobspec.CodeTierOverCeiling)
	h.sameDecision("still below the ceiling", "scratch", "")
	if err := os.WriteFile(filepath.Join(h.root, "conf", "policy.toml"), []byte("serial = \n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h.sameDecision("no policy", "scratch", jobspec.CodePolicyParse)
	h.permit(nil)

	public, err := os.ReadFile(h.key + ".pub")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(h.root, "conf", "revoked_keys"), public, 0o600))
	h.sameDecision("revoked key", "good", jobspec.CodeKeyRevoked)
}

// explain RUN keeps to the record and says what has changed since.
func TestExplainOfARunSaysWhatDiffersNow(t *testing.T) {
	h := newHouse(t)
	ws := h.script("ws", "true")
	h.add("job", ws, "read-only", "./job.sh")
	s := h.start()
	defer s.stop()
	ran := h.trigger("job")
	h.put(filepath.Join(ws, "job.sh"), "#!/bin/sh\necho other\n", 0o755)
	refused := h.trigger("job")
	if x := item[api.Explanation](h, "explain", ran.Run); x.Decision != "allow" || x.Now == nil || x.Now.Same || x.Now.Decision != "refuse" ||
		len(x.Now.New) == 0 || x.Now.New[0].Code != jobspec.CodeDriftExecHash || !x.Now.OpNow {
		t.Errorf("of the run: %+v, now %+v", x.Decision, x.Now)
	}
	if x := item[api.Explanation](h, "explain", refused.Run); x.Decision != "refuse" || x.Now == nil || !x.Now.Same || len(x.Now.New)+len(x.Now.Gone) != 0 {
		t.Errorf("of the refusal: %+v, now %+v", x.Decision, x.Now)
	}
	h.must("replace", "job", "--schedule", "0 0 1 1 *", "--cwd", ws, "--tier", "read-only", "--yes", "--", "./job.sh")
	if x := item[api.Explanation](h, "explain", refused.Run); x.Decision != "refuse" || x.Now.Decision != "allow" || x.Now.OpNow || len(x.Now.Gone) == 0 {
		t.Errorf("signed anew: %+v, now %+v", x.Decision, x.Now)
	}
}
