package jobspec

import (
	"path"
	"slices"
	"strings"
)

// MatchesWords reports whether r matches the command line words, whose program
// is taken to lie where its first word says, a bare name in /usr/bin. It is what
// a rule's own examples are held against.
func (r Rule) MatchesWords(words []string) bool {
	if len(words) == 0 {
		return false
	}
	read := readCommand(words, Script{})
	for _, s := range read.segments {
		switch {
		case path.IsAbs(s.words[0]):
			s.real = s.words[0]
		case !strings.Contains(s.words[0], "/"):
			s.real = "/usr/bin/" + s.words[0]
		}
		if r.matches(s) {
			return true
		}
	}
	return false
}

func (r Rule) matches(s segment) bool {
	if r.Effect == string(effectAllow) {
		return r.allows(s)
	}
	if r.Name != "" && !slices.Contains(append(names(s.words[0]), names(s.real)...), r.Name) {
		return false
	}
	if r.Path != "" && !globMatches(r.Path, s.real) && !globMatches(r.Path, s.words[0]) {
		return false
	}
	for _, token := range r.Has {
		if !slices.ContainsFunc(s.words[1:], func(w string) bool { return tokenOccurs(token, w) }) {
			return false
		}
	}
	return true
}

// allows needs the real path: a bare name counts only in the system's folders.
func (r Rule) allows(s segment) bool {
	if r.Name != "" && (s.words[0] != r.Name || !inSystemFolder(s.real)) {
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
	return true
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

// ruled is what the rules of a policy say about the segments of a command.
type ruled struct {
	findings []finding
	allowed  map[string]bool // by managed file: every segment is matched by a rule of it that allows
}

func judgeRules(rules []Rule, segments []segment) ruled {
	out := ruled{allowed: map[string]bool{}}
	for i, s := range segments {
		allowed := map[string]bool{}
		for _, r := range rules {
			if !r.matches(s) {
				continue
			}
			layer := orElse(r.Layer, LayerManaged)
			if r.Effect == string(effectAllow) {
				allowed[r.File] = allowed[r.File] || layer == LayerManaged
				continue
			}
			f := finding{effect: effectDeny, code: CodeCmdDeniedRule, layer: layer, rule: r.ID, text: r.text(), words: s.words}
			if r.Effect == string(effectAsk) {
				f.effect, f.code = effectAsk, CodeCmdAskUnanswered
			}
			out.findings = append(out.findings, f)
		}
		for file := range allowed {
			if i > 0 && !out.allowed[file] {
				delete(allowed, file)
			}
		}
		out.allowed = allowed
	}
	return out
}
