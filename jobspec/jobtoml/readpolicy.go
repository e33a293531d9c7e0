package jobtoml

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
)

func policyCodes() codes {
	return codes{syntax: jobspec.CodePolicyParse, unknown: jobspec.CodePolicySchema,
		duplicate: jobspec.CodePolicyParse, value: jobspec.CodePolicySchema}
}

// part is which file of a policy is read.
type part struct {
	file  string            // "" for policy.toml, else its name below CONF
	owner jobspec.Principal // whose own file it is, "" for a managed one
}

// narrows: a file beside policy.toml says nothing where it leaves a key out.
func (p part) narrows() bool { return p.file != "" }

// ReadPolicy reads policy.toml, the file that grants. A file with any fault is
// refused as a whole: half a policy would be a looser one. Errors are *Error
// with line and column.
func ReadPolicy(data []byte) (*jobspec.Policy, error) { return first(readPart(data, part{})) }

// ReadFurther reads a file of policy.d, which only narrows what policy.toml
// grants. Name is that of the file below CONF.
func ReadFurther(name string, data []byte) (*jobspec.Policy, error) {
	return first(readPart(data, part{file: name}))
}

// ReadOwner reads the file that a principal keeps about the own jobs: rules, and
// ceilings below those of the managed files.
func ReadOwner(name string, who jobspec.Principal, data []byte) (*jobspec.Policy, error) {
	return first(readPart(data, part{file: name, owner: who}))
}

// PolicyProblems reads a file as ReadPolicy, ReadFurther or, where a principal
// is named, ReadOwner does, and tells all that is wrong with it. A text that is
// no TOML has one problem, for what comes after it cannot be read.
func PolicyProblems(name string, who jobspec.Principal, data []byte) (*jobspec.Policy, []*Error) {
	p, all := readPart(data, part{file: name, owner: who})
	var out []*Error
	for _, err := range all {
		if e, ok := errors.AsType[*Error](err); ok {
			out = append(out, e)
		} else {
			out = append(out, &Error{Reason: jobspec.CodePolicyParse, Detail: err.Error()})
		}
	}
	return p, out
}

func first(p *jobspec.Policy, faults []error) (*jobspec.Policy, error) {
	if len(faults) > 0 {
		return nil, faults[0]
	}
	return p, nil
}

// readPart returns what was read and every fault that was found.
func readPart(data []byte, which part) (*jobspec.Policy, []error) {
	var t policyFile
	f, err := decode(data, &t, policyCodes())
	if err != nil {
		return nil, []error{err}
	}
	r := &fields{file: f}
	p := &jobspec.Policy{
		Serial: t.Serial, EnabledPlatforms: t.EnabledPlatforms, Weaker: t.Weaker, Upstream: t.Upstream, AgentCLI: t.AgentCLI, AgentInnerSandbox: t.AgentInnerSandbox, UnmatchedCommands: t.UnmatchedCommands,
		ManagedOnly: r.managedOnly(t.ManagedOnly, which), Open: which.narrows(),
		Operators: t.Roles.Operators, Auditors: t.Roles.Auditors,
		MaxConcurrent: r.concurrent(t.MaxConcurrent),
		Principals:    r.principals(t.Principals, which), Rules: r.rules(t.Rules, which), Digest: jobspec.DigestOf(data),
	}
	if which.owner != "" {
		r.ownerKeys(which)
	} else {
		r.serial(t.Serial)
	}
	r.oneOf("enabled_platforms", t.EnabledPlatforms, []string{"linux"})
	r.oneOf("weaker", t.Weaker, jobspec.WeakerChoices())
	r.word("unmatched_commands", t.UnmatchedCommands, "ask", "allow")
	r.upstream(t.Upstream)
	r.word("agent_cli", t.AgentCLI, "deny", "ask")
	r.word("agent_inner_sandbox", t.AgentInnerSandbox, "on", "off")
	r.accounts("roles.operators", t.Roles.Operators, true)
	r.accounts("roles.auditors", t.Roles.Auditors, true)
	slices.SortStableFunc(r.all, func(a, b error) int { return cmp.Compare(lineOf(a), lineOf(b)) })
	return p, r.all
}

func (r *fields) upstream(text string) {
	if text == "" || text == jobspec.UpstreamDirect {
		return
	}
	if _, err := jobspec.ParseUpstream(text); err != nil {
		r.fail(r.value("upstream", err))
	}
}

func lineOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Line
	}
	return 0
}

func (r *fields) serial(n int64) {
	if n <= 0 {
		r.fail(r.refuse("serial", jobspec.CodePolicySchema, "write serial = 1 and raise it with each edit", "%d is not above 0", n))
	}
}

