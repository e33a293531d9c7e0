//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Whoever revokes a key sees what rests on it, ends what runs by it, and nothing that
// it approved starts again.
func TestARevokedKeyEndsWhatItApproved(t *testing.T) {
	h := newHouse(t)
	h.addAt("long", h.script("ws", "sleep 600"), "0 0 1 1 *")
	h.addAt("other", h.script("ws2", "true"), "0 0 1 1 *")
	h.start()
	h.must("run", "long")
	run := h.await("long", is("running"))
	type impact struct {
		Principal string         `json:"principal"`
		KeyID     string         `json:"key_id"`
		Revoked   bool           `json:"revoked"`
		Jobs      []jobspec.Name `json:"jobs"`
		Canceled  []string       `json:"canceled"`
	}
	before := item[impact](h, "trust", "impact", h.key)
	if before.Revoked || len(before.Jobs) != 2 || before.Principal == "" {
		t.Errorf("%+v", before)
	}
	if r := h.run("trust", "revoke", h.key); r.code != 64 || !strings.Contains(r.err, "--yes") {
		t.Errorf("without a terminal: exit %d, %s", r.code, r.err)
	}
	if r := h.run("trust", "revoke", "SHA256:AAAA", "--yes"); r.code != 11 {
		t.Errorf("a key without a line: exit %d, %s", r.code, r.err)
	}
	must(t, os.WriteFile(h.dirs().RevokedKeys(), []byte("# left the company\n"), h.dirs().ConfMode()))
	after := item[impact](h, "trust", "revoke", before.KeyID, "--yes", "--cancel-running")
	if !after.Revoked || len(after.Canceled) != 1 || after.Canceled[0] != run.Run {
		t.Errorf("%+v", after)
	}
	h.await("long", is("killed"))
	text, err := os.ReadFile(h.dirs().RevokedKeys())
	must(t, err)
	if !strings.HasPrefix(string(text), "# left the company\nssh-ed25519 ") {
		t.Errorf("revoked_keys is %q", text)
	}
	for _, job := range []string{"long", "other"} {
		if r := h.run("run", job, "--wait"); r.code != 125 || !strings.Contains(r.err, string(jobspec.CodeKeyRevoked)) {
			t.Errorf("%s: exit %d, %s", job, r.code, r.err)
		}
	}
	if r := h.run("trust", "list"); !strings.Contains(r.out, "revoked") {
		t.Errorf("trust list: %s", r.out)
	}
}

// A key that was added may sign what it was added for and no more, and one that would
// spoil the file is refused before it is written.
func TestAnAddedKeyMaySignWhatItWasAddedFor(t *testing.T) {
	h := newHouse(t)
	key := filepath.Join(h.dir, "second")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	h.own(key)
	h.must("trust", "add", principalOf(h), key+".pub", "--tier", "scratch", "--yes")
	h.must("add", "small", "--schedule", "0 0 1 1 *", "--key", key, "--yes", "--", "/bin/true")
	dir := h.script("ws", "true")
	if r := h.run("add", "large", "--schedule", "0 0 1 1 *", "--cwd", dir, "--tier", "workspace", "--key", key, "--yes", "--", "./job.sh"); r.code == 0 {
		t.Error("a key for scratch approved a workspace")
	}
	before, err := os.ReadFile(h.dirs().AllowedSigners())
	must(t, err)
	if r := h.run("trust", "add", principalOf(h), key+".pub", "--yes"); r.code == 0 { // it stands there already
		t.Errorf("twice: %s", r.out)
	}
	h.must("trust", "revoke", key+".pub", "--yes")
	if r := h.run("trust", "add", "somebody", h.put(filepath.Join(h.dir, "x.pub"), "ssh-dss AAAA\n", 0o644), "--yes"); r.code != 65 {
		t.Errorf("no key: exit %d, %s", r.code, r.err)
	}
	after, err := os.ReadFile(h.dirs().AllowedSigners())
	must(t, err)
	if string(before) != string(after) {
		t.Errorf("the file is\n%swas\n%s", after, before)
	}
	h.start()
	if r := h.run("run", "small", "--wait"); r.code != 125 || !strings.Contains(r.err, string(jobspec.CodeKeyRevoked)) {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
}

func principalOf(h *house) string {
	for _, k := range items[struct{ Principal string }](h, "trust", "list") {
		return k.Principal
	}
	h.t.Fatal("nobody may sign")
	return ""
}
