//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What import-crontab writes is what add reads: each file is judged as a job, and
// the line runs in the sandbox as it did under crond.
func TestImportedLinesAreAcceptedByAdd(t *testing.T) {
	h := newHouse(t)
	dir := h.script("ws", `echo "script $1"`)
	text := fmt.Sprintf("LANG=C\n0 5 * * * /bin/echo plain words\n@daily cd %s && ./job.sh one\n5 4 * * sun tr a-z A-Z | sed s/H/J/%%hello%%you\nSHELL=/bin/bash\n*/5 * * * * [[ -n $LANG ]] && printf '\\%%s\\n' bash\n", dir)
	file := h.put(filepath.Join(h.dir, "crontab"), text, 0o644)
	out := filepath.Join(h.dir, "jobs")
	h.must("import-crontab", file, "--out", out, "--timezone", "Europe/Berlin")
	want := map[string]string{"echo": "plain words\n", "job": "script one\n", "tr": "JELLO\nYOU\n", "printf": "bash\n"}
	files, err := os.ReadDir(out)
	if err != nil || len(files) != len(want) {
		t.Fatalf("%v, %v", files, err)
	}
	s := h.start()
	for name, output := range want {
		path := filepath.Join(out, name+".toml")
		asked := item[struct {
			Asks []struct {
				ID string `json:"ask_id"`
			}
		}](h, "add", "-f", path, "--dry-run")
		add := []string{"add", "-f", path, "--yes"}
		for _, ask := range asked.Asks {
			add = append(add, "--answer", ask.ID+"=allow")
		}
		h.must(add...)
		id := strings.TrimSpace(h.must("run", name, "--wait"))
		if got := h.must("logs", id); got != output {
			t.Errorf("%s printed %q, want %q", name, got, output)
		}
	}
	s.stop()
}

// In system mode the account of the line is the one that is bound, where the
// policy gives it to the principal.
func TestImportedSystemLinesRunAsTheirAccount(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	h := newHouse(t)
	file := h.put(filepath.Join(h.dir, "crontab"), "0 5 * * * "+jobUser+" /bin/echo one\n0 6 * * * daemon /bin/echo two\n", 0o644)
	out := filepath.Join(h.dir, "jobs")
	h.must("import-crontab", file, "--system", "--out", out, "--timezone", "UTC")
	if text := h.must("add", "-f", filepath.Join(out, "echo.toml"), "--dry-run"); !strings.Contains(text, jobUser) {
		t.Errorf("the account is not bound\n%s", text)
	}
	if r := h.run("--json", "add", "-f", filepath.Join(out, "echo-2.toml"), "--dry-run"); r.code != 13 {
		t.Errorf("an account that the policy does not give: exit %d\n%s%s", r.code, r.out, r.err)
	}
}
