package shelltest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// recorders is more than most texts call, so that each call has a name of its own:
// with a few names for all, a command that is not read would hide behind another
// of its name that is.
const recorders = 60

// Names are the recorders that the texts call. Those with an odd number fail.
func Names() []string {
	var all []string
	for i := range recorders {
		all = append(all, fmt.Sprintf("rec%d", i))
	}
	return all
}

// Tools are the programs of the system that the texts also call.
func Tools() []string {
	return []string{"env", "nice", "timeout", "xargs", "find", "nohup", "sh", "bash", "dash", "cat", "true", "printf", "stdbuf"}
}

// Text makes a text of the language that dash reads, or bash.
func Text(r *rand.Rand, bash bool) string {
	g := &generator{r: r, bash: bash, order: r.Perm(recorders)}
	return g.list(3)
}

type generator struct {
	r       *rand.Rand
	bash    bool
	order   []int // of the recorders
	named   int   // how many calls have a name
	funcs   int
	quoting int // texts in single quotes around
}

func (g *generator) pick(options ...string) string { return options[g.r.IntN(len(options))] }

// name is the next recorder, and one again only where all have been called.
func (g *generator) name() string {
	g.named++
	return fmt.Sprintf("rec%d", g.order[g.named%recorders])
}

// list is one to three statements.
func (g *generator) list(depth int) string {
	var b strings.Builder
	n, piped := 1+g.r.IntN(3), false
	for i := range n {
		if !piped {
			b.WriteString(g.pick("", "", "", "! "))
		}
		b.WriteString(g.statement(depth))
		if i < n-1 {
			by := g.pick("; ", "; ", "\n", " && ", " || ", " | ", " & ")
			b.WriteString(by)
			piped = by == " | "
		}
	}
	return b.String()
}

func (g *generator) statement(depth int) string {
	if depth <= 0 {
		return g.simple(0)
	}
	forms := []func(int) string{g.simple, g.simple, g.simple, g.group, g.subshell, g.branch, g.loop, g.cases, g.function, g.assignment, g.wrapped, g.nested, g.evaluated}
	if g.quoting == 0 {
		forms = append(forms, g.heredoc)
	}
	if g.bash {
		forms = append(forms, g.bashOnly)
	}
	return forms[g.r.IntN(len(forms))](depth - 1)
}

// spelled writes a recorder's name in one of the ways that mean the same.
func (g *generator) spelled() string {
	n := g.name()
	forms := []string{n, n, n, `r\ec` + n[3:], `"rec"` + n[3:], `re""c` + n[3:], "re\\\nc" + n[3:]}
	if g.quoting == 0 {
		forms = append(forms, `'re'c`+n[3:])
		if g.bash {
			forms = append(forms, `$'\x72ec`+n[3:]+`'`, `$'\162'ec`+n[3:])
		}
	}
	return g.pick(forms...)
}

func (g *generator) simple(depth int) string {
	s := g.pick("", "", "", "A=b ") + g.spelled()
	for range g.r.IntN(3) {
		s += " " + g.operand(depth)
	}
	return s + g.pick("", "", "", " >out", " 2>&1", " >>out 2>/dev/null", " </dev/null", " >out$("+g.name()+")", " 2>\"out `"+g.name()+"`\"")
}

func (g *generator) operand(depth int) string {
	if depth <= 0 {
		return g.pick("a", "-x", `"b c"`, "rec9", `\#`, "2", "=", `\;`)
	}
	inner := g.statement(depth - 1)
	switch g.r.IntN(9) {
	case 0:
		return "$( " + inner + "\n)"
	case 1:
		return `"x $( ` + inner + "\n" + `) y"`
	case 2:
		return "${UNSET:-$( " + inner + "\n)}"
	case 3:
		return "$(( 1 + 0$( " + inner + "\n) ))"
	case 4:
		return "`" + g.name() + " a`"
	case 5:
		return "${UNSET:=$( " + inner + "\n)}"
	case 6:
		return "\"${HERE#$( " + inner + "\n)}\""
	case 7:
		return "a$( " + g.pick("X=$( "+inner+"\n)", "cat <<END\n$( "+inner+"\n)\nEND\n") + "\n)"
	default:
		return "`" + g.name() + " \\`" + g.name() + "\\``"
	}
}

func (g *generator) group(depth int) string { return "{ " + g.list(depth) + "\n}" }

func (g *generator) subshell(depth int) string { return "( " + g.list(depth) + "\n)" }

func (g *generator) branch(depth int) string {
	s := "if " + g.list(depth) + "\nthen " + g.list(depth) + "\n"
	if g.r.IntN(2) == 0 {
		s += "elif " + g.simple(0) + "\nthen " + g.simple(0) + "\n"
	}
	return s + "else " + g.list(depth) + "\nfi"
}

