package jobspec

import (
	"slices"
	"strings"
)

// maxWrapperDepth bounds how many programs may stand before the one that does
// the work. Deeper is denied, so that reading never stops before running does.
const maxWrapperDepth = 4

// effect is what a finding about a command demands.
type effect string

const (
	effectDeny  effect = "deny"
	effectAsk   effect = "ask"
	effectAllow effect = "allow"
)

// finding is a reason to deny a command or to ask about it.
type finding struct {
	effect effect
	code   Code
	layer  string
	rule   string   // id of the rule
	text   string   // what the rule says, part of the ask's identity
	words  []string // the segment that it is about
}

// segment is one command that would run, as far as it can be read.
type segment struct {
	words   []string
	real    string // real path of words[0], where it is bound
	at      spot   // where it starts
	inText  bool   // it stands in a shell text, where a bare name is looked up in the fixed PATH
	builtin bool   // the shell does it itself and runs no program
}

// spot is a folder, relative to the job's cwd or absolute.
type spot struct {
	dir   string
	known bool
}

// assign is a variable that the command itself sets.
type assign struct {
	name, value string
	dynamic     bool   // only the shell knows the value
	inText      bool   // set in a shell text
	command     string // the command that it stands before there
}

// writing is a file that a redirection, or an option that is one, writes.
type writing struct {
	path    string
	dynamic bool // only the shell knows the path
	at      spot
	quiet   bool // in an embedded script, where an unknown path is no question
	words   []string
}

// reading is what was read out of a command. It serves rules and binding only:
// what runs is the signed argv, never anything rebuilt from here.
type reading struct {
	root      string // the job's cwd, "" where it has none or nobody knows it
	segments  []segment
	findings  []finding
	targets   []BindTarget
	assigns   []assign
	writes    []writing
	agents    []agentRun
	ambiguous string // why what runs cannot be bound from argv; "" when it can
	denyOnly  bool   // reasons to ask are not collected
}

// around is what surrounds a command.
type around struct {
	depth    int      // commands and texts around it
	role     Role     // how its program is bound, "" inside a text, where nothing is
	at       spot     // where it starts
	inText   bool     // it stands in a shell text
	feed     feed     // its standard input
	zsh      bool     // the text around it is one of zsh
	feeds    bool     // its output goes into a pipe
	operands []string // $0, $1 and so on of the text it stands in
}

func (a around) deeper() around {
	a.depth++
	return a
}

// feed is what a shell text gives a command as standard input.
type feed struct {
	text    string // a here-document, with hasText
	hasText bool
	file    string // a redirection, "" for none
	dynamic bool   // of the file
}

// readCommand reads argv, or an embedded script with argv as its operands. Root
// is the job's cwd.
func readCommand(argv []string, script Script, root string) *reading {
	r := &reading{root: root}
	top := around{role: RoleExecutable, at: spot{".", true}}
	if script.Interpreter == "" {
		if len(argv) > 0 {
			r.command(argv, top)
		}
		return r
	}
	r.target(RoleExecutable, script.Interpreter)
	words := append([]string{script.Interpreter}, argv...)
	r.segment(words, top)
	r.privilege(words)
	if g, ok := interpreterFor(script.Interpreter); ok && g.isShell() {
		r.body(script.Body, g, argv)
	}
	return r
}

func (r *reading) target(role Role, typed string) {
	t := BindTarget{Role: role, Typed: typed}
	if role != "" && !slices.Contains(r.targets, t) {
		r.targets = append(r.targets, t)
	}
}

func (r *reading) segment(words []string, c around) {
	r.segments = append(r.segments, segment{words: slices.Clone(words), at: c.at, inText: c.inText})
}

// maxFindings bounds what is collected about one command. A command that gives
// more reasons is denied: nobody answers so many questions.
const maxFindings = 100

func (r *reading) find(f floorRule, words []string) { r.findSaying(f, words, "") }

// findSaying is find with more to say than the rule does.
func (r *reading) findSaying(f floorRule, words []string, more string) {
	switch {
	case r.denyOnly && f.effect != effectDeny, len(r.findings) > maxFindings:
		return
	case len(r.findings) == maxFindings:
		f, words, more = ruleUnparseable, words[:1], ""
	}
	text := f.text
	if more != "" {
		text += ": " + more
	}
	r.findings = append(r.findings, finding{effect: f.effect, code: f.code, layer: LayerFloor, rule: f.id, text: text, words: slices.Clone(words)})
}

func (r *reading) unbound(why string) {
	r.ambiguous = orElse(r.ambiguous, why)
}

// command reads one command line.
func (r *reading) command(words []string, c around) {
	if len(words) == 0 || words[0] == "" {
		return
	}
	r.target(c.role, words[0])
	r.segment(words, c)
	if c.depth > maxWrapperDepth {
		r.find(ruleDepth, words)
		return
	}
	if r.privilege(words) {
		return
	}
	r.agent(words, c)
	r.writesOf(words, c)
	r.yesLint(words, c)
	if w, ok := wrapperFor(words[0]); ok {
		r.wrapped(w, words, c)
		return
	}
	if g, ok := interpreterFor(words[0]); ok {
		r.interpreter(g, words, c)
		return
	}
	r.other(words, c)
}

// privilege denies tools that change rights.
func (r *reading) privilege(words []string) bool {
	if isPrivilege(words[0]) || opensHost(words) {
		r.find(rulePrivilege, words)
		return true
	}
	return false
}

func (r *reading) wrapped(w *wrapper, words []string, c around) {
	u := w.unwrap(words[1:])
	switch {
	case u.denied != "":
		r.find(ruleEnvSplit, words)
	case u.unknown != "":
		r.find(ruleOpaque, words)
		r.lint(words)
		r.unbound("an option of " + baseName(words[0]) + " is unknown, so the program behind it is too")
	default:
		for _, a := range u.assigns {
			name, value, _ := strings.Cut(a, "=")
			r.assigns = append(r.assigns, assign{name: name, value: value, inText: c.inText, command: baseName(words[0])})
		}
		r.command(u.inner, c.inside())
	}
}

// inside is what surrounds a program that another one starts: it is bound too,
// but it is not what the sandbox starts.
func (a around) inside() around {
	if a.role != "" {
		a.role = RoleInterpreter
	}
	return a.deeper()
}

// lint denies nothing: it asks when a privilege tool is named where no command
// was recognised.
func (r *reading) lint(words []string) {
	for _, w := range words {
		if isPlainlyPrivilege(w) {
			r.find(ruleMention, []string{w})
		}
	}
}
