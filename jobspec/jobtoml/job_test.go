package jobtoml

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sbxcron/sbxcron/jobspec"
)

func TestTheWholeJobFileIsRead(t *testing.T) {
	data, err := os.ReadFile("testdata/job.toml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadJob(data)
	if err != nil {
		t.Fatal(err)
	}
	want := &jobspec.Draft{
		Name: "nightly-report", Cron: "30 2 * * *", Timezone: "Europe/Berlin", Jitter: 5 * time.Minute, Missed: "once", Overlap: "skip",
		Expires: 90 * 24 * time.Hour, Tier: jobspec.Workspace, Net: jobspec.NetProxy, Cwd: "/srv/reports",
		Command: []string{"./report.sh", "--full"}, Files: []string{"queries.sql"}, Env: map[string]string{"REPORT_LANG": "de"},
		RunAs: "reports", StateDir: true, Result: "exit",
		Read: []string{"/srv/data"}, Write: []string{}, Deny: []string{"/srv/data/private"}, Git: "read-only", MayCreate: []string{},
		Bind:     []jobspec.Bind{{Source: "/etc/reports/codex.toml", Target: "~/.codex/config.toml", Mode: "ro"}},
		NetAllow: []string{"api.example.org:443"}, NetDeny: []string{}, Forward: []string{"db.internal:5432"},
		Sockets:     []string{"/run/postgresql/.s.PGSQL.5432"},
		Credentials: []jobspec.Credential{{Name: "db-password", As: "file"}},
		Limits:      jobspec.Limits{TimeoutSeconds: 1800},
		Denials:     jobspec.DenialRules{Expected: []jobspec.ExpectedDenial{{Code: "net_denied_domain", Target: "telemetry.example.org:443"}}, OnDenial: "fail", Max: 20},
		Backend:     jobspec.BackendNeed{AnyOf: []string{"bwrap"}, Require: []string{"userns", "netns", "seccomp"}, Devices: []string{}},
		Notify:      []string{"failed", "refused", "missed", "denied", "expiring", "recovered"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestJobFilesAreRefusedWithTheirPlace(t *testing.T) {
	for _, c := range []struct {
		name, text string
		code       jobspec.Code
		line, col  int
	}{
		{"unknown key", "name = \"a\"\nschedul = \"x\"\n", jobspec.CodeSpecUnknownField, 2, 1},
		{"key in another case", "Name = \"a\"\n", jobspec.CodeSpecUnknownField, 1, 1},
		{"nested key in another case", "name = \"a\"\n[limits]\nTimeout = \"1m\"\n", jobspec.CodeSpecUnknownField, 3, 1},
		{"inline key in another case", "limits = { Timeout = \"1m\" }\n", jobspec.CodeSpecUnknownField, 1, 12},
		{"dotted unknown key", "net.modus = \"none\"\n", jobspec.CodeSpecUnknownField, 1, 5},
		{"unknown table", "[nett]\nmode = \"none\"\n", jobspec.CodeSpecUnknownField, 1, 2},
		{"unknown key in an array of tables", "[[bind]]\nsource = \"/a\"\nfrom = \"/b\"\n", jobspec.CodeSpecUnknownField, 3, 1},
		{"duplicate key", "name = \"a\"\nname = \"b\"\n", jobspec.CodeSpecDuplicateKey, 2, 1},
		{"duplicate table", "[net]\nmode = \"none\"\n[net]\n", jobspec.CodeSpecDuplicateKey, 3, 2},
		{"syntax", "name = \n", jobspec.CodeSpecMalformed, 1, 8},
		{"wrong type", "retries = \"3\"\n", jobspec.CodeSpecMalformed, 1, 11},
		{"float", "retries = 1.5\n", jobspec.CodeSpecMalformed, 1, 11},
		{"bare number for a duration", "expires = 90\n", jobspec.CodeSpecMalformed, 1, 11},
		{"bad name", "name = \"A\"\n", jobspec.CodeSpecMalformed, 1, 1},
		{"bad duration", "name = \"a\"\nevery = \"6 h\"\n", jobspec.CodeSpecMalformed, 2, 1},
		{"zero duration", "expires = \"0s\"\n", jobspec.CodeSpecMalformed, 1, 1},
		{"zero limit", "[limits]\npids = 0\n", jobspec.CodeSpecMalformed, 2, 1},
		{"decimal size", "[limits]\noutput = \"1MB\"\n", jobspec.CodeSpecMalformed, 2, 1},
		{"empty text", "name = \"a\"\ntier = \"\"\n", jobspec.CodeSpecMalformed, 2, 1},
		{"tier of other tools", "tier = \"yolo\"\n", jobspec.CodeTierForbidden, 1, 1},
		{"tier almost right", "tier = \"workspace-write\"\n", jobspec.CodeTierUnknown, 1, 1},
		{"open network", "[net]\nmode = \"full\"\n", jobspec.CodeNetOverCeiling, 2, 1},
		{"bind without mode", "[[bind]]\nsource = \"/a\"\ntarget = \"/b\"\nmode = \"ro\"\n[[bind]]\nsource = \"/c\"\ntarget = \"/d\"\n", jobspec.CodeBindModeMissing, 5, 3},
		{"unknown denial", "[denials]\nexpected = [{ code = \"nope\", target = \"x\" }]\n", jobspec.CodeSpecMalformed, 2, 15},
		{"instant without zone", "at = \"2026-12-24T18:00:00\"\n", jobspec.CodeSpecMalformed, 1, 1},
		{"byte order mark", "\ufeffname = \"a\"\n", jobspec.CodeSpecMalformed, 0, 0},
		{"not UTF-8", "name = \"\xff\"\n", jobspec.CodeSpecMalformed, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadJob([]byte(c.text))
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			if e.Reason != c.code || e.Line != c.line || e.Column != c.col {
				t.Errorf("%s at %d:%d (%v), want %s at %d:%d", e.Reason, e.Line, e.Column, err, c.code, c.line, c.col)
			}
			if e.Hint() == "" || strings.Contains(err.Error(), "toml:") {
				t.Errorf("error %q, hint %q", err, e.Hint())
			}
		})
	}
}

func TestEmptyStdinNoteAndVariablesAreMeant(t *testing.T) {
	d, err := ReadJob([]byte("name = \"a\"\nstdin = \"\"\nnote = \"\"\ncommand = [\"x\", \"\"]\nenv = { A = \"\" }\n"))
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := d.Env["A"]; !ok || v != "" || len(d.Command) != 2 {
		t.Errorf("%+v", d)
	}
}

// A file as large as is read takes no time that anybody would notice.
func TestALargeFileIsReadInTime(t *testing.T) {
	text := strings.Repeat("[[bind]]\nsource = \"a\"\nmode = \"ro\"\n", MaxFileBytes/40)
	began := time.Now()
	if d, err := ReadJob([]byte(text)); err != nil || len(d.Bind) != MaxFileBytes/40 {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

func FuzzReadJob(f *testing.F) {
	data, err := os.ReadFile("testdata/job.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("[[bind]]\n[bind.x]\na=1"))
	f.Add([]byte("a.b.c = [[{x={}}]]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := ReadJob(data); err != nil && jobspec.CodeOf(err) == jobspec.CodeInternal {
			t.Errorf("an error without a code: %v", err)
		}
		if _, err := ReadPolicy(data); err != nil && jobspec.CodeOf(err) == jobspec.CodeInternal {
			t.Errorf("an error without a code: %v", err)
		}
	})
}
