package jobtoml

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sbxcron/sbxcron/jobspec"
)

const wholePolicy = `
serial = 12
enabled_platforms = ["linux"]
weaker = ["weaker_soft_limits"]
[managed_only]
commands = true
[roles]
operators = ["op"]
auditors = ["eve", "root"]
[principals.alice]
max_tier = "workspace"
max_net = "proxy"
run_as = ["reports"]
users = ["alice"]
read = ["/srv/data"]
write = ["/srv/out"]
max_ttl = "30d"
min_interval = "5m"
max_jobs = 50
[principals.alice.limits]
timeout = "1h"
output = "4MiB"
pids = 64
[principals."bob@example.org"]
max_tier = "scratch"
disabled = true
[[rules]]
id = "no-push"
effect = "deny"
why = "publishing is manual"
name = "git"
has = ["push"]
match = [["git", "-C", "x", "push"], ["env", "git", "push"], ["sh", "-c", "git fetch && git push"]]
not_match = [["git", "log"], ["echo", "git push"]]
[[rules]]
id = "python"
effect = "allow"
why = "ours"
path = "/usr/bin/python3*"
`

func TestTheWholePolicyIsRead(t *testing.T) {
	got, err := ReadPolicy([]byte(wholePolicy))
	if err != nil {
		t.Fatal(err)
	}
	want := &jobspec.Policy{
		Serial: 12, EnabledPlatforms: []string{"linux"}, Weaker: []string{"weaker_soft_limits"}, ManagedOnly: jobspec.ManagedOnly{Commands: true},
		Operators: []string{"op"}, Auditors: []string{"eve", "root"}, Digest: jobspec.DigestOf([]byte(wholePolicy)),
		Principals: map[jobspec.Principal]jobspec.Ceiling{
			"alice": {MaxTier: jobspec.Workspace, MaxNet: jobspec.NetProxy, RunAs: []string{"reports"}, Users: []string{"alice"},
				Read: []string{"/srv/data"}, Write: []string{"/srv/out"}, Limits: jobspec.Limits{TimeoutSeconds: 3600, OutputBytes: 4 << 20, PIDs: 64},
				MaxTTL: 30 * 24 * time.Hour, MinInterval: 5 * time.Minute, MaxJobs: 50},
			"bob@example.org": {MaxTier: jobspec.Scratch, MaxNet: jobspec.NetNone, Disabled: true},
		},
		Rules: []jobspec.Rule{
			{ID: "no-push", Layer: "managed", Effect: "deny", Why: "publishing is manual", Name: "git", Has: []string{"push"}},
			{ID: "python", Layer: "managed", Effect: "allow", Why: "ours", Path: "/usr/bin/python3*"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPoliciesAreRefusedAsAWhole(t *testing.T) {
	const rule = "serial = 1\n[[rules]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"w\"\nname = \"git\"\n"
	for _, c := range []struct {
		name, text string
		code       jobspec.Code
		line       int
	}{
		{"empty file", "", jobspec.CodePolicySchema, 0},
		{"zero serial", "serial = 0\n", jobspec.CodePolicySchema, 1},
		{"negative serial", "serial = -3\n", jobspec.CodePolicySchema, 1},
		{"syntax", "serial = 1\nx\n", jobspec.CodePolicyParse, 2},
		{"duplicate key", "serial = 1\nserial = 2\n", jobspec.CodePolicyParse, 2},
		{"unknown key", "serial = 1\nallow_all = true\n", jobspec.CodePolicySchema, 2},
		{"key in another case", "serial = 1\n[principals.alice]\nMax_tier = \"workspace\"\n", jobspec.CodePolicySchema, 3},
		{"unknown platform", "serial = 1\nenabled_platforms = [\"plan9\"]\n", jobspec.CodePolicySchema, 2},
		{"unknown weaker choice", "serial = 1\nweaker = [\"weaker_allow_root_jobs\"]\n", jobspec.CodePolicySchema, 2},
		{"tier of other tools", "serial = 1\n[principals.alice]\nmax_tier = \"full\"\n", jobspec.CodeTierForbidden, 3},
		{"net of other tools", "serial = 1\n[principals.alice]\nmax_net = \"host\"\n", jobspec.CodeNetOverCeiling, 3},
		{"root as account", "serial = 1\n[principals.alice]\nrun_as = [\"root\"]\n", jobspec.CodeRunAsForbidden, 3},
		{"uid as account", "serial = 1\n[principals.alice]\nrun_as = [\"#-1\"]\n", jobspec.CodePolicySchema, 3},
		{"bad principal", "serial = 1\n[principals.Alice]\nmax_tier = \"scratch\"\n", jobspec.CodePolicySchema, 2},
		{"relative folder", "serial = 1\n[principals.alice]\nread = [\"srv\"]\n", jobspec.CodePolicySchema, 3},
		{"the whole file system", "serial = 1\n[principals.alice]\nwrite = [\"/\"]\n", jobspec.CodePolicySchema, 3},
		{"folder with dots", "serial = 1\n[principals.alice]\nread = [\"/srv/../etc\"]\n", jobspec.CodePolicySchema, 3},
		{"zero limit", "serial = 1\n[principals.alice.limits]\npids = 0\n", jobspec.CodePolicySchema, 3},
		{"zero jobs", "serial = 1\n[principals.alice]\nmax_jobs = 0\n", jobspec.CodePolicySchema, 3},
		{"effect unknown", strings.Replace(rule, "deny", "forbid", 1), jobspec.CodePolicySchema, 2},
		{"rule about no program", strings.Replace(rule, "name = \"git\"", "has = [\"x\"]", 1), jobspec.CodePolicySchema, 2},
		{"rule that can never match", strings.Replace(rule, "name = \"git\"", "path = \"bin/git\"", 1), jobspec.CodePolicySchema, 2},
		{"name with a slash", strings.Replace(rule, "\"git\"", "\"/usr/bin/git\"", 1), jobspec.CodePolicySchema, 2},
		{"bad pattern", strings.Replace(rule, "name = \"git\"", "path = \"/usr/[\"", 1), jobspec.CodePolicySchema, 2},
		{"same id twice", rule + rule[len("serial = 1\n"):], jobspec.CodePolicySchema, 8},
		{"example that must match does not", rule + "match = [[\"ls\"]]\n", jobspec.CodePolicySelftest, 7},
		{"example that must not match does", rule + "not_match = [[\"git\", \"x\"]]\n", jobspec.CodePolicySelftest, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := ReadPolicy([]byte(c.text))
			var e *Error
			if !errors.As(err, &e) || p != nil {
				t.Fatalf("policy %v, error %v", p, err)
			}
			if e.Reason != c.code || e.Line != c.line {
				t.Errorf("%s at line %d (%v), want %s at line %d", e.Reason, e.Line, err, c.code, c.line)
			}
		})
	}
}

func TestTheFirstPolicyIsAcceptedAndStrict(t *testing.T) {
	for _, principal := range []jobspec.Principal{"alice", "alice@example.org"} {
		data := WritePolicy(NewPolicy{Principal: principal, RunAs: []string{"reports"}, Users: []string{"alice"}})
		p, err := ReadPolicy(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		want := jobspec.Ceiling{MaxTier: jobspec.Workspace, MaxNet: jobspec.NetNone, RunAs: []string{"reports"}, Users: []string{"alice"},
			Read: []string{}, Write: []string{}, MaxTTL: jobspec.DefaultMaxTTL, MinInterval: jobspec.DefaultMinInterval, MaxJobs: jobspec.DefaultMaxJobs}
		if diff := cmp.Diff(want, p.Principals[principal]); diff != "" {
			t.Error(diff)
		}
		if len(p.Rules) != 0 || len(p.Weaker) != 0 || len(p.Operators) != 0 || len(p.Principals) != 1 {
			t.Errorf("%+v", p)
		}
	}
}
