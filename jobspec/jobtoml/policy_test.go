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
agent_cli = "deny"
unmatched_commands = "ask"
agent_inner_sandbox = "off"
[managed_only]
commands = true
read_paths = true
domains = true
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
bind = ["/etc/reports"]
hosts = ["*.example.org:443", "10.0.0.0/8:5432"]
private_hosts = ["10.0.0.0/8:5432"]
forward = ["db.internal:5432"]
sockets = ["/run/postgresql"]
credentials = ["db-password"]
backends = ["bwrap"]
windows = ["Mon-Fri 01:00-05:00 Europe/Berlin", "Sat,Sun 22:00-06:00"]
require = { workspace = ["terminal"], read-only = ["touch", "terminal"] }
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
args = ["-I", { alt = ["a.py", "b.py"] }, { any = true }, { re = "[0-9]+" }, ""]
rest = true
cwd = "/srv/*"
`

func TestTheWholePolicyIsRead(t *testing.T) {
	got, err := ReadPolicy([]byte(wholePolicy))
	if err != nil {
		t.Fatal(err)
	}
	want := &jobspec.Policy{
		Serial: 12, EnabledPlatforms: []string{"linux"}, Weaker: []string{"weaker_soft_limits"}, AgentCLI: "deny", AgentInnerSandbox: "off", UnmatchedCommands: "ask",
		ManagedOnly: jobspec.ManagedOnly{Commands: true, ReadPaths: true, Lists: []string{""}},
		Operators:   []string{"op"}, Auditors: []string{"eve", "root"}, Digest: jobspec.DigestOf([]byte(wholePolicy)),
		Principals: map[jobspec.Principal]jobspec.Ceiling{
			"alice": {MaxTier: jobspec.Workspace, MaxNet: jobspec.NetProxy, RunAs: []string{"reports"}, Users: []string{"alice"},
				Read: []string{"/srv/data"}, Write: []string{"/srv/out"}, Bind: []string{"/etc/reports"},
				Hosts: []string{"*.example.org:443", "10.0.0.0/8:5432"}, PrivateHosts: []string{"10.0.0.0/8:5432"}, Forward: []string{"db.internal:5432"},
				Sockets: []string{"/run/postgresql"}, Credentials: []string{"db-password"}, Backends: []string{"bwrap"},
				Windows: [][]jobspec.Window{{
					{Days: [7]bool{1: true, 2: true, 3: true, 4: true, 5: true}, From: 60, To: 300, Zone: "Europe/Berlin"},
					{Days: [7]bool{0: true, 6: true}, From: 22 * 60, To: 6 * 60, Zone: "UTC"}}},
				Require: map[jobspec.Tier][]string{jobspec.Workspace: {"terminal"}, jobspec.ReadOnly: {"terminal", "touch"}},
				Limits:  jobspec.Limits{TimeoutSeconds: 3600, OutputBytes: 4 << 20, PIDs: 64},
				MaxTTL:  30 * 24 * time.Hour, MinInterval: 5 * time.Minute, MaxJobs: 50},
			"bob@example.org": {MaxTier: jobspec.Scratch, MaxNet: jobspec.NetNone, Disabled: true},
		},
		Rules: []jobspec.Rule{
			{ID: "no-push", Layer: "managed", Effect: "deny", Why: "publishing is manual", Name: "git", Has: []string{"push"}},
			{ID: "python", Layer: "managed", Effect: "allow", Why: "ours", Path: "/usr/bin/python3*", Rest: true, Cwd: "/srv/*",
				Args: []jobspec.Token{{Literal: "-I"}, {Alt: []string{"a.py", "b.py"}}, {Any: true}, {Re: "[0-9]+"}, {}}},
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
		{"a window that is none", "serial = 1\n[principals.alice]\nwindows = [\"at night\"]\n", jobspec.CodePolicySchema, 3},
		{"a way of signing that is none", "serial = 1\n[principals.alice]\nrequire = { scratch = [\"luck\"] }\n", jobspec.CodePolicySchema, 3},
		{"a tier that is none", "serial = 1\n[principals.alice]\nrequire = { full = [\"touch\"] }\n", jobspec.CodePolicySchema, 3},
		{"a host without a port", "serial = 1\n[principals.alice]\nhosts = [\"example.org\"]\n", jobspec.CodePolicySchema, 3},
		{"every host", "serial = 1\n[principals.alice]\nhosts = [\"*:443\"]\n", jobspec.CodePolicySchema, 3},
		{"the machine itself", "serial = 1\n[principals.alice]\nhosts = [\"127.0.0.1:80\"]\n", jobspec.CodePolicySchema, 3},
		{"a forward to many", "serial = 1\n[principals.alice]\nforward = [\"*.example.org:80\"]\n", jobspec.CodePolicySchema, 3},
		{"a credential that is a place", "serial = 1\n[principals.alice]\ncredentials = [\"../key\"]\n", jobspec.CodePolicySchema, 3},
		{"a backend that is none", "serial = 1\n[principals.alice]\nbackends = [\"local\"]\n", jobspec.CodePolicySchema, 3},
		{"no run at a time", "serial = 1\n[principals.alice]\nmax_concurrent = 0\n", jobspec.CodePolicySchema, 3},
		{"no run of a tier at a time", "serial = 1\n[max_concurrent]\nworkspace = 0\n", jobspec.CodePolicySchema, 3},
		{"a switch that is none", "serial = 1\n[managed_only]\ndomains = false\n", jobspec.CodePolicySchema, 3},
		{"agents without a question", "serial = 1\nagent_cli = \"allow\"\n", jobspec.CodePolicySchema, 2},
		{"token of two kinds", rule + "args = [{ any = true, re = \"x\" }]\n", jobspec.CodePolicySchema, 7},
		{"token with an unknown key", rule + "args = [{ glob = \"x\" }]\n", jobspec.CodePolicySchema, 7},
		{"token in another case", rule + "args = [{ Any = true }]\n", jobspec.CodePolicySchema, 7},
		{"token that matches nothing", rule + "args = [{ any = false }]\n", jobspec.CodePolicySchema, 7},
		{"token that is a number", rule + "args = [3]\n", jobspec.CodePolicySchema, 7},
		{"token of no words", rule + "args = [{ alt = [] }]\n", jobspec.CodePolicySchema, 2},
		{"pattern that is none", rule + "args = [{ re = \"(\" }]\n", jobspec.CodePolicySchema, 2},
		{"pattern that never matches", rule + "args = [{ re = \"a[^\\\\x00-\\\\x{10FFFF}]\" }]\n", jobspec.CodePolicySchema, 2},
		{"no arguments, and one of them", rule + "args = []\nhas = [\"push\"]\n", jobspec.CodePolicySchema, 2},
		{"rest without args", rule + "rest = true\n", jobspec.CodePolicySchema, 2},
		{"relative cwd", rule + "cwd = \"srv\"\n", jobspec.CodePolicySchema, 2},
		{"path with dots", strings.Replace(rule, "name = \"git\"", "path = \"/usr/../bin/git\"", 1), jobspec.CodePolicySchema, 2},
		{"a name allowed where none counts", strings.Replace(rule, "deny", "allow", 1) + "path = \"/opt/*\"\n", jobspec.CodePolicySchema, 2},
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
			Read: []string{}, Write: []string{}, MaxTTL: jobspec.DefaultMaxTTL, MinInterval: jobspec.DefaultMinInterval, MaxJobs: FirstMaxJobs}
		if diff := cmp.Diff(want, p.Principals[principal]); diff != "" {
			t.Error(diff)
		}
		if len(p.Rules) != 0 || len(p.Weaker) != 0 || len(p.Operators) != 0 || len(p.Principals) != 1 {
			t.Errorf("%+v", p)
		}
	}
}

// A file beside policy.toml says nothing where it leaves a key out, and names
// itself where it asks for a list of commands.
func TestAFurtherFileOnlyNarrows(t *testing.T) {
	p, err := ReadFurther("policy.d/50-x.toml", []byte("serial = 2\n[managed_only]\ncommands = true\n[principals.alice]\nread = []\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := p.Principals["alice"]
	if !p.Open || c.MaxTier != jobspec.Workspace || c.MaxNet != jobspec.NetProxy || c.Write != nil || c.Read == nil || p.EnabledPlatforms != nil {
		t.Errorf("%+v", p)
	}
	if diff := cmp.Diff([]string{"policy.d/50-x.toml"}, p.ManagedOnly.Lists); diff != "" {
		t.Error(diff)
	}
	if _, err := ReadFurther("policy.d/50-x.toml", []byte("[principals.alice]\nread = []\n")); err == nil {
		t.Error("a file without a serial is read")
	}
}

func TestAnOwnersFileSaysOnlyWhatIsTheOwners(t *testing.T) {
	read := func(text string) error {
		_, err := ReadOwner("owner.d/alice.toml", "alice", []byte(text))
		return err
	}
	good := "[principals.alice]\nmax_tier = \"scratch\"\n[[rules]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"w\"\nname = \"git\"\n"
	if err := read(good); err != nil {
		t.Error(err)
	}
	p, _ := ReadOwner("owner.d/alice.toml", "alice", []byte(good))
	if p.Rules[0].Layer != jobspec.LayerOwner || p.Principals["alice"].MaxTier != jobspec.Scratch {
		t.Errorf("%+v", p)
	}
	for _, text := range []string{"serial = 1\n", "weaker = []\n", "enabled_platforms = []\n", "agent_cli = \"ask\"\n", "agent_inner_sandbox = \"off\"\n",
		"[managed_only]\ncommands = true\n", "[roles]\noperators = []\n", "[principals.bob]\nmax_tier = \"scratch\"\n", "[principals.alice]\nusers = []\n"} {
		if e := (*Error)(nil); !errors.As(read(text), &e) || e.Reason != jobspec.CodePolicySchema || e.Line == 0 {
			t.Errorf("%q: %v", text, read(text))
		}
	}
}

func TestAllProblemsOfAPolicyAreTold(t *testing.T) {
	_, all := PolicyProblems("", "", []byte("serial = 0\nweaker = [\"x\"]\n[principals.alice]\nread = [\"srv\"]\nmax_jobs = 0\n"))
	var lines []int
	for _, e := range all {
		lines = append(lines, e.Line)
	}
	if diff := cmp.Diff([]int{1, 2, 4, 5}, lines); diff != "" {
		t.Errorf("%s%v", diff, all)
	}
	if p, all := PolicyProblems("", "", []byte("serial = 1\n")); len(all) != 0 || p == nil {
		t.Errorf("%v", all)
	}
}

// Whatever stands in a file, it is read or refused with a code, and as a file that
// narrows it grants nothing that policy.toml would not.
func FuzzReadPolicy(f *testing.F) {
	f.Add([]byte(wholePolicy))
	f.Add([]byte("serial = 1\n[[rules]]\nargs = [[{re={}}]]\n"))
	f.Add([]byte("rules = [{ args = [{ any = true }, \"\"] }]\nserial = 1\n"))
	f.Add([]byte("serial = 1\n[principals.alice]\nwindows = [\"Mon 24:00-\"]\nrequire = {}\n"))
	base, err := ReadPolicy([]byte(wholePolicy))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, who := range []jobspec.Principal{"", "alice"} {
			p, problems := PolicyProblems("policy.d/x.toml", who, data)
			for _, e := range problems {
				if !e.Reason.Known() {
					t.Errorf("a problem without a code: %v", e)
				}
			}
			if len(problems) > 0 {
				continue
			}
			met := jobspec.Meet(base, p)
			for name, c := range met.Principals {
				of, known := base.Principals[name]
				if !known || c.MaxTier > of.MaxTier || c.MaxNet > of.MaxNet || len(c.Windows) < len(of.Windows) || of.Disabled && !c.Disabled {
					t.Errorf("%q widens %s", data, name)
				}
			}
		}
	})
}
