package jobspec

import (
	"slices"
	"testing"
)

func TestRulesMatchAsymmetrically(t *testing.T) {
	seg := func(real string, words ...string) segment { return segment{words: words, real: real} }
	for _, c := range []struct {
		name string
		rule Rule
		seg  segment
		want bool
	}{
		{"deny by base name of the typed path", Rule{Effect: "deny", Name: "git"}, seg("/opt/x", "/opt/git"), true},
		{"deny by base name of the real path", Rule{Effect: "deny", Name: "git"}, seg("/usr/bin/git", "./alias"), true},
		{"deny without the version", Rule{Effect: "deny", Name: "python"}, seg("", "python3.12"), true},
		{"allow with the version only", Rule{Effect: "allow", Name: "python"}, seg("/usr/bin/python3.12", "python3.12"), false},
		{"allow by bare name in a system folder", Rule{Effect: "allow", Name: "git"}, seg("/usr/bin/git", "git"), true},
		{"allow not by bare name elsewhere", Rule{Effect: "allow", Name: "git"}, seg("/tmp/git", "git"), false},
		{"allow not by a typed path", Rule{Effect: "allow", Name: "git"}, seg("/usr/bin/git", "/usr/bin/git"), false},
		{"a star stops at a slash", Rule{Effect: "deny", Path: "/srv/*"}, seg("/srv/a/b", "x"), false},
		{"case counts", Rule{Effect: "deny", Path: "/srv/A"}, seg("/srv/a", "x"), false},
		{"deny by a shortened option", Rule{Effect: "deny", Name: "sort", Has: []string{"--compress-program"}}, seg("", "sort", "--compress-prog=sh"), true},
		{"deny by a letter in a cluster", Rule{Effect: "deny", Name: "rm", Has: []string{"-r"}}, seg("", "rm", "-fr"), true},
		{"allow by the exact word only", Rule{Effect: "allow", Name: "rm", Has: []string{"-r"}}, seg("/bin/rm", "rm", "-fr"), false},
		{"all words must occur", Rule{Effect: "deny", Name: "git", Has: []string{"push", "--force"}}, seg("", "git", "push"), false},
		{"deny by the subcommand in the program's name", Rule{Effect: "deny", Name: "git", Has: []string{"push"}}, seg("/usr/bin/git", "/usr/lib/git-core/git-push", "x"), true},
		{"deny by the arguments behind it", Rule{Effect: "deny", Name: "git", Args: []Token{{Literal: "push"}, {Any: true}}}, seg("", "git-push", "x"), true},
		{"deny not by another subcommand", Rule{Effect: "deny", Name: "git", Has: []string{"push"}}, seg("", "git-lfs", "pull"), false},
		{"deny not by the name's first part alone", Rule{Effect: "deny", Name: "git"}, seg("", "git-lfs"), false},
		{"allow not by it", Rule{Effect: "allow", Name: "git", Has: []string{"push"}}, seg("/usr/bin/git-push", "git-push"), false},
		{"never over word boundaries", Rule{Effect: "deny", Name: "git", Has: []string{"push --force"}}, seg("", "git", "push", "--force"), false},
	} {
		if got := c.rule.matches(c.seg, ""); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestManagedRulesAllowOnlyWhatTheyMatchWhole(t *testing.T) {
	for _, c := range []struct {
		argv  []string
		rules []Rule
		want  bool
	}{
		{[]string{"./backup.sh"}, nil, false},
		{[]string{"./backup.sh"}, []Rule{{ID: "a", Effect: "allow", Why: "w", Path: "/srv/ops/backup.sh"}}, true},
		{[]string{"nice", "./backup.sh"}, []Rule{{ID: "a", Effect: "allow", Why: "w", Name: "nice"}}, false},
		{[]string{"nice", "./backup.sh"}, []Rule{{ID: "a", Effect: "allow", Why: "w", Name: "nice"}, {ID: "b", Effect: "allow", Why: "w", Path: "/srv/ops/backup.sh"}}, true},
		{[]string{"./backup.sh"}, []Rule{{ID: "a", Effect: "allow", Why: "w", Path: "/srv/ops/backup.sh"}, {ID: "d", Effect: "deny", Why: "w", Name: "backup.sh"}}, false},
	} {
		d, f := goodDraft(), goodFacts()
		d.Command = c.argv
		if c.argv[0] == "nice" {
			f.Bound = []Bound{boundAt(RoleExecutable, "nice", "/usr/bin/nice"), boundAt(RoleInterpreter, "./backup.sh", "/srv/ops/backup.sh")}
		}
		in := goodInput(t, d, f)
		in.Policy.ManagedOnly.Commands, in.Policy.Rules = true, c.rules
		if got := Decide(PhaseTrigger, in); got.Allowed() != c.want {
			t.Errorf("%q under %v: %+v", c.argv, c.rules, got.Refusals())
		}
	}
}

// A tool that hides behind a link or an interpreter line is still what it is.
func TestAPrivilegeToolIsDeniedByItsRealName(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.Op.Spec.Bound[0].Real = "/usr/bin/sudo"
	in.Paths = observations(in.Op.Spec)
	if codes := codesOf(Decide(PhaseTrigger, in)); !slices.Contains(codes, CodeCmdPrivilege) {
		t.Errorf("%v", codes)
	}
}
