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
	words []string
	real  string // real path of words[0], where it is bound
}

// reading is what was read out of a command. It serves rules and binding only:
// what runs is the signed argv, never anything rebuilt from here.
type reading struct {
	segments  []segment
	findings  []finding
	targets   []BindTarget
	assigns   []string // environment set by the command itself
	ambiguous string   // why what runs cannot be bound from argv; "" when it can
	denyOnly  bool     // reasons to ask are not collected
}

// readCommand reads argv, or an embedded script with argv as its operands.
func readCommand(argv []string, script Script) *reading {
	r := &reading{}
	if script.Interpreter == "" {
		if len(argv) > 0 {
			r.command(argv, 0, RoleExecutable)
		}
		return r
	}
	r.target(RoleExecutable, script.Interpreter)
	words := append([]string{script.Interpreter}, argv...)
	r.segments = append(r.segments, segment{words: words})
	r.privilege(words)
	if g, ok := interpreterFor(script.Interpreter); ok && g.isShell() {
		r.body(script.Body)
	}
	return r
}

func (r *reading) target(role Role, typed string) {
	t := BindTarget{Role: role, Typed: typed}
	if role != "" && !slices.Contains(r.targets, t) {
		r.targets = append(r.targets, t)
	}
}

// maxFindings bounds what is collected about one command. A command that gives
// more reasons is denied: nobody answers so many questions.
const maxFindings = 100

func (r *reading) find(f floorRule, words []string) {
	switch {
	case r.denyOnly && f.effect != effectDeny, len(r.findings) > maxFindings:
		return
	case len(r.findings) == maxFindings:
		f, words = ruleUnparseable, words[:1]
	}
	r.findings = append(r.findings, finding{effect: f.effect, code: f.code, layer: LayerFloor, rule: f.id, text: f.text, words: slices.Clone(words)})
}

func (r *reading) unbound(why string) {
	r.ambiguous = orElse(r.ambiguous, why)
}

// command reads one command line. Depth counts the commands around it; role is
// how its program is bound, "" inside a text, where nothing is.
func (r *reading) command(words []string, depth int, role Role) {
	if len(words) == 0 || words[0] == "" {
		return
	}
	r.target(role, words[0])
	r.segments = append(r.segments, segment{words: slices.Clone(words)})
	if depth > maxWrapperDepth {
		r.find(ruleDepth, words)
		return
	}
	if r.privilege(words) {
		return
	}
	if w, ok := wrapperFor(words[0]); ok {
		r.wrapped(w, words, depth, role)
		return
	}
	if g, ok := interpreterFor(words[0]); ok {
		r.interpreter(g, words, depth, role)
		return
	}
	r.other(words, depth, role)
}

// privilege denies tools that change rights, and the switches that turn an
// agent's own checks off.
func (r *reading) privilege(words []string) bool {
	if isPrivilege(words[0]) {
		r.find(rulePrivilege, words)
		return true
	}
	if isAgent(words[0]) && bypassFlag(words[1:]) != "" {
		r.find(ruleBypass, words)
		return true
	}
	return false
}

func (r *reading) wrapped(w *wrapper, words []string, depth int, role Role) {
	u := w.unwrap(words[1:])
	switch {
	case u.denied != "":
		r.find(ruleEnvSplit, words)
	case u.unknown != "":
		r.find(ruleOpaque, words)
		r.lint(words)
		r.unbound("an option of " + baseName(words[0]) + " is unknown, so the program behind it is too")
	default:
		r.assigns = append(r.assigns, u.assigns...)
		r.command(u.inner, depth+1, inner(role))
	}
}

// inner is the role of a program that another one starts: it is bound too, but
// it is not what the sandbox starts.
func inner(role Role) Role {
	if role == "" {
		return ""
	}
	return RoleInterpreter
}

func (r *reading) interpreter(g *grammar, words []string, depth int, role Role) {
	v := g.read(words[1:])
	if v.exits {
		return
	}
	if v.loads != "" || v.module != "" {
		r.find(ruleLoads, words)
	}
	if v.module != "" {
		r.unbound(baseName(words[0]) + " runs the module " + v.module + ", which no operand names as a file")
	}
	if v.unknown != "" {
		r.find(ruleOpaque, words)
		r.unbound("an option of " + baseName(words[0]) + " is unknown, so its operands are too")
	}
	if len(v.code) > 0 {
		r.inline(g, v, words, depth)
	}
	if role != "" {
		for _, f := range v.files {
			r.target(RoleScript, f)
		}
	}
	if v.unknown != "" || v.module != "" || len(v.code)+len(v.files) > 0 || g.firstIsCode {
		return
	}
	r.program(g, v, words, role)
}

// program judges the operand that names the program to interpret.
func (r *reading) program(g *grammar, v invocation, words []string, role Role) {
	if v.stdin || len(v.operands) == 0 || isStdin(v.operands[0]) {
		if g.programStdin {
			r.find(ruleStdin, words)
		}
		return
	}
	if role != "" {
		r.target(RoleScript, v.operands[0])
	}
}

func isStdin(operand string) bool {
	switch operand {
	case "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
		return true
	}
	return false
}

