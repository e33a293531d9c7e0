package jobspec

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// MatchesWords reports whether r matches the command line words, whose program
// is taken to lie where its first word says, a bare name in /usr/bin. It is what
// a rule's own examples are held against; they say nothing of a folder.
func (r Rule) MatchesWords(words []string) bool {
	if len(words) == 0 {
		return false
	}
	r.Cwd = ""
	for _, s := range readCommand(words, Script{}, "").segments {
		switch {
		case path.IsAbs(s.words[0]):
			s.real = s.words[0]
		case !strings.Contains(s.words[0], "/"):
			s.real = "/usr/bin/" + s.words[0]
		}
		if r.matches(s, "") {
			return true
		}
	}
	return false
}

// matches holds a rule against one segment. Root is the job's cwd.
func (r Rule) matches(s segment, root string) bool {
	if len(s.words) == 0 || !r.inFolder(s, root) {
		return false
	}
	if r.Effect == string(effectAllow) {
		return r.allows(s)
	}
	if r.Path != "" && !globMatches(r.Path, s.real) && !globMatches(r.Path, s.words[0]) {
		return false
	}
	args := s.words[1:]
	if sub, ok := r.dashed(s); ok && r.matchArgs(append([]string{sub}, args...)) {
		return true
	}
	named := r.Name == "" || slices.Contains(append(names(s.words[0]), names(s.real)...), r.Name)
	return named && r.matchArgs(args)
}

// matchArgs compares the arguments generously.
func (r Rule) matchArgs(args []string) bool {
	for _, token := range r.Has {
		if !slices.ContainsFunc(args, func(w string) bool { return tokenOccurs(token, w) }) {
			return false
		}
	}
	return r.argsMatch(args)
}

// dashed gives the subcommand that stands in a program's own name: git-push is
// git push. A rule that looks at no argument does not mean such programs.
func (r Rule) dashed(s segment) (sub string, ok bool) {
	if r.Name == "" || len(r.Has) == 0 && r.Args == nil {
		return "", false
	}
	for _, word := range []string{s.words[0], s.real} {
		if sub, ok := strings.CutPrefix(baseName(word), r.Name+"-"); ok && sub != "" {
			return sub, true
		}
	}
	return "", false
}

// allows needs the real path: a bare name counts only in the system's folders.
// What a shell text names barely is looked up in the fixed PATH, which holds
// nothing else.
func (r Rule) allows(s segment) bool {
	bare := s.inText && s.real == "" && !strings.Contains(s.words[0], "/")
	if r.Name != "" && (s.words[0] != r.Name || !bare && !inSystemFolder(s.real)) {
		return false
	}
	if r.Path != "" && !globMatches(r.Path, s.real) {
		return false
	}
	for _, token := range r.Has {
		if !slices.Contains(s.words[1:], token) {
			return false
		}
	}
	return r.argsMatch(s.words[1:])
}

// argsMatch holds the arguments against the rule's tokens, from the first one
// to the last unless Rest lets more follow.
func (r Rule) argsMatch(args []string) bool {
	if r.Args == nil {
		return true
	}
	if len(args) < len(r.Args) || len(args) > len(r.Args) && !r.Rest {
		return false
	}
	for i, t := range r.Args {
		if !t.matches(args[i]) {
			return false
		}
	}
	return true
}

func (t Token) matches(word string) bool {
	switch {
	case t.Any:
		return true
	case len(t.Alt) > 0:
		return slices.Contains(t.Alt, word)
	case t.Re != "":
		re, err := regexp.Compile(`\A(?:` + t.Re + `)\z`)
		return err == nil && re.MatchString(word)
	default:
		return t.Literal == word
	}
}

// inFolder holds the folder that a segment starts in against the rule's glob. An
// unknown folder counts against the command: it may be the one, and it may not.
func (r Rule) inFolder(s segment, root string) bool {
	switch {
	case r.Cwd == "":
		return true
	case !s.at.known:
		return r.Effect != string(effectAllow)
	case path.IsAbs(s.at.dir):
		return globMatches(r.Cwd, s.at.dir)
	case root == "":
		return false
	}
	return globMatches(r.Cwd, path.Join(root, s.at.dir))
}

func inSystemFolder(real string) bool {
	switch path.Dir(real) {
	case "/usr/bin", "/usr/local/bin", "/bin", "/usr/sbin", "/usr/local/sbin", "/sbin":
		return true
	}
	return strings.HasPrefix(real, "/usr/lib/") || strings.HasPrefix(real, "/usr/share/")
}

// globMatches is path.Match, where * and ? stop at a slash.
func globMatches(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return err == nil && ok && name != ""
}

// tokenOccurs finds a token in a word: whole, with a value glued to it, as a
// shortened long option, or as a letter in a cluster of short ones.
func tokenOccurs(token, word string) bool {
	if token == word || strings.HasPrefix(word, token+"=") {
		return true
	}
	if strings.HasPrefix(token, "--") && strings.HasPrefix(word, "--") {
		name, _, _ := strings.Cut(word, "=")
		return len(name) > 3 && strings.HasPrefix(token, name)
	}
	letter := len(token) == 2 && token[0] == '-' && token[1] != '-'
	return letter && len(word) > 1 && word[0] == '-' && word[1] != '-' && strings.IndexByte(word[1:], token[1]) >= 0
}
