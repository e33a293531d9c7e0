package jobspec

import (
	"path"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec/shell"
)

// body reads an embedded shell script. It lies inside the signature and is
// shown whole, so of what the floor says only what would be denied counts; the
// rules of a policy judge all of its commands.
func (r *reading) body(text string, g *grammar, operands []string) {
	b := reading{root: r.root, denyOnly: true}
	b.shellText(text, g.dialect, around{at: spot{".", true}, operands: append([]string{"script"}, operands...)})
	for i := range b.writes {
		b.writes[i].quiet = true
	}
	r.segments = append(r.segments, b.segments...)
	r.assigns = append(r.assigns, b.assigns...)
	r.writes = append(r.writes, b.writes...)
	r.agents = append(r.agents, b.agents...)
	r.findings = append(r.findings, b.findings...)
}

// shellText reads the commands of a text.
func (r *reading) shellText(text string, d shell.Dialect, c around) {
	commands, err := shellCommands(text, d)
	if err != nil {
		r.findSaying(ruleUnparseable, []string{text}, err.Error())
		return
	}
	c.role, c.inText, c.feed, c.zsh = "", true, feed{}, d == shell.Zsh
	shifts := strings.Contains(text, "shift") || strings.Contains(text, "set ")
	for _, s := range commands {
		r.shellCommand(s, shifts, c)
	}
}

// shellCommands reads a text as the shell at hand does. What sh(1) is differs
// from system to system, so its texts are read as plain shell and as bash: what
// either would run counts, and what neither reads to its end is an error.
func shellCommands(text string, d shell.Dialect) ([]shell.Command, error) {
	commands, err := shell.Read(text, d)
	if d != shell.POSIX {
		return commands, err
	}
	more, bashErr := shell.Read(text, shell.Bash)
	switch {
	case err == nil && bashErr == nil:
		return joinCommands(commands, more), nil
	case err == nil:
		return commands, nil // then a bash would not run it either
	case bashErr != nil:
		return nil, err
	case !strings.Contains(text, "&>"):
		return more, nil // a plain shell stops where it uses what only bash has
	}
	// A plain shell takes &> for the end of one command and the beginning of the
	// next one.
	commands, err = shell.Read(strings.ReplaceAll(text, "&>", "& >"), d)
	return joinCommands(commands, more), err
}

func joinCommands(commands, more []shell.Command) []shell.Command {
	known := map[string]bool{}
	for _, c := range commands {
		known[key(c)] = true
	}
	for _, c := range more {
		if !known[key(c)] {
			commands = append(commands, c)
		}
	}
	return commands
}

func key(c shell.Command) string {
	var b strings.Builder
	for _, list := range [][]shell.Word{c.Words, c.Writes, {c.From, {Text: c.Here}}} {
		for _, w := range list {
			b.WriteString(Quote(w.Text))
			b.WriteByte(' ')
		}
		b.WriteByte(';')
	}
	for _, a := range c.Assigns {
		b.WriteString(a.Name + "=" + Quote(a.Value.Text) + " ")
	}
	return b.String()
}

// shellCommand reads one simple command of a text.
func (r *reading) shellCommand(s shell.Command, shifts bool, c around) {
	c.at = r.within(c.at, s)
	c.feeds = s.Feeds
	c.feed = feed{text: s.Here, hasText: s.HasHere, file: s.From.Text, dynamic: s.From.Dynamic}
	for _, a := range s.Assigns {
		r.assigns = append(r.assigns, assign{name: exported(a.Name, c.zsh), value: a.Value.Text, dynamic: a.Value.Dynamic, inText: true, command: a.Command})
	}
	words, first := r.positional(s.Words, c.operands)
	for _, w := range s.Writes {
		r.writes = append(r.writes, writing{path: w.Text, dynamic: w.Dynamic, at: c.at, words: append(plain(words), ">", w.Text)})
	}
	words, runs := precommand(words)
	if len(words) == 0 || !runs {
		return
	}
	text := plain(words)
	switch {
	case words[0].Dynamic:
		r.find(ruleDynamic, text)
		r.lint(text[1:])
		r.carried(first || shifts, c)
	case strings.ContainsAny(text[0], "\n\t"):
		r.find(ruleLineEnd, text)
	case r.builtin(text, words, c):
		r.segments = append(r.segments, segment{words: text, at: c.at, inText: true, builtin: true})
	default:
		if first {
			r.find(ruleDynamic, text)
			r.carried(shifts, c)
		}
		r.command(text, c.deeper())
	}
}

func plain(words []shell.Word) []string {
	text := make([]string, len(words))
	for i, w := range words {
		text[i] = w.Text
	}
	return text
}

// exported is the variable that a shell's name stands for: in zsh some in small
// letters are tied to those of the environment.
func exported(name string, zsh bool) string {
	switch name {
	case "path", "fpath", "cdpath", "module_path":
		if zsh {
			return strings.ToUpper(name)
		}
	}
	return name
}

// within is where a command of a text starts, seen from where the job starts.
func (r *reading) within(at spot, s shell.Command) spot {
	dir := s.Dir
	if !path.IsAbs(dir) {
		dir = path.Join(at.dir, dir)
	}
	return spot{dir, at.known && s.DirKnown}
}

// positional puts the operands of a text in the place of $0, $1 and "$@". It
// reports whether the command's own name comes from them.
func (r *reading) positional(words []shell.Word, operands []string) (out []shell.Word, first bool) {
	for i, w := range words {
		values, known := operandsFor(w, operands)
		if !known {
			out = append(out, w)
			continue
		}
		first = first || i == 0
		for _, v := range values {
			out = append(out, shell.Word{Text: v})
		}
	}
	return out, first && len(out) > 0
}

func operandsFor(w shell.Word, operands []string) ([]string, bool) {
	name, ok := strings.CutPrefix(strings.Trim(w.Text, `"`), "$")
	if !w.Dynamic || !ok || len(operands) == 0 {
		return nil, false
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "{"), "}")
	switch {
	case name == "@" || name == "*":
		return operands[1:], true
	case len(name) == 1 && name[0] >= '0' && name[0] <= '9':
		n := int(name[0] - '0')
		if n >= len(operands) {
			return nil, true
		}
		return operands[n : n+1], true
	}
	return nil, false
}

// carried reads every tail of a text's operands as a command, where the text may
// run one of them and nobody can say which.
func (r *reading) carried(may bool, c around) {
	if !may || len(c.operands) < 2 {
		return
	}
	inner := c.deeper()
	inner.operands = nil
	for i := range min(len(c.operands), maxCarried) {
		r.command(c.operands[i:], inner)
	}
}

const maxCarried = 8

// nested reads a text that another one runs.
func (r *reading) nested(text string, g *grammar, c around) {
	if c.depth >= maxWrapperDepth {
		r.find(ruleDepth, []string{text})
		return
	}
	d := shell.POSIX
	if g != nil {
		d = g.dialect
	}
	r.shellText(text, d, c.deeper())
}
