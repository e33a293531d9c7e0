//go:build linux

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// rebindLine is what rebind --json says of one job.
type rebindLine struct {
	Job      string           `json:"job"`
	Op       string           `json:"op"`
	Revision int64            `json:"revision"`
	Changes  []jobspec.Change `json:"changes"`
	Refused  []api.Reason     `json:"refused"`
}

func TestRebindSignsTheSameJobWithTheFilesAsTheyAre(t *testing.T) {
	h, shared := openings(t)
	mine := filepath.Join(filepath.Dir(h.dirs().Policy()), "owner.d")
	rules := []byte("[[rules]]\nid = \"mine\"\neffect = \"deny\"\nwhy = \"not here\"\nname = \"rm\"\n")
	if err := errors.Join(os.Mkdir(mine, 0o755), os.WriteFile(filepath.Join(mine, "alice.toml"), rules, 0o644)); err != nil {
		t.Fatal(err)
	}
	conf := h.put(filepath.Join(shared, "app.toml"), "a = 1\n", 0o644)
	dir := h.job("one", "cat ~/app.toml", "--bind", conf+":~/app.toml:ro", "--expires", "30d", "--note", "kept", "--env", "A=1", "--file", "job.sh")
	h.start()
	if r := h.run("rebind", "one", "--yes"); r.code != 0 || !strings.Contains(r.err, "nothing changed") {
		t.Errorf("nothing has changed: exit %d\n%s", r.code, r.err)
	}
	before := item[api.JobDetail](h, "show", "one")
	appendTo("job.sh")(t, h, dir)
	h.put(conf, "a = 2\n", 0o644)
	h.refused("one", jobspec.CodeDriftExecHash)
	dry := h.run("rebind", "one", "--dry-run")
	for _, want := range []string{"executable", "bind", "was ", "is ", before.Files[0].SHA256.Short()} {
		if dry.code != 3 || !strings.Contains(dry.err, want) {
			t.Errorf("rebind --dry-run: exit %d, no %q in\n%s", dry.code, want, dry.err)
		}
	}
	h.refused("one", jobspec.CodeDriftExecHash) // nothing was signed
	lines := items[rebindLine](h, "rebind", "one", "--yes")
	if len(lines) != 1 || len(lines[0].Changes) != 3 || lines[0].Revision != before.Revision+1 || lines[0].Op == "" {
		t.Fatalf("%+v", lines)
	}
	if out := h.text(h.row("one", "succeeded", "")); out != "a = 2\n" {
		t.Errorf("it read %q", out)
	}
	after := item[api.JobDetail](h, "show", "one")
	old, now := decodeSpec(t, before.Bytes), decodeSpec(t, after.Bytes)
	if !after.ExpiresAt.Time().Equal(before.ExpiresAt.Time()) {
		t.Errorf("it ends %s, not %s", after.ExpiresAt, before.ExpiresAt)
	}
	now.Bound = old.Bound // all that may differ
	if x, y := encodeSpec(t, old), encodeSpec(t, now); x != y {
		t.Errorf("more than the files differs:\n%s\n%s", x, y)
	}
}

func decodeSpec(t *testing.T, raw []byte) *jobspec.Spec {
	t.Helper()
	op, err := jobspec.DecodeOp(raw)
	must(t, err)
	return op.Spec
}

func encodeSpec(t *testing.T, s *jobspec.Spec) string {
	t.Helper()
	b, err := (&jobspec.Op{Type: jobspec.OpType, Spec: s}).Encode()
	must(t, err)
	return string(b)
}

func TestRebindAllSignsEveryDriftedJobAtOnce(t *testing.T) {
	h, _ := openings(t)
	dirs := map[string]string{}
	for _, name := range []string{"a", "b", "c", "gone", "off"} {
		dirs[name] = h.job(name, "true")
	}
	h.start()
	for _, name := range []string{"a", "c", "off"} {
		appendTo("job.sh")(t, h, dirs[name])
	}
	must(t, os.Remove(filepath.Join(dirs["gone"], "job.sh")))
	h.must("disable", "off", "--yes")
	r := h.run("rebind", "--all", "--yes", "--json")
	var doc struct {
		Items []rebindLine `json:"items"`
	}
	h.decode(r.out, &doc)
	if r.code != 3 || len(doc.Items) != 3 {
		t.Fatalf("exit %d, %+v", r.code, doc.Items)
	}
	for _, l := range doc.Items {
		signed := l.Op != ""
		if want := l.Job != "gone"; signed != want || (len(l.Refused) > 0) == want {
			t.Errorf("%s: signed %v, refused %+v", l.Job, signed, l.Refused)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		h.row(name, "succeeded", "")
	}
	for _, j := range items[api.Job](h, "list") {
		if j.Job == "off" && j.State != "disabled" {
			t.Errorf("rebind put a disabled job in force: %+v", j)
		}
	}
	if e := h.failure("rebind", "off", "--yes"); e.ErrCode != jobspec.CodeJobDisabled {
		t.Errorf("%+v", e)
	}
	if r := h.run("audit", "verify"); r.code != 0 && r.code != 3 {
		t.Errorf("audit verify: exit %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestRebindAsksBeforeItSigns(t *testing.T) {
	h, _ := openings(t)
	dir := h.job("a", "true")
	h.start()
	appendTo("job.sh")(t, h, dir)
	if r := h.run("rebind", "--all"); r.code == 0 || !strings.Contains(r.err, "--yes") {
		t.Errorf("without a terminal and without --yes: exit %d\n%s", r.code, r.err)
	}
	if e := h.failure("rebind", "a", "--yes", "--answer", "aaaabbbbcccc=allow"); e.ErrCode != jobspec.CodeAskAnswerStale {
		t.Errorf("%+v", e)
	}
}
