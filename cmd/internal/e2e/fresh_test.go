//go:build linux

package e2e

import (
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
	file := h.put("plain.txt", "text", 0o644)
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
