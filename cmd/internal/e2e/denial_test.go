//go:build linux

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// file adds a job from a TOML text, whose command is a script file, due by hand
// only. What a file of its own does is not read at add; a command line that
// names sudo would be refused there.
func (h *house) file(name, body, more string) {
	h.t.Helper()
	command := filepath.Join(h.script(name, body), "job.sh")
	top, tables, _ := strings.Cut(more, "[")
	text := fmt.Sprintf("name = %q\nschedule = \"0 0 1 1 *\"\ntimezone = \"UTC\"\nexpires = \"30d\"\ncommand = [%q]\n%s\n", name, command, top)
	if tables != "" {
		text += "[" + tables
	}
	h.must("add", "-f", h.put(filepath.Join(h.dir, name+".toml"), text, 0o644), "--yes")
}

// denials writes what a run was denied, one a line.
func denials(r api.Run) string {
	var b strings.Builder
	for _, d := range r.Denials {
		fmt.Fprintf(&b, "%s %s x%d", d.Code, d.Target, d.Count)
		if d.Expected {
			b.WriteString(" expected")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestADeniedJobIsDeniedWhateverItEndsWith(t *testing.T) {
	t.Parallel() // it waits most of its time
	h := newHouse(t)
	h.file("zero", "sudo -n id; exit 0", "")
	h.file("nine", "sudo -n id; exit 9", "")
	h.file("known", "sudo -n id; exit 0", "[denials]\nexpected = [{ code = \"esc_sudo\", target = \"sudo -n id\" }]\n")
	h.file("first", "sudo -n id; sleep 20", "[denials]\non_denial = \"kill\"\n")
	h.file("loop", "while :; do sudo -n id; done", "")
	h.start()
	for _, c := range []struct {
		job, outcome, denials string
		exit                  int
		code                  jobspec.Code
	}{
		{"zero", "denied", "esc_sudo sudo -n id x1\n", 77, jobspec.CodeEscSudo},
		{"nine", "denied", "esc_sudo sudo -n id x1\n", 9, jobspec.CodeEscSudo},
		{"known", "succeeded", "esc_sudo sudo -n id x1 expected\n", 0, ""},
		{"first", "denied", "esc_sudo sudo -n id x1\n", 77, jobspec.CodeDenialKilled},
		{"loop", "denied", "", 77, jobspec.CodeDenialLoop},
	} {
		r := h.run("run", c.job, "--wait", "--json")
		row := h.last(c.job)
		if r.code != c.exit || row.Outcome != c.outcome || c.denials != "" && denials(row) != c.denials || len(row.Denials) != 1 {
			t.Errorf("%s: exit %d, %s, %q\n%s", c.job, r.code, row.Outcome, denials(row), r.err)
		}
		if c.code != "" && !strings.Contains(r.err, `"code":"`+string(c.code)+`"`) {
			t.Errorf("%s: the error does not name %s: %s", c.job, c.code, r.err)
		}
		if first, err := time.Parse(time.RFC3339Nano, row.Denials[0].FirstAt); err != nil || first.Sub(*row.StartedAt) > time.Second {
			t.Errorf("%s: started at %s, first denial at %s", c.job, row.StartedAt, row.Denials[0].FirstAt)
		}
		for _, said := range []string{h.must("explain", row.Run), h.must("history", c.job)} {
			if !strings.Contains(said, "esc_sudo sudo -n id") || strings.Contains(said, "(expected)") != (c.job == "known") {
				t.Errorf("%s: said %s", c.job, said)
			}
		}
	}
}

func TestAnEmbeddedScriptRuns(t *testing.T) {
	h := newHouse(t)
	path := h.put(filepath.Join(h.dir, "job.toml"), "name = \"text\"\nschedule = \"0 0 1 1 *\"\nexpires = \"30d\"\n[script]\ninterpreter = \"/bin/sh\"\nbody = \"echo $0\"\n", 0o644)
	h.must("add", "-f", path, "--yes")
	h.start()
	if got := h.said("text"); got != "/.sbxcron/script\n" {
		t.Errorf("it said %q", got)
	}
}

func TestAnAgentsOwnResultIsRead(t *testing.T) {
	h := newHouse(t)
	h.file("asked", `echo '{"type":"result","is_error":false,"permission_denials":[{"tool_name":"Bash","tool_input":{"command":"git push"}}]}'`, "result = \"claude-json\"\n")
	h.file("fine", `echo '{"type":"result","is_error":false,"permission_denials":[]}'`, "result = \"claude-json\"\n")
	h.file("prose", "echo I am done.", "result = \"claude-json\"\n")
	h.file("long", `echo '{"type":"result","permission_denials":[],"result":"'; yes | head -c 400000; echo '"}'`, "result = \"claude-json\"\n[limits]\noutput = \"64KiB\"\n")
	h.start()
	for _, c := range []struct {
		job, outcome string
		exit         int
		code         string
	}{
		{"asked", "denied", 77, "ask_agent_denied"}, {"fine", "succeeded", 0, ""},
		{"prose", "failed", 1, "result_unreadable"}, {"long", "failed", 1, "result_unreadable"},
	} {
		r := h.run("run", c.job, "--wait", "--json")
		row := h.last(c.job)
		if r.code != c.exit || row.Outcome != c.outcome || !strings.Contains(r.err, c.code) {
			t.Errorf("%s: exit %d, %s, %+v\n%s", c.job, r.code, row.Outcome, row.Reasons, r.err)
		}
	}
	if row := h.last("asked"); denials(row) != "ask_agent_denied Bash \"git push\" x1\n" {
		t.Errorf("denials %q", denials(row))
	}
	if row := h.last("long"); !strings.Contains(row.Reasons[0].Detail, "were kept") {
		t.Errorf("reasons %+v", row.Reasons)
	}
}

func TestTheBreakerHoldsAJobUntilItsOwnerSigns(t *testing.T) {
	t.Parallel() // it waits most of its time
	h := newHouse(t)
	h.file("asks", "sudo id", "")
	s := h.start()
	denied := func() {
		t.Helper()
		for range 3 {
			if r := h.run("run", "asks", "--wait"); r.code != 1 && r.code != 77 {
				t.Fatalf("exit %d\n%s", r.code, r.err)
			}
		}
		if d := item[api.JobDetail](h, "show", "asks"); !slices.Contains(d.Flags, "held") || d.Hold == nil || !strings.Contains(d.Hold.Reason, "breaker_open") {
			t.Fatalf("flags %q, hold %+v", d.Flags, d.Hold)
		}
		if e := h.failure("run", "asks", "--wait"); e.ErrCode != jobspec.CodeBreakerOpen {
			t.Errorf("run of a held job: %+v", e)
		}
	}
	for range 2 {
		denied()
		h.must("release", "asks")
	}
	denied()
	if e := h.failure("release", "asks"); e.ErrCode != jobspec.CodeBreakerLocked || e.Exit != 13 || !strings.Contains(e.Help, "enable or replace") {
		t.Errorf("release after the third hold: %+v", e)
	}
	s.stop()
	h.start()
	if e := h.failure("release", "asks"); e.ErrCode != jobspec.CodeBreakerLocked {
		t.Errorf("release after a restart: %+v", e)
	}
	h.must("enable", "asks", "--yes")
	if d := item[api.JobDetail](h, "show", "asks"); d.Hold != nil {
		t.Errorf("held after its owner signed: %+v", d.Hold)
	}
	if r := h.run("run", "asks", "--wait"); h.last("asks").Outcome != "denied" {
		t.Errorf("it does not run again: exit %d\n%s", r.code, r.err)
	}
}
