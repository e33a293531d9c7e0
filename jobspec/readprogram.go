package jobspec

import (
	"path"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec/shell"
)

// interpreter reads the command line of a program that runs program text.
func (r *reading) interpreter(g *grammar, words []string, c around) {
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
	if v.unknown != "" || g.foreign {
		r.find(ruleOpaque, words)
	}
	if v.unknown != "" {
		r.unbound("an option of " + baseName(words[0]) + " is unknown, so its operands are too")
	}
	if len(v.code) > 0 {
		r.inline(g, v, words, c)
	}
	if c.role != "" {
		for _, f := range v.files {
			r.target(RoleScript, f)
		}
	}
	if v.unknown != "" || v.module != "" || len(v.code)+len(v.files) > 0 || g.firstIsCode {
		r.lint(v.operands)
		return
	}
	r.program(g, v, words, c)
}

// program judges the operand that names the program to interpret.
func (r *reading) program(g *grammar, v invocation, words []string, c around) {
	if v.stdin || len(v.operands) == 0 || isStdin(v.operands[0]) {
		if g.programStdin {
			r.fed(g, words, c)
		}
		return
	}
	if c.role != "" {
		r.target(RoleScript, v.operands[0])
	}
	r.lint(v.operands[1:])
}

// isStdin reports whether an operand names standard input, or what another
// program prints.
func isStdin(operand string) bool {
	switch operand {
	case "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
		return true
	}
	return strings.HasPrefix(operand, "<(") || strings.HasPrefix(operand, "/dev/fd/") || strings.HasPrefix(operand, "/proc/self/fd/")
}

// fed judges a program that comes from standard input. Out of a here-document it
// is part of the text, which is bound; a file that a redirection names can be
// bound; anything else cannot.
func (r *reading) fed(g *grammar, words []string, c around) {
	switch {
	case c.feed.hasText:
		r.find(ruleInline, words)
		if g.isShell() {
			r.nested(c.feed.text, g, c)
		}
	case c.feed.file != "" && !c.feed.dynamic && c.at.known && !strings.HasPrefix(c.feed.file, "/dev/") && !r.denyOnly:
		r.find(ruleFed, words)
		r.target(RoleScript, rebased(c.at.dir, c.feed.file))
	default:
		r.find(ruleStdin, words)
	}
}

// rebased is a path as seen from where the job starts.
func rebased(dir, name string) string {
	if path.IsAbs(name) || dir == "." {
		return name
	}
	return path.Join(dir, name)
}

// inline asks about program text in argv, and reads it where it is shell text.
func (r *reading) inline(g *grammar, v invocation, words []string, c around) {
	r.find(ruleInline, words)
	for _, code := range v.code {
		if !g.isShell() {
			r.lint(strings.FieldsFunc(code, notInName))
			continue
		}
		inner := c
		inner.operands = v.operands
		if len(v.operands) == 0 {
			inner.operands = words[:1] // $0 is the shell's own name
		}
		r.shellText(code, g.dialect, inner)
	}
}

func notInName(c rune) bool {
	return strings.ContainsRune(" \t\n\r\"'`()[]{},;|&<>=$", c)
}

// other judges programs that neither wrap nor interpret.
func (r *reading) other(words []string, c around) {
	operands := words[1:]
	name := plainName(baseName(words[0]))
	switch {
	case name == "find" || name == "gfind":
		r.findExec(words, c)
		return
	case name == "java":
		r.java(words, c.role)
		return
	case name == "sed" || name == "gsed":
		r.sed(words, c)
	case isRunner(words):
		r.find(ruleRunner, words)
		r.unbound(baseName(words[0]) + " runs what a file of its own choice says")
	case isExecutor(words[0]) && !onlyAsks(operands):
		r.find(ruleOpaque, words)
		r.executor(words, c)
	case riskyOption(words) != "":
		r.find(ruleOpaque, words)
	}
	r.lint(operands)
}

// executor reads the command behind a program that starts another one, where its
// options are known. What it starts is not bound.
func (r *reading) executor(words []string, c around) {
	inner := c.deeper()
	inner.role = ""
	switch {
	case isApplet(words[0]) && len(words) > 1:
		if g, ok := interpreterFor(words[1]); ok && g.programStdin {
			r.unbound(baseName(words[0]) + " runs an applet that reads a program")
		}
		r.command(words[1:], inner)
		return
	case isLoader(words[0]):
		r.loader(words, c)
		return
	}
	e, ok := executorFor(words[0])
	if !ok {
		return
	}
	v := e.read(words[1:])
	for _, text := range v.code {
		r.shellText(text, shell.POSIX, inner)
	}
	if v.unknown != "" || len(v.operands) <= e.operands {
		return
	}
	rest := v.operands[e.operands:]
	if e.joins {
		r.shellText(strings.Join(rest, " "), shell.POSIX, inner)
		return
	}
	r.command(rest, inner)
}

// loader reads the file that the dynamic loader is told to run.
func (r *reading) loader(words []string, c around) {
	g := grammar{long: map[string]optionKind{"--list": flagOption, "--verify": flagOption, "--inhibit-cache": flagOption,
		"--library-path": valueOption, "--inhibit-rpath": valueOption, "--glibc-hwcaps-prepend": valueOption, "--glibc-hwcaps-mask": valueOption,
		"--audit": loadOption, "--preload": loadOption, "--argv0": valueOption}}
	v := g.read(words[1:])
	if v.loads != "" {
		r.find(ruleLoads, words)
	}
	if v.unknown != "" {
		r.unbound("an option of the loader is unknown, so the program behind it is too")
		return
	}
	r.command(v.operands, c.inside())
}

// findExec reads the commands that find(1) is told to run and the files that it
// is told to write.
func (r *reading) findExec(words []string, c around) {
	asked := false
	ask := func() {
		if !asked {
			r.find(ruleOpaque, words)
			asked = true
		}
	}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-delete":
			ask()
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if i+1 < len(words) {
				r.writing(words[i+1], words, c)
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			ask()
			rest := words[i+1:]
			end := slices.IndexFunc(rest, func(w string) bool { return w == ";" || w == "+" })
			if end < 0 {
				end = len(rest)
			}
			inner := c.deeper()
			inner.role, inner.at.known = "", c.at.known && words[i] == "-exec"
			r.command(rest[:end], inner)
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
