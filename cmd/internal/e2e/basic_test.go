//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
)

func TestAJobRunsByHandAndIsRecorded(t *testing.T) {
	h := newHouse(t)
	dir := h.script("ws", "echo hello; echo oops >&2; echo made > made; exit 3")
	h.add("first", dir, "workspace", "./job.sh")
	s := h.start()
	if r := h.run("run", "first", "--wait"); r.code != 3 {
		t.Fatalf("run --wait: exit %d, want the job's own 3\n%s%s\n%s", r.code, r.out, r.err, s.log)
	}
	runs := items[api.Run](h, "history", "first")
	if len(runs) != 1 || runs[0].Outcome != "failed" || *runs[0].ExitCode != 3 || runs[0].Probe != "passed" {
		t.Fatalf("history: %+v", runs)
	}
	if out := h.must("logs", runs[0].Run, "--stream", "out"); out != "hello\n" {
		t.Errorf("stdout %q", out)
	}
	if out := h.must("logs", runs[0].Run, "--stream", "err"); out != "oops\n" {
		t.Errorf("stderr %q", out)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "made")); err != nil || string(b) != "made\n" {
		t.Errorf("the workspace: %q, %v", b, err)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("the service ended with %d: %s", code, s.log)
	}
	audit := h.run("audit", "verify", "--json")
	if audit.code != 0 || !strings.Contains(audit.out, `"authentic":"pass"`) || !strings.Contains(audit.out, `"runs":"pass"`) {
		t.Errorf("audit verify: exit %d\n%s%s", audit.code, audit.out, audit.err)
	}
}
