package evidence_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/evidence"
)

type apiProblem = api.Problem

// agree has the verifier that was written from docs/ledger-format.md alone judge the
// same bundle, by the same anchor.
func agree(t *testing.T, path string, a evidence.Anchor, ours api.Audit) {
	t.Helper()
	for _, tool := range []string{"python3", "openssl", "ssh-keygen"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	args := []string{verifierPath, path}
	if !a.Genesis.IsZero() {
		args = append(args, "--genesis", a.Genesis.String())
	}
	dir := t.TempDir()
	if len(a.Signers) > 0 {
		args = append(args, "--signers", filepath.Join(dir, "signers"))
		must(t, os.WriteFile(filepath.Join(dir, "signers"), a.Signers, 0o600))
	}
	for _, w := range a.Checkpoints {
		args = append(args, "--checkpoint", filepath.Join(dir, "checkpoint"))
		must(t, os.WriteFile(filepath.Join(dir, "checkpoint"), []byte(w.Note), 0o600))
	}
	out, err := exec.Command("python3", args...).Output()
	if err != nil && len(out) == 0 {
		t.Fatalf("the independent verifier: %v: %s", err, err.(*exec.ExitError).Stderr)
	}
	var theirs api.Audit
	must(t, json.Unmarshal(out, &theirs))
	if theirs.Authentic != ours.Authentic || theirs.Intact != ours.Intact || theirs.Complete != ours.Complete || theirs.Runs != ours.Runs || theirs.Proven != ours.Proven {
		t.Errorf("the independent verifier says otherwise:\n%s\nours: %+v", out, ours)
	}
}
