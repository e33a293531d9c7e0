package jobspec

import (
	"path"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec/shell"
)

// precommand takes the words off that only say how the next one is run. It
// reports whether anything runs at all.
func precommand(words []shell.Word) (rest []shell.Word, runs bool) {
	for len(words) > 0 && !words[0].Dynamic {
		var ok bool
		switch words[0].Text {
		case "exec":
			words, ok = skipOptions(words[1:], "cl", "a")
		case "command":
			words, ok = skipOptions(words[1:], "p", "")
			if !ok && len(words) > 0 && strings.Trim(words[0].Text, "-pvV") == "" {
				return nil, false // it only says where the command lies
			}
		case "builtin", "noglob", "nocorrect", "-", "coproc":
			words, ok = words[1:], true
		default:
			return words, true
		}
		if !ok {
			words[0].Dynamic = true // an option that we do not know may take words
		}
	}
	return words, true
}

// skipOptions takes the known short options off. What begins with a dash after
// them is unknown.
func skipOptions(words []shell.Word, flags, values string) ([]shell.Word, bool) {
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") && len(words[0].Text) > 1 {
		w := words[0].Text
		switch {
		case w == "--":
			return words[1:], true
		case strings.Trim(w[1:], flags) == "":
			words = words[1:]
		case values != "" && strings.Trim(w[1:len(w)-1], flags) == "" && strings.IndexByte(values, w[len(w)-1]) >= 0 && len(words) > 1:
			words = words[2:]
		default:
			return append([]shell.Word(nil), words...), false
		}
	}
	return words, true
}

// builtin judges a command that the shell does itself, and reports whether it
// is one. Those that run a text are read like it.
func (r *reading) builtin(text []string, words []shell.Word, c around) bool {
	switch text[0] {
	case "eval":
		r.evaluated(text, words, strings.Join(text[1:], " "), words[1:], c)
	case "trap":
		if i := firstOperand(text); i > 0 && len(text) > i+1 && text[i] != "-" && text[i] != "" {
			r.evaluated(text, words, text[i], words[i:i+1], c)
		}
	case "alias":
		for i, w := range text[1:] {
			if _, value, ok := strings.Cut(w, "="); ok {
				r.evaluated(text, words, value, words[i+1:i+2], c)
			}
		}
	case ".", "source":
		r.find(ruleDynamic, text)
	case "hash", "enable", "bind", "complete", "compgen", "fc", "mapfile", "readarray":
		r.callback(text, words, c)
	case "cd", "chdir", "pushd", "popd":
		r.moved(text, words, c)
	default:
		return isPlainBuiltin(text[0])
	}
	return true
}

// evaluated reads a text that a builtin runs, now or later. Which program runs
// is known only as far as the text is literal.
func (r *reading) evaluated(text []string, words []shell.Word, code string, from []shell.Word, c around) {
	r.find(ruleDynamic, text)
	for _, w := range from {
		if w.Dynamic {
			r.lint(strings.FieldsFunc(code, notInName))
			r.carried(strings.Contains(code, "$"), c)
			return
		}
	}
	r.nested(code, nil, c)
}

// callback asks about the options with which a builtin runs or replaces a
// command.
func (r *reading) callback(text []string, words []shell.Word, c around) {
	letters := map[string]string{"hash": "p", "enable": "f", "complete": "CF", "compgen": "CF", "mapfile": "C", "readarray": "C"}[text[0]]
	for i, w := range text[1:] {
		switch {
		case text[0] == "bind" || text[0] == "fc":
		case !strings.HasPrefix(w, "-") || !strings.ContainsAny(w, letters):
			continue
		}
		r.find(ruleDynamic, text)
		if strings.HasSuffix(w, "C") && len(text) > i+2 {
			r.nested(text[i+2], nil, c)
		}
	}
}

// firstOperand is the index of the first word after the options, 0 for none.
func firstOperand(text []string) int {
	for i, w := range text[1:] {
		if !strings.HasPrefix(w, "-") || w == "-" {
			return i + 1
		}
		if w == "--" && len(text) > i+2 {
			return i + 2
		}
	}
	return 0
}

// moved asks about a folder outside the job's cwd, or one that only the shell
// knows: what comes after it lies somewhere else than it seems.
func (r *reading) moved(text []string, words []shell.Word, c around) {
	i := firstOperand(text)
	if i == 0 || words[i].Dynamic || text[i] == "-" {
		r.find(ruleDynamic, text)
		return
	}
	to := path.Clean(text[i])
	if !path.IsAbs(to) {
		if !c.at.known {
			return // asked about already
		}
		to = path.Join(c.at.dir, to)
	}
	if path.IsAbs(to) && !pathWithin(to, r.root) || to == ".." || strings.HasPrefix(to, "../") {
		r.find(ruleDynamic, text)
	}
}

// isPlainBuiltin knows the builtins that start nothing.
func isPlainBuiltin(word string) bool {
	switch word {
	case ":", "true", "false", "echo", "printf", "test", "[", "[[", "set", "unset", "shift", "exit", "return", "break", "continue",
		"export", "readonly", "local", "declare", "typeset", "read", "pwd", "dirs", "wait", "umask", "ulimit", "times", "type",
		"getopts", "let", "shopt", "jobs", "fg", "bg", "disown", "logout", "suspend", "unalias", "caller", "kill", "setopt", "unsetopt", "print", "whence":
		return true
	}
	return false
}
