package jobspec

import (
	"slices"
	"strings"
)

// Option readers differ between agents: some accept shortened names, some accept
// camelCase, all accept --name=value. A switch is looked for in all of these
// forms, since it only leads to more refusals.

// in gives the words of args that are this switch, "" for none.
func (s agentSwitch) in(args []string) string {
	if len(s.words) > 0 {
		return s.run(args)
	}
	for i, w := range args {
		if w == "--" {
			break
		}
		value, glued, ok := optionHere(w, s.flag)
		if !ok {
			continue
		}
		if len(s.values) == 0 {
			if glued && slices.Contains([]string{"false", "no", "0", "off"}, strings.ToLower(value)) {
				continue // the option is switched off
			}
			return w
		}
		if !glued && i+1 < len(args) {
			value, w = args[i+1], w+" "+args[i+1]
		}
		if !glued && (i+1 >= len(args) || strings.HasPrefix(args[i+1], "-")) {
			value = "true"
		}
		if slices.Contains(s.values, strings.ToLower(strings.Trim(value, `"'`))) {
			return w
		}
	}
	return ""
}

// optionHere reports whether a word is the option, with the value glued to it.
func optionHere(word, flag string) (value string, glued, ok bool) {
	name, value, glued := strings.Cut(word, "=")
	if strings.HasPrefix(flag, "--") {
		if !strings.HasPrefix(name, "--") {
			return "", false, false
		}
		have, want := flat(name), flat(flag)
		return value, glued, have == want || len(have) >= 4 && strings.HasPrefix(want, have)
	}
	switch {
	case name == flag:
		return value, glued, true
	case strings.HasPrefix(word, flag) && !strings.HasPrefix(word, "--"):
		return strings.TrimPrefix(word[len(flag):], "="), true, true
	case len(flag) == 2 && len(word) > 2 && word[0] == '-' && word[1] != '-' && !glued && strings.IndexByte(word[2:], flag[1]) >= 0 && isLetters(word[1:]):
		return "", false, true // in a cluster of letters
	}
	return "", false, false
}

func isLetters(s string) bool {
	return len(s) <= 4 && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz") == ""
}

// flat is an option's name without what spellings differ in.
func flat(name string) string {
	out := make([]byte, 0, len(name))
	for i := range len(name) {
		switch c := name[i]; {
		case c == '-' || c == '_' || c == '.':
		case c >= 'A' && c <= 'Z':
			out = append(out, c|0x20)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// run finds words that follow each other, in any case.
func (s agentSwitch) run(args []string) string {
	all := args
	if s.prompt {
		all = strings.Fields(strings.Join(args, " "))
	}
	for i := range all {
		if len(all)-i >= len(s.words) && slices.EqualFunc(all[i:i+len(s.words)], s.words, strings.EqualFold) {
			return strings.Join(s.words, " ")
		}
	}
	return ""
}

// optionValues lists the values that an option is given.
func optionValues(args []string, flag string) []string {
	var all []string
	for i, w := range args {
		if w == "--" {
			break
		}
		value, glued, ok := optionHere(w, flag)
		switch {
		case !ok:
		case glued:
			all = append(all, value)
		case i+1 < len(args):
			all = append(all, args[i+1])
		}
	}
	return all
}

// configValues lists the values that -c KEY=VALUE gives a key.
func configValues(args []string, key string) []string {
	var all []string
	for _, flag := range []string{"-c", "--config"} {
		for _, pair := range optionValues(args, flag) {
			name, value, _ := strings.Cut(pair, "=")
			name = strings.Trim(name, ` "'`)
			if name == key || strings.HasSuffix(name, "."+key) {
				all = append(all, strings.ToLower(strings.Trim(value, ` "'`)))
			}
		}
	}
	return all
}
