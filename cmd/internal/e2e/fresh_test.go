//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
)

// What a person types wrong on the first day gets a code of its own, an exit
// status that says whose fault it is, and a remedy that fits what was typed.
func TestWhatIsTypedWrongIsNoDefectOfOurs(t *testing.T) {
	h := newHouse(t)
	dir := h.script("ws", "true")
	file := h.put(filepath.Join(dir, "plain.txt"), "text", 0o644)
	add := []string{"add", "x", "--dry-run"}
	for _, c := range []struct {
		args []string
		code string
		exit int
		hint string
	}{
		{append(add, "--schedule", "61 * * * *", "--", "/bin/true"), "schedule_invalid", 65, "0 to 59"},
		{append(add, "--schedule", "@reboot", "--", "/bin/true"), "schedule_invalid", 65, "time"},
		{append(add, "--schedule", "@daily", "--timezone", "Europe/Berln", "--", "/bin/true"), "schedule_invalid", 65, "Europe/Berlin"},
		{append(add, "--every", "5s", "--", "/bin/true"), "schedule_invalid", 65, "1 minute"},
		{append(add, "--schedule", "@daily", "--every", "5m", "--", "/bin/true"), "schedule_invalid", 65, "every"},
		{[]string{"next", "--expr", "@daily", "--timezone", "Nowhere/City"}, "schedule_invalid", 65, "IANA"},
		{append(add, "--", "/bin/true"), "schedule_invalid", 65, "every"},
		{append(add, "--schedule", "@daily", "--cwd", filepath.Join(dir, "missing"), "--", "/bin/true"), "drift_cwd", 13, "name a folder"},
		{append(add, "--schedule", "@daily", "--cwd", file, "--", "/bin/true"), "drift_cwd", 13, "name a folder"},
		{append(add, "--schedule", "@daily", "--cwd", dir, "--", "./missing.sh"), "drift_exec_missing", 13, "name a file"},
		{append(add, "--schedule", "@daily", "--", "no-such-program"), "drift_exec_missing", 13, "/usr/bin"},
	} {
		var e api.Error
		r := h.run(append([]string{"--json"}, c.args...)...)
		h.decode(r.err, &e)
		if string(e.ErrCode) != c.code || e.Exit != c.exit || r.code != c.exit || !strings.Contains(e.Help, c.hint) {
			t.Errorf("%q: %s, exit %d, hint %q; want %s, %d, %q", c.args, e.ErrCode, e.Exit, e.Help, c.code, c.exit, c.hint)
		}
		if strings.Contains(e.Help, "replace") || strings.Count(e.Message, "does not exist") > 1 {
			t.Errorf("%q: %q (hint: %q)", c.args, e.Message, e.Help)
		}
	}
	elsewhere := h.runEnv(nil, "--root", filepath.Join(dir, "nowhere"), "list")
	if elsewhere.code != 78 || !strings.Contains(elsewhere.err, "sbxcron init") {
		t.Errorf("a folder that is not there: exit %d, %s", elsewhere.code, elsewhere.err)
	}
}

// An account of another user is told whom to ask, never that there is a defect.
func TestAnotherAccountIsToldWhomToAsk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	h := newHouse(t)
	r := h.run("--json", "add", "x", "--schedule", "@daily", "--run-as", "root", "--yes", "--", "/bin/true")
	if !strings.Contains(r.err, `"run_as_forbidden"`) {
		t.Errorf("run_as root: exit %d, %s", r.code, r.err)
	}
	h.wrap = []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"}
	h.exe = h.ship().path // the main of the tests opens files by other rules
	for _, args := range [][]string{{"list"}, {"history"}, {"audit", "verify"}, {"status"}} {
		if r := h.run(args...); r.code != 69 || strings.Contains(r.err, "defect") {
			t.Errorf("%q without a service: exit %d, %s", args, r.code, r.err)
		}
	}
	if r := h.run("doctor"); strings.Contains(r.out, "fail  files") {
		t.Errorf("doctor: %s", r.out)
	}
}

func TestShowNamesTheKeyThatWasRevoked(t *testing.T) {
	h := newHouse(t)
	h.add("first", "", "scratch", "/bin/true")
	public, err := os.ReadFile(h.key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	h.put(filepath.Join(h.root, "conf", "revoked_keys"), string(public), 0o600)
	if err := os.Chown(filepath.Join(h.root, "conf", "revoked_keys"), os.Getuid(), -1); err != nil {
		t.Fatal(err)
	}
	if out := h.must("show", "first"); !strings.Contains(out, "alice with SHA256:") || !strings.Contains(out, "NO: key_revoked") {
		t.Error(out)
	}
}