// inline asks about program text in argv, and reads it where it is shell text.
func (r *reading) inline(g *grammar, v invocation, words []string, depth int) {
	r.find(ruleInline, words)
	if !g.isShell() {
		for _, code := range v.code {
			r.lint(strings.FieldsFunc(code, notInName))
		}
		return
	}
	for _, code := range v.code {
		r.shellText(code, depth)
		if strings.Contains(code, "$@") || strings.Contains(code, "$*") || strings.Contains(code, "$0") || strings.Contains(code, "$1") {
			r.carried(v.operands, depth)
		}
	}
}

// carried reads a command that a shell text takes from its operands: with $0 it
// begins at the first, else at the second.
func (r *reading) carried(operands []string, depth int) {
	for i := range min(2, len(operands)) {
		r.command(operands[i:], depth+1, "")
	}
}

func notInName(c rune) bool {
	return strings.ContainsRune(" \t\n\r\"'`()[]{},;|&<>=$", c)
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

// other judges programs that neither wrap nor interpret.
func (r *reading) other(words []string, depth int, role Role) {
	operands := words[1:]
	switch {
	case baseName(words[0]) == "find":
		r.findExec(words, depth)
		return
	case baseName(words[0]) == "java":
		r.java(words, role)
		return
	case isRunner(words):
		r.find(ruleRunner, words)
		r.unbound(baseName(words[0]) + " runs what a file of its own choice says")
	case isExecutor(words[0]) && !onlyAsks(operands):
		r.find(ruleOpaque, words)
		if isApplet(words[0]) && len(operands) > 0 {
			r.command(operands, depth+1, "")
		}
	case riskyOption(words) != "":
		r.find(ruleOpaque, words)
	}
	r.lint(operands)
}

// findExec reads the commands that find(1) is told to run.
func (r *reading) findExec(words []string, depth int) {
	asked := false
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-exec", "-execdir", "-ok", "-okdir":
			if !asked {
				r.find(ruleOpaque, words)
				asked = true
			}
			rest := words[i+1:]
			end := slices.IndexFunc(rest, func(w string) bool { return w == ";" || w == "+" })
			if end < 0 {
				end = len(rest)
			}
			r.command(rest[:end], depth+1, "")
			i += end
		}
	}
}

// java binds the archive that is run; a class path is what nobody can bind.
func (r *reading) java(words []string, role Role) {
	if onlyAsks(words[1:]) {
		return
	}
	i := slices.Index(words, "-jar")
	if i < 0 || i+1 >= len(words) {
		r.find(ruleLoads, words)
		r.unbound("java runs a class, which no operand names as a file")
		return
	}
	if slices.ContainsFunc(words[1:i], func(w string) bool { return strings.HasPrefix(w, "-javaagent") || strings.HasPrefix(w, "-agent") }) {
		r.find(ruleLoads, words)
	}
	if role != "" {
		r.target(RoleScript, words[i+1])
	}
}

// body reads an embedded shell script. It lies inside the signature and is
// shown whole, so only what would be denied counts.
func (r *reading) body(text string) {
	b := reading{denyOnly: true}
	b.shellText(text, 0)
	r.segments = append(r.segments, b.segments...)
	r.assigns = append(r.assigns, b.assigns...)
	for _, f := range b.findings {
		if f.effect == effectDeny {
			r.findings = append(r.findings, f)
		}
	}
}

// shellText reads the commands of a text.
func (r *reading) shellText(text string, depth int) {
	commands, err := shellCommands(text)
	if err != nil {
		r.find(ruleUnparseable, []string{text})
		return
	}
	for _, c := range commands {
		r.assigns = append(r.assigns, c.assigns...)
		r.shellCommand(c, depth)
	}
}

func (r *reading) shellCommand(c shellCommand, depth int) {
	words, start := c.words, 0
	for start < len(words) && !words[start].dynamic && (words[start].text == "exec" || words[start].text == "command" || words[start].text == "builtin") {
		start++
	}
	words = words[start:]
	if len(words) == 0 {
		return
	}
	plain := make([]string, len(words))
	for i, w := range words {
		plain[i] = w.text
	}
	switch {
	case words[0].dynamic || start > 0 && strings.HasPrefix(plain[0], "-"):
		r.find(ruleDynamic, plain)
	case plain[0] == "eval":
		r.find(ruleDynamic, plain)
		r.nestedText(strings.Join(plain[1:], " "), depth)
	case plain[0] == "." || plain[0] == "source" || plain[0] == "trap" || plain[0] == "alias":
		r.find(ruleDynamic, plain)
	default:
		r.fed(c, plain, depth)
	}
}

func (r *reading) nestedText(text string, depth int) {
	if depth >= maxWrapperDepth {
		r.find(ruleDepth, []string{text})
		return
	}
	r.shellText(text, depth+1)
}

// fed reads one literal command. An interpreter that gets its program from a
// here-document gets it from the text, which is bound; that is inline code.
func (r *reading) fed(c shellCommand, words []string, depth int) {
	before := len(r.findings)
	r.command(words, depth+1, "")
	if !c.here {
		return
	}
	for i := before; i < len(r.findings); i++ {
		if r.findings[i].code == CodeCmdStdinProgram {
			f := ruleInline
			r.findings[i] = finding{effect: f.effect, code: f.code, layer: LayerFloor, rule: f.id, text: f.text, words: r.findings[i].words}
		}
	}
}
