package jobspec

import (
	"reflect"
	"slices"
	"strings"
)

// HiddenRule is a rule that allows and can never have an effect, and why.
type HiddenRule struct {
	Rule   Rule
	By     string // id of the rule that hides it, "" where a list does
	Detail string
}

// HiddenRules finds rules of a policy that allow in vain: a rule that denies
// matches whatever they match, or the list that they would add to is another
// file's. A rule that is hidden in part only is not found; nothing that is found
// has an effect.
func HiddenRules(p *Policy) []HiddenRule {
	var out []HiddenRule
	for _, r := range p.Rules {
		if r.Effect != string(effectAllow) {
			continue
		}
		if h, hidden := r.hidden(p); hidden {
			out = append(out, h)
		}
	}
	return out
}

func (r Rule) hidden(p *Policy) (HiddenRule, bool) {
	if isPrivilege(orElse(r.Name, r.Path)) {
		return HiddenRule{r, rulePrivilege.id, "the floor denies the program"}, true
	}
	for _, d := range p.Rules {
		if d.Effect == string(effectDeny) && d.coversRule(r) {
			return HiddenRule{r, d.ID, "rule " + Quote(d.ID) + " denies whatever it matches"}, true
		}
	}
	if lists := p.ManagedOnly.lists(); len(lists) > 0 && !slices.Contains(lists, r.File) {
		return HiddenRule{r, "", "managed_only.commands is set in " + orElse(lists[0], policyFile) + ", and only rules there allow"}, true
	}
	return HiddenRule{}, false
}

// coversRule reports whether a rule that denies surely matches every command
// that a rule which allows matches.
func (r Rule) coversRule(a Rule) bool {
	program := r.Path == "" || r.Path == a.Path || isFixedPath(a.Path) && globMatches(r.Path, a.Path)
	if r.Name != "" {
		called := a.Name != "" && slices.Contains(names(a.Name), r.Name)
		lies := isFixedPath(a.Path) && slices.Contains(names(a.Path), r.Name)
		program = program && (called || lies)
	}
	args := r.Args == nil || reflect.DeepEqual(r.Args, a.Args) && (r.Rest || !a.Rest)
	has := !slices.ContainsFunc(r.Has, func(word string) bool { return !a.surelyHas(word) })
	return program && args && has && (r.Cwd == "" || r.Cwd == a.Cwd)
}

func (r Rule) surelyHas(word string) bool {
	return slices.Contains(r.Has, word) ||
		slices.ContainsFunc(r.Args, func(t Token) bool { return word != "" && t.Literal == word })
}

// isFixedPath reports whether a pattern matches one path only.
func isFixedPath(glob string) bool { return glob != "" && !strings.ContainsAny(glob, `*?[\`) }
