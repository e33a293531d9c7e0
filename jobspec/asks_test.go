package jobspec

import (
	"slices"
	"strings"
	"testing"
)

// askedOf is the first ask of an unsigned job.
func askedOf(t *testing.T, in Input) Ask {
	t.Helper()
	in.Signed = Signed{}
	d := Decide(PhaseAdd, in)
	if len(d.Asks) == 0 {
		t.Fatalf("nothing is asked; %+v", d.Refusals())
	}
	return d.Asks[0]
}

// What is asked shows the part it is about, every part of the command, the file
// that starts, who it runs for, and what the sandbox opens.
func TestAnAskShowsAllThatTheAnswerStandsFor(t *testing.T) {
	d, f := goodDraft(), goodFacts()
	d.Command = []string{"sh", "-c", "git pull origin; git push 'a b'; git gc"}
	f.Bound = []Bound{boundAt(RoleExecutable, "sh", "/usr/bin/dash")}
	in := goodInput(t, d, f)
	in.rule(Rule{ID: "push", Effect: "ask", Why: "pushes leave the machine", Name: "git", Has: []string{"push"}})
	in.Signed = Signed{}
	asks := Decide(PhaseAdd, in).Asks
	i := slices.IndexFunc(asks, func(a Ask) bool { return a.Rule == "push" })
	if i < 0 {
		t.Fatalf("asks %+v", asks)
	}
	lines := asks[i].Lines()
	for _, want := range []string{
		`May it run "git" "push" "a b" as alice, tier workspace, net none?`,
		`command: "sh" "-c" "git pull origin; git push 'a b'; git gc"`,
		`part:    "git" "pull" "origin"`, `part:    "git" "push" "a b"`, `part:    "git" "gc"`,
		`program: "/usr/bin/dash"`, `opens:   write "/srv/ops"`, `opens:   read "/srv/data"`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("not shown: %s\n%s", want, strings.Join(lines, "\n"))
		}
	}
	if !strings.Contains(lines[1], "pushes leave the machine") || !strings.Contains(lines[1], `rule "push", managed`) {
		t.Errorf("the rule and its layer are not shown: %s", lines[1])
	}
}

// What opens more asks anew: an answer given for less does not count.
func TestAnAnswerDoesNotCountForMoreThanItShowed(t *testing.T) {
	for name, more := range map[string]func(op *Op){
		"a further read":  func(op *Op) { op.Spec.Read = append(op.Spec.Read, "/srv/more") },
		"a further write": func(op *Op) { op.Spec.Write = []string{"/srv/ops/out"} },
		"another folder":  func(op *Op) { op.Spec.Cwd.Path = "/srv/other" },
		"another argument of another part": func(op *Op) {
			op.Spec.Argv = append(op.Spec.Argv, "--more")
		},
	} {
		in := goodInput(t, goodDraft(), goodFacts())
		in.Op.Spec.Env["PYTHONPATH"] = "/srv/lib"
		in.Op.Spec.Answers = []Answer{askedOf(t, in).Answer()}
		in.alice(func(c *Ceiling) { c.Read = append(c.Read, "/srv/more") })
		if d := Decide(PhaseTrigger, in); !d.Allowed() {
			t.Fatalf("answered, and %+v", d.Refusals())
		}
		more(in.Op)
		in.Paths = observations(in.Op.Spec)
		if codes := codesOf(Decide(PhaseTrigger, in)); !slices.Contains(codes, CodeAskAnswerStale) {
			t.Errorf("%s: %v", name, codes)
		}
	}
}

// Foreign text in a question cannot make a line of its own.
func TestAQuestionHoldsForeignTextInQuotes(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.Op.Spec.Env["PYTHONPATH"] = "x\nopens:   nothing\x1b[2J"
	a := askedOf(t, in)
	if slices.Contains(a.Lines(), "opens:   nothing") || strings.ContainsRune(a.Question, '\x1b') {
		t.Errorf("%q", a.Question)
	}
	in.rule(Rule{ID: "r\nopens:   nothing", Effect: "ask", Why: "w\nopens:   nothing\u202e", Name: "backup.sh"})
	in.Signed = Signed{}
	for _, a := range Decide(PhaseAdd, in).Asks {
		if slices.Contains(a.Lines(), "opens:   nothing") || strings.ContainsRune(a.Question, '\u202e') {
			t.Errorf("%q", a.Question)
		}
	}
}
