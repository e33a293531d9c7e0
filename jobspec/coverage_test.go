package jobspec

import (
	"maps"
	"testing"
)

// Coverage is what the owner and the auditor are told of what the approval does
// not hold: it must name what is bound, and never more.
func TestCoverageNamesWhatIsBoundAndWhatIsNot(t *testing.T) {
	for _, c := range []struct {
		argv   string
		script Script
		files  []string
		more   map[string]string // beside executable, libraries, imports and configuration
	}{
		{argv: "./backup.sh --full"},
		{argv: "python3 job.py", more: map[string]string{"script": "hash"}},
		{argv: "env bash job.sh", more: map[string]string{"interpreter": "hash", "script": "hash"}},
		{argv: "./job --list x", files: []string{"x"}, more: map[string]string{"files": "hash"}},
		{argv: "make all", more: map[string]string{"program": "unbound"}},
		{argv: "make all", files: []string{"Makefile"}, more: map[string]string{"program": "unbound", "files": "hash"}},
		{argv: "sh -c 'x y'", more: map[string]string{"inline": "embedded"}},
		{argv: "a", script: Script{Interpreter: "/bin/sh", Body: "true"}, more: map[string]string{"script": "embedded"}},
	} {
		want := map[string]string{"executable": "hash", "libraries": "unbound", "imports": "unbound", "configuration": "unbound"}
		maps.Copy(want, c.more)
		if got := PlanBinding(words(c.argv), c.script, c.files).Coverage; !maps.Equal(got, want) {
			t.Errorf("%s, files %v: %v, want %v", c.argv, c.files, got, want)
		}
	}
	s := &Spec{Argv: []string{"./job"}, Bound: []Bound{boundAt(RoleExecutable, "./job", "/srv/ops/job"), boundAt(RoleInterpreter, "/bin/sh", "/usr/bin/dash")}}
	if c := CoverageOf(s); c["interpreter"] != "hash" {
		t.Errorf("the interpreter of a first line is not told: %v", c)
	}
}