func (g *generator) loop(depth int) string {
	switch g.r.IntN(3) {
	case 0:
		return "for v in a $(" + g.simple(0) + "\n) b; do " + g.list(depth) + "\ndone"
	case 1:
		return "while " + g.simple(0) + "\ndo " + g.list(depth) + "\nbreak\ndone"
	default:
		return "until " + g.simple(0) + "\ndo " + g.list(depth) + "\nbreak\ndone"
	}
}

func (g *generator) cases(depth int) string {
	word := g.pick("a", "a$("+g.simple(0)+"\n)")
	return "case " + word + " in (b|$(" + g.simple(0) + "\n)) " + g.simple(0) + ";; a|rec1) " + g.list(depth) + "\n;; *) " + g.simple(0) + "\nesac"
}

func (g *generator) function(depth int) string {
	g.funcs++
	f := fmt.Sprintf("fun%d", g.funcs)
	return f + "() { " + g.list(depth) + "\n}; " + f + " a"
}

func (g *generator) assignment(depth int) string {
	return g.pick("X=", "export X=") + `"$( ` + g.list(depth) + "\n)\""
}

func (g *generator) wrapped(int) string {
	n := g.spelled()
	return g.pick("env "+n, "env -i A=b "+n+" x", "nice -n 1 "+n, "timeout -k 1 5 "+n, "nohup "+n, "stdbuf -oL "+n, "env nice timeout 5 "+n,
		"command "+n, "command -p true", "echo x | xargs "+n, "echo x | xargs -n1 "+n+" y", "find . -maxdepth 0 -exec "+n+" {} \\;", "( exec "+n+" z )",
		"sh -c '\"$@\"' _ "+g.name(), "sh -c '$0 \"$@\"' "+g.name()+" a", "sh -c 'shift; \"$@\"' _ x "+g.name(), "(cd . && "+n+")", "time -p "+n)
}

// nested is a text in quotes that another shell runs.
func (g *generator) nested(depth int) string {
	if g.quoting > 0 {
		return g.simple(0)
	}
	g.quoting++
	inner := g.list(depth)
	g.quoting--
	if strings.Contains(inner, "'") {
		return g.simple(0)
	}
	shells := []string{"sh -c '", "dash -ec '", "sh -e -c '"}
	if g.bash {
		shells = append(shells, "bash -c '", "bash --norc -c '")
	}
	return g.pick(shells...) + inner + "'"
}

func (g *generator) evaluated(depth int) string {
	if g.quoting > 0 {
		return "eval " + g.name() + " x"
	}
	g.quoting++
	inner := g.list(min(depth, 1))
	g.quoting--
	if strings.Contains(inner, "'") {
		return "eval " + g.name()
	}
	if g.r.IntN(2) == 0 {
		return "eval '" + inner + "'"
	}
	return "( trap '" + inner + "' EXIT\n" + g.simple(0) + "\n)"
}

func (g *generator) heredoc(int) string {
	if g.r.IntN(2) == 0 {
		return "cat <<'END'\nrec1 $(rec2) `rec3`\nEND\n" + g.simple(0)
	}
	return "cat <<END\nrec1 $(" + g.name() + " a) \"x `" + g.name() + "`\"\nEND\n" + g.simple(0)
}

func (g *generator) bashOnly(depth int) string {
	switch g.r.IntN(13) {
	case 0:
		return "cat <( " + g.list(depth) + "\n)"
	case 1:
		return "[[ -n $(" + g.simple(0) + "\n) && a == a ]] && " + g.simple(0)
	case 2:
		return "arr=( $(" + g.simple(0) + "\n) b )"
	case 3:
		return "(( 1 + 0$(" + g.simple(0) + "\n) ))"
	case 4:
		return "for ((i=0; i<1; i++)); do " + g.list(depth) + "\ndone"
	case 5:
		return g.simple(0) + " |& " + g.simple(0)
	case 7:
		return "cat < <( " + g.list(depth) + "\n)"
	case 8:
		return g.simple(0) + " > >( " + g.list(depth) + "\n)"
	case 9:
		return "y[0$(" + g.simple(0) + "\n)]=\"$(" + g.simple(0) + "\n)\"; : \"${y[0$(" + g.simple(0) + "\n)]//a/$(" + g.simple(0) + "\n)}\""
	case 10:
		return "declare z=\"$( " + g.list(depth) + "\n)\""
	case 11:
		return "case b in a) ;& b) " + g.simple(0) + ";;& *) " + g.simple(0) + "\nesac"
	case 6:
		g.funcs++
		return fmt.Sprintf("function fun%d { %s\n}; fun%d", g.funcs, g.list(depth), g.funcs)
	default:
		return "cat <<<\"$(" + g.simple(0) + "\n)\""
	}
}
