package jobspec

import (
	"fmt"
	"path"
	"regexp/syntax"
	"slices"
	"strings"
)

// Rules compare asymmetrically. A rule that denies or asks matches generously:
// any segment, any spelling of the program's name. A rule that allows matches
// strictly: every segment must be matched by one, by exact words.

// CheckRule refuses a rule that cannot be judged or can never match. A rule that
// matches nothing is a mistake of its author, who relies on it.
func CheckRule(r Rule) error {
	for _, check := range []func() (field, fault string){r.words, r.program, r.tokens, r.together} {
		if field, fault := check(); fault != "" {
			return &FieldError{Reason: CodePolicySchema, Field: "rule " + Quote(r.ID) + ", " + field, Detail: fault}
		}
	}
	return nil
}

func (r Rule) words() (field, fault string) {
	switch {
	case r.ID == "" || strings.HasPrefix(r.ID, LayerFloor+"."):
		return "id", "must be given and must not begin with floor."
	case r.Effect != string(effectDeny) && r.Effect != string(effectAsk) && r.Effect != string(effectAllow):
		return "effect", Quote(r.Effect) + " is not deny, ask or allow"
	case r.Why == "":
		return "why", "must be given: it is what the owner reads"
	case r.Rest && r.Args == nil:
		return "rest", "goes with args; without args any arguments match"
	}
	return "", ""
}

func (r Rule) program() (field, fault string) {
	switch {
	case r.Name == "" && r.Path == "":
		return "name", "name or path must be given, or the rule says nothing about a program"
	case strings.Contains(r.Name, "/"):
		return "name", "a name holds no slash; use path"
	}
	if fault := globFault(r.Path, "a real path"); fault != "" {
		return "path", fault
	}
	return "cwd", globFault(r.Cwd, "a folder")
}

// globFault looks at a pattern for absolute paths in their shortest form.
func globFault(glob, what string) string {
	if glob == "" {
		return ""
	}
	if !path.IsAbs(glob) || path.Clean(glob) != glob {
		return "must be absolute and in its shortest form, or it never matches " + what
	}
	if _, err := path.Match(glob, "/"); err != nil {
		return err.Error()
	}
	return ""
}

func (r Rule) tokens() (field, fault string) {
	for i, t := range r.Args {
		if fault := t.fault(); fault != "" {
			return fmt.Sprintf("args[%d]", i), fault
		}
	}
	if slices.Contains(r.Has, "") {
		return "has", "holds an empty word"
	}
	return "", ""
}

// maxPattern bounds a pattern: what a person cannot read, nobody checks.
const maxPattern = 256

func (t Token) fault() string {
	said := 0
	for _, set := range []bool{t.Literal != "", t.Any, t.Alt != nil, t.Re != ""} {
		if set {
			said++
		}
	}
	switch {
	case said > 1:
		return "a token is a text, any, alt or re, and only one of them"
	case t.Alt != nil && len(t.Alt) == 0:
		return "alt is empty, so it never matches"
	case len(t.Re) > maxPattern:
		return fmt.Sprintf("re is longer than %d bytes", maxPattern)
	case t.Re == "":
		return ""
	}
	tree, err := syntax.Parse(t.Re, syntax.Perl)
	if err != nil {
		return fmt.Sprintf("re: %v", err)
	}
	if neverMatches(tree.Simplify()) {
		return "re " + Quote(t.Re) + " never matches a whole argument"
	}
	return ""
}

// neverMatches finds patterns that no text satisfies: an empty class where one
// character must be.
func neverMatches(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpNoMatch:
		return true
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		return slices.ContainsFunc(re.Sub, neverMatches)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(s *syntax.Regexp) bool { return !neverMatches(s) })
	case syntax.OpCharClass:
		return len(re.Rune) == 0
	}
	return false
}

// together finds parts that no command satisfies at once.
func (r Rule) together() (field, fault string) {
	if r.Args != nil && !r.Rest {
		for _, word := range r.Has {
			if !slices.ContainsFunc(r.Args, func(t Token) bool { return t.mayBe(word) }) {
				return "has", "no argument that args lists can be " + Quote(word) + ", so the rule never matches"
			}
		}
	}
	if r.Effect == string(effectAllow) && r.Name != "" && r.Path != "" && !mayBeSystem(r.Path) {
		return "path", "a name is allowed in the folders of the system only, and the path lies in none; leave the name out"
	}
	return "", ""
}

// mayBe reports whether the token can be the word, or hold it as matching reads
// arguments generously.
func (t Token) mayBe(word string) bool {
	switch {
	case t.Any || t.Re != "":
		return true // what a pattern can be is not worked out
	case t.Alt != nil:
		return slices.ContainsFunc(t.Alt, func(s string) bool { return tokenOccurs(word, s) })
	}
	return tokenOccurs(word, t.Literal)
}

// mayBeSystem reports whether a pattern can match a path in a folder of the
// system: its part before the first wildcard decides.
func mayBeSystem(glob string) bool {
	fixed, _, wild := strings.Cut(glob, "*")
	fixed = fixed[:strings.IndexAny(fixed+"[", "[?")]
	if !wild && fixed == glob {
		return inSystemFolder(glob)
	}
	return slices.ContainsFunc([]string{"/usr/", "/bin/", "/sbin/"}, func(folder string) bool {
		return strings.HasPrefix(fixed, folder) || strings.HasPrefix(folder, fixed)
	})
}

func (t Token) text() string {
	switch {
	case t.Any:
		return "*"
	case t.Alt != nil:
		return "one of " + QuoteAll(t.Alt)
	case t.Re != "":
		return "like " + Quote(t.Re)
	}
	return Quote(t.Literal)
}

// text is what is shown of a rule and hashed into an ask. What a rule does not
// say is left out, so that a new part of the language makes no answer stale.
func (r Rule) text() string {
	var parts []string
	if r.Name != "" {
		parts = append(parts, "name "+Quote(r.Name))
	}
	if r.Path != "" {
		parts = append(parts, "path "+Quote(r.Path))
	}
	if len(r.Has) > 0 {
		parts = append(parts, "has "+QuoteAll(r.Has))
	}
	if r.Args != nil {
		var all []string
		for _, t := range r.Args {
			all = append(all, t.text())
		}
		if r.Rest {
			all = append(all, "...")
		}
		parts = append(parts, "args ["+strings.Join(all, " ")+"]")
	}
	if r.Cwd != "" {
		parts = append(parts, "cwd "+Quote(r.Cwd))
	}
	return fmt.Sprintf("%s (%s)", r.Why, strings.Join(parts, ", "))
}
