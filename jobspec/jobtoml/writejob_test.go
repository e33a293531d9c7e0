package jobtoml

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sbxcron/sbxcron/jobspec"
)

// wholeDraft has every field.
func wholeDraft() *jobspec.Draft {
	return &jobspec.Draft{
		Name: "whole", Note: "a \"note\"\\ with\ttab, \u00fc and \U0001F600", Cron: "30 2 * * *", Every: 90 * time.Minute,
		At:       time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC),
		Timezone: "Europe/Berlin", Jitter: 5 * time.Second, Missed: "once", StartDeadline: 2 * time.Hour, Overlap: "queue", Retries: 2,
		Expires: 90 * 24 * time.Hour, Tier: jobspec.Workspace, Net: jobspec.NetProxy, Cwd: "/srv/a b",
		Command: []string{"./x", "", "a\nb", "'"}, Script: jobspec.Script{Interpreter: "/bin/sh", Body: "echo \"$HOME\"\nexit\n"},
		Stdin: "in\n", Files: []string{"a.sql"}, Env: map[string]string{"A": "1=2", "ODD.NAME": "x"}, RunAs: "reports", StateDir: true, Result: "claude-json",
		Read: []string{"/r"}, Write: []string{"/w"}, Deny: []string{"/d"}, Git: "commit", MayCreate: []string{".envrc"},
		Bind:     []jobspec.Bind{{Source: "/s", Target: "~/t", Mode: "ro"}, {Source: "/s2", Target: "/t2", Mode: "rw"}},
		NetAllow: []string{"example.org:443"}, NetDeny: []string{"bad.example.org:443"}, Forward: []string{"db:5432"}, Sockets: []string{"/run/x"},
		Credentials: []jobspec.Credential{{Name: "pw", As: "file"}},
		Limits: jobspec.Limits{TimeoutSeconds: 5400, GraceSeconds: 5, MemoryBytes: 512 << 20, CPUPercent: 150, PIDs: 7, FileSizeBytes: 3 << 10, OpenFiles: 9,
			OutputBytes: 100, TmpBytes: 1 << 30, WorkspaceGrowthBytes: 1 << 20, Connections: 3, NetBytes: 5 << 40},
		Denials: jobspec.DenialRules{OnDenial: "kill", Max: 3, Expected: []jobspec.ExpectedDenial{{Code: jobspec.CodeEscSudo, Target: "sudo"}}},
		Backend: jobspec.BackendNeed{AnyOf: []string{"bwrap"}, Require: []string{"userns"}, Devices: []string{"/dev/kvm"}, Image: "i", Host: "h", User: "u", Port: 22},
		Weaker:  []string{"weaker_soft_limits"}, Notify: []string{"failed"},
	}
}

func TestAWrittenJobIsReadAsItWas(t *testing.T) {
	whole := wholeDraft()
	v := reflect.ValueOf(*whole)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the draft has no %s", v.Type().Field(i).Name)
		}
	}
	for _, d := range []*jobspec.Draft{whole, {Name: "least", Command: []string{"true"}}} {
		text := WriteJob(d)
		got, err := ReadJob(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(d, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s\n%s", diff, text)
		}
	}
}

func TestAJobIsWrittenWithNothingThatWasNotTyped(t *testing.T) {
	got := string(WriteJob(&jobspec.Draft{Name: "least", Command: []string{"true"}, Limits: jobspec.Limits{TimeoutSeconds: 60}}))
	if want := "name = \"least\"\ncommand = [\"true\"]\n\n[limits]\ntimeout = \"1m\"\n"; got != want {
		t.Errorf("%s", got)
	}
}
