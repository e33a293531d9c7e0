package jobspec

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Rules compare asymmetrically. A rule that denies or asks matches generously:
// any segment, any spelling of the program's name. A rule that allows matches
// strictly: every segment must be matched by one, by exact words.

// CheckRule refuses a rule that cannot be judged or can never match.
func CheckRule(r Rule) error {
	bad := func(field, detail string) error {
		return &FieldError{Reason: CodePolicySchema, Field: "rule " + Quote(r.ID) + ", " + field, Detail: detail}
	}
	switch {
	case r.ID == "" || strings.HasPrefix(r.ID, LayerFloor+"."):
		return bad("id", "must be given and must not begin with floor.")
	case r.Effect != string(effectDeny) && r.Effect != string(effectAsk) && r.Effect != string(effectAllow):
		return bad("effect", Quote(r.Effect)+" is not deny, ask or allow")
	case r.Why == "":
		return bad("why", "must be given: it is what the owner reads")
	case r.Name == "" && r.Path == "":
		return bad("name", "name or path must be given, or the rule says nothing about a program")
	case strings.Contains(r.Name, "/"):
		return bad("name", "a name holds no slash; use path")
	case r.Path != "" && !path.IsAbs(r.Path):
		return bad("path", "must be absolute, or it never matches a real path")
	case slices.Contains(r.Has, ""):
		return bad("has", "holds an empty word")
	}
	if _, err := path.Match(r.Path, "/"); err != nil {
		return bad("path", err.Error())
	}
	return nil
}

// text is what is shown of a rule and hashed into an ask.
func (r Rule) text() string {
	return fmt.Sprintf("%s (name %s, path %s, has %s)", r.Why, Quote(r.Name), Quote(r.Path), QuoteAll(r.Has))
}
