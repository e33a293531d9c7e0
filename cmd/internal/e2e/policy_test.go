//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
)

// A policy that once decided is never replaced by an older one, even where no op
// was signed in between.
func TestAnOlderPolicyPutBackRunsNothing(t *testing.T) {
	h := newHouse(t)
	h.add("j", h.script("ws", "true"), "workspace", "./job.sh")
	path := h.root + "/conf/policy.toml"
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.Replace(string(first), "serial = 1 ", "serial = 2 ", 1)
	if newer == string(first) {
		t.Fatalf("no serial 1 in %s", first)
	}
	s := h.start()
	if err := os.WriteFile(path, []byte(newer), 0); err != nil {
		t.Fatal(err)
	}
	h.must("run", "j", "--wait")
	if err := os.WriteFile(path, first, 0); err != nil {
		t.Fatal(err)
	}
	if r := h.run("run", "j", "--wait"); r.code != 125 || !strings.Contains(r.err, "policy_rollback") {
		t.Errorf("run under an older policy: exit %d\n%s", r.code, r.err)
	}
	s.stop()
	s = h.start()
	if r := h.run("run", "j", "--wait"); r.code != 125 || !strings.Contains(r.err, "policy_rollback") {
		t.Errorf("run after a restart: exit %d\n%s", r.code, r.err)
	}
	if runs := items[api.Run](h, "history", "j"); len(runs) != 3 || runs[0].Reasons[0].Code != "policy_rollback" {
		t.Errorf("history: %+v", runs)
	}
	s.stop()
	if r := h.run("audit", "verify"); r.code != 0 {
		t.Errorf("audit verify: exit %d\n%s", r.code, r.out)
	}
}
