package jobspec

import (
	"slices"
	"testing"
)

func TestRulesThatAllowInVainAreFound(t *testing.T) {
	deny := func(r Rule) Rule { r.ID, r.Effect, r.Why = "d", "deny", "w"; return r }
	allow := func(r Rule) Rule { r.ID, r.Effect, r.Why = "a", "allow", "w"; return r }
	for _, c := range []struct {
		name  string
		deny  Rule
		allow Rule
		want  bool
	}{
		{"the same name", Rule{Name: "sh"}, Rule{Name: "sh"}, true},
		{"a part of the name's commands", Rule{Name: "sh"}, Rule{Name: "sh", Has: []string{"cat"}}, true},
		{"a version of the name", Rule{Name: "python"}, Rule{Name: "python3.12"}, true},
		{"the path of the name", Rule{Name: "git"}, Rule{Path: "/usr/bin/git"}, true},
		{"a path below the pattern", Rule{Path: "/usr/bin/*"}, Rule{Path: "/usr/bin/git"}, true},
		{"the same words", Rule{Name: "git", Has: []string{"push"}}, Rule{Name: "git", Has: []string{"push", "-n"}}, true},
		{"words that args give", Rule{Name: "git", Has: []string{"push"}}, Rule{Name: "git", Args: []Token{{Literal: "push"}, {Any: true}}}, true},
		{"another name", Rule{Name: "git"}, Rule{Name: "ls"}, false},
		{"only some commands", Rule{Name: "git", Has: []string{"push"}}, Rule{Name: "git"}, false},
		{"only some arguments", Rule{Name: "git", Args: []Token{}}, Rule{Name: "git"}, false},
		{"only some folders", Rule{Name: "git", Cwd: "/srv/*"}, Rule{Name: "git"}, false},
		{"only some paths", Rule{Path: "/usr/bin/git"}, Rule{Path: "/usr/bin/*"}, false},
		{"a wider pattern of paths", Rule{Name: "git"}, Rule{Path: "/usr/bin/*"}, false},
	} {
		p := &Policy{Rules: []Rule{deny(c.deny), allow(c.allow)}}
		if got := HiddenRules(p); (len(got) == 1 && got[0].By == "d") != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if got := HiddenRules(&Policy{Rules: []Rule{allow(Rule{Name: "sudo"})}}); len(got) != 1 || got[0].By != "floor.privilege" {
		t.Errorf("what the floor denies: %+v", got)
	}
	other := allow(Rule{Name: "ls"})
	other.File = "policy.d/x.toml"
	if got := HiddenRules(&Policy{ManagedOnly: ManagedOnly{Commands: true}, Rules: []Rule{other}}); len(got) != 1 {
		t.Errorf("beside another file's list: %+v", got)
	}
}

func TestEffectiveValuesNameTheirFiles(t *testing.T) {
	base := &Policy{Serial: 1, EnabledPlatforms: []string{"linux"}, Principals: map[Principal]Ceiling{
		"alice": {MaxTier: Workspace, MaxNet: NetNone, Read: []string{"/srv"}, Limits: Limits{PIDs: 100}}}}
	more := &Policy{Open: true, AgentCLI: "deny", Principals: map[Principal]Ceiling{
		"alice": {MaxTier: ReadOnly, MaxNet: NetProxy, Read: []string{"/srv/a", "/data"}, MaxJobs: 3, Limits: Limits{PIDs: 200}}}}
	fields, known := Effective([]NamedPolicy{{"policy.toml", base}, {"policy.d/x.toml", more}}, "alice")
	if !known {
		t.Fatal("alice is nobody")
	}
	want := map[string]EffectiveField{
		"max_tier":               {Value: []string{"read-only"}, From: []string{"policy.d/x.toml"}},
		"max_net":                {Value: []string{"none"}, From: []string{"policy.toml"}},
		"read":                   {Value: []string{"/srv/a"}, From: []string{"policy.toml", "policy.d/x.toml"}},
		"write":                  {Value: []string{}, From: []string{"default"}},
		"backends":               {Value: []string{"bwrap"}, From: []string{"default"}},
		"agent_cli":              {Value: []string{"deny"}, From: []string{"policy.d/x.toml"}},
		"max_jobs":               {Value: []string{"3"}, From: []string{"policy.d/x.toml"}},
		"max_ttl":                {Value: []string{"90d"}, From: []string{"default"}},
		"limits.pids":            {Value: []string{"100"}, From: []string{"policy.toml"}},
		"limits.timeout_seconds": {Value: []string{"86400"}, From: []string{"floor"}},
	}
	for _, f := range fields {
		w, ok := want[f.Field]
		if ok && (!slices.Equal(f.Value, w.Value) || !slices.Equal(f.From, w.From)) {
			t.Errorf("%+v, want %+v", f, w)
		}
		delete(want, f.Field)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	if _, known := Effective([]NamedPolicy{{"policy.toml", base}, {"policy.d/x.toml", more}}, "carol"); known {
		t.Error("carol is somebody")
	}
}
