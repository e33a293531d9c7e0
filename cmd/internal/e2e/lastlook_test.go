//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// Files are hashed and a sandbox is built between the decision and the start.
// What is taken back in that time does not start.
func TestWhatIsTakenBackWhileASandboxIsBuiltDoesNotStart(t *testing.T) {
	h := newHouse(t)
	h.permit(nil)
	halt := t.TempDir()
	h.start(envHalt + "=" + halt)
	dir := h.script("job", canary)
	h.add("job", dir, "workspace", "./job.sh")
	h.row("job", "succeeded", "")
	public, err := os.ReadFile(h.key + ".pub")
	must(t, err)
	for _, c := range []struct {
		name   string
		change func()
		code   jobspec.Code
	}{
		{"the key is revoked", func() { h.write(h.dirs().RevokedKeys(), public) }, jobspec.CodeKeyRevoked},
		{"nobody is trusted", func() { h.write(h.dirs().AllowedSigners(), []byte("# nobody\n")) }, ""},
		{"a rule denies", func() {
			h.permit(func(top, _ map[string]any) { top["rules"] = rules([3]string{"deny", "no", "job.sh"}) })
		}, jobspec.CodeCmdDeniedRule},
		{"the ceiling is lower", func() { h.permit(func(_, alice map[string]any) { alice["max_tier"] = "scratch" }) }, jobspec.CodeTierOverCeiling},
		{"the policy is gone", func() { must(t, os.Remove(h.dirs().Policy())) }, jobspec.CodePolicyMissing},
		{"nothing", func() {}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := h.under(t)
			keep := at.kept(at.dirs().RevokedKeys(), at.dirs().AllowedSigners(), at.dirs().Policy())
			before := at.starts(dir)
			gate := filepath.Join(halt, "before-prepare")
			must(t, os.WriteFile(gate, nil, 0o600))
			done := make(chan api.Run, 1)
			go func() { done <- at.trigger("job") }()
			at.reached(gate)
			c.change()
			must(t, os.Remove(gate))
			r := <-done
			keep()
			want := "refused"
			if c.name == "nothing" {
				want = "succeeded"
			}
			if r.Outcome != want || c.code != "" && (len(r.Reasons) == 0 || r.Reasons[0].Code != c.code) {
				t.Errorf("%s with %+v, want %s %s", r.Outcome, r.Reasons, want, c.code)
			}
			if started := at.starts(dir) > before; started != (want == "succeeded") || want == "refused" && (r.StartedAt != nil || r.Verdicts == nil || *r.Verdicts == (jobspec.Verdicts{Identity: jobspec.Yes, Capability: jobspec.Yes, Resources: jobspec.Yes, Consent: jobspec.Yes})) {
				t.Errorf("started %v: %+v", started, r)
			}
		})
	}
	h.row("job", "succeeded", "")
}

// kept remembers files; the result puts them back.
func (h *house) kept(paths ...string) func() {
	h.t.Helper()
	texts := make([][]byte, len(paths))
	for i, p := range paths {
		b, err := os.ReadFile(p)
		must(h.t, err)
		texts[i] = b
	}
	return func() {
		for i, p := range paths {
			h.write(p, texts[i])
		}
	}
}

// reached waits until the service stands at a gate.
func (h *house) reached(gate string) {
	h.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err := os.Remove(gate + ".reached"); err == nil {
			return
		}
	}
	h.t.Fatalf("nobody reached %s", gate)
}
