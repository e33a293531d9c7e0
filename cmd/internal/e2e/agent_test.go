//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

// An agent whose inner sandbox cannot start inside ours is refused with the flag
// to use instead. With that flag the policy has the word, then the owner; and
// each record repeats that the inner sandbox was off.
func TestAnAgentsInnerSandboxIsOffOnlyWherePolicyAndOwnerSaySo(t *testing.T) {
	h := newHouse(t)
	h.start()
	dir := h.mkdir("agent")
	h.put(filepath.Join(dir, "codex"), "#!/bin/sh\necho \"$@\"\n", 0o755)
	args := func(command ...string) []string {
		return append([]string{"agent", "--schedule", never, "--yes", "--tier", "workspace", "--cwd", dir, "--", "./codex"}, command...)
	}
	if e := h.refusesToAdd(jobspec.CodeCmdAgentFlag, args("exec", "hello")...); !strings.Contains(e.Help+e.Message, "-s danger-full-access") {
		t.Errorf("the refusal does not name the flag: %+v", e)
	}
	h.refusesToAdd(jobspec.CodeCmdBypassFlag, args("exec", "--yolo", "hello")...)
	alone := args("-a", "never", "exec", "-s", "danger-full-access", "hello")
	h.refusesToAdd(jobspec.CodeCmdBypassFlag, alone...)

	path := h.dirs().Policy()
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, []byte("agent_inner_sandbox = \"off\"\n"+string(text)), 0))
	asked := h.dryRun(alone...)
	if len(asked.Asks) != 1 || !strings.Contains(asked.Asks[0].Question, "the agent's inner sandbox is off; ours stays") {
		t.Fatalf("asks: %+v", asked)
	}
	h.must(append([]string{"add", "--answer", asked.Asks[0].ID + "=allow"}, alone...)...)
	if run := h.row("agent", "succeeded", ""); !slices.Equal(run.Notes, []string{"agent_inner_sandbox_off"}) {
		t.Errorf("the record says %q", run.Notes)
	}
	if out := h.must("explain", "agent"); !strings.Contains(out, "note: agent_inner_sandbox_off") {
		t.Errorf("explain says\n%s", out)
	}

	must(t, os.WriteFile(path, text, 0))
	h.row("agent", "refused", jobspec.CodeCmdBypassFlag)
}