// ownerKeys refuses what is not for a principal to say about the own jobs.
func (r *fields) ownerKeys(which part) {
	for _, key := range slices.Sorted(maps.Keys(r.at)) {
		switch key {
		case "serial", "enabled_platforms", "weaker", "upstream", "agent_cli", "agent_inner_sandbox", "unmatched_commands", "managed_only", "roles", "max_concurrent",
			"principals." + string(which.owner) + ".users":
			r.fail(r.refuse(key, jobspec.CodePolicySchema, "leave it out; it has a meaning in policy.toml only", "it is not for a principal to say"))
		}
	}
}

// managedOnly also names the file, where that asks for a list of commands.
func (r *fields) managedOnly(t managedOnlyTable, which part) jobspec.ManagedOnly {
	for _, s := range []struct {
		key string
		on  *bool
	}{{"domains", t.Domains}, {"binds", t.Binds}} {
		if s.on != nil && !*s.on {
			r.fail(r.refuse("managed_only."+s.key, r.codes.value, "leave it out", "it cannot be switched off: only managed files list them"))
		}
	}
	m := jobspec.ManagedOnly{Commands: t.Commands, ReadPaths: t.ReadPaths, WritePaths: t.WritePaths}
	if t.Commands {
		m.Lists = []string{which.file}
	}
	return m
}

// rules also tries each rule on its own examples: a rule that does not do what
// its author shows stops the file.
func (r *fields) rules(tables []ruleTable, which part) []jobspec.Rule {
	layer := jobspec.LayerManaged
	if which.owner != "" {
		layer = jobspec.LayerOwner
	}
	var all []jobspec.Rule
	for i, t := range tables {
		at := item("rules", i)
		rule := jobspec.Rule{ID: t.ID, Layer: layer, File: which.file, Effect: t.Effect, Why: t.Why, Name: t.Name, Path: t.Path,
			Args: r.tokens(at+".args", t.Args), Rest: t.Rest, Has: t.Has, Cwd: t.Cwd}
		if err := jobspec.CheckRule(rule); err != nil {
			r.fail(r.value(at, err))
			continue
		}
		if slices.ContainsFunc(all, func(other jobspec.Rule) bool { return other.ID == rule.ID }) {
			r.fail(r.refuse(at+".id", r.codes.value, "", "%s stands there twice", jobspec.Quote(t.ID)))
		}
		r.examples(at, rule, t)
		all = append(all, rule)
	}
	return all
}

func (r *fields) examples(at string, rule jobspec.Rule, t ruleTable) {
	for _, words := range t.Match {
		if !rule.MatchesWords(words) {
			r.fail(r.refuse(at+".match", jobspec.CodePolicySelftest, "", "rule %s does not match %s", jobspec.Quote(t.ID), jobspec.QuoteAll(words)))
		}
	}
	for _, words := range t.NotMatch {
		if rule.MatchesWords(words) {
			r.fail(r.refuse(at+".not_match", jobspec.CodePolicySelftest, "", "rule %s matches %s", jobspec.Quote(t.ID), jobspec.QuoteAll(words)))
		}
	}
}

// tokens keeps the difference between no list and an empty one: any arguments,
// and none.
func (r *fields) tokens(field string, items []argItem) []jobspec.Token {
	if items == nil {
		return nil
	}
	all := make([]jobspec.Token, 0, len(items))
	for i, x := range items {
		t, err := token(x)
		if err != nil {
			r.fail(r.refuse(field, r.codes.value, `write "text", { any = true }, { alt = ["a", "b"] } or { re = "^a+$" }`, "item %d: %v", i, err))
		}
		all = append(all, t)
	}
	return all
}

func token(x any) (t jobspec.Token, err error) {
	switch v := x.(type) {
	case string:
		return jobspec.Token{Literal: v}, nil
	case map[string]any:
		if len(v) != 1 {
			return t, fmt.Errorf("%d keys, want one", len(v))
		}
		for key, value := range v {
			return tableToken(key, value)
		}
	}
	return t, errors.New("neither a text nor a table")
}

func tableToken(key string, value any) (t jobspec.Token, err error) {
	switch v := value.(type) {
	case bool:
		if key == "any" && v {
			return jobspec.Token{Any: true}, nil
		}
	case string:
		if key == "re" {
			return jobspec.Token{Re: v}, nil
		}
	case []any:
		t.Alt = []string{}
		for _, word := range v {
			s, ok := word.(string)
			if !ok {
				return t, errors.New("alt is a list of texts")
			}
			t.Alt = append(t.Alt, s)
		}
		if key == "alt" {
			return t, nil
		}
	}
	return jobspec.Token{}, fmt.Errorf("%s has another kind of value", key)
}

// RulePlace finds the line and column of a rule's id in a file that was read; 0
// where the file has none.
func RulePlace(data []byte, id string) (line, column int) {
	var t policyFile
	f, err := decode(data, &t, policyCodes())
	if err != nil {
		return 0, 0
	}
	for i, rule := range t.Rules {
		if rule.ID == id {
			p := f.at[item("rules", i)+".id"]
			return p.line, p.column
		}
	}
	return 0, 0
}
