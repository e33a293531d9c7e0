package jobtoml

import (
	"maps"
	"path"
	"slices"

	"github.com/sbxcron/sbxcron/jobspec"
)

func policyCodes() codes {
	return codes{syntax: jobspec.CodePolicyParse, unknown: jobspec.CodePolicySchema,
		duplicate: jobspec.CodePolicyParse, value: jobspec.CodePolicySchema}
}

// ReadPolicy reads policy.toml. A file with any fault is refused as a whole:
// half a policy would be a looser one. Errors are *Error with line and column.
func ReadPolicy(data []byte) (*jobspec.Policy, error) {
	var t policyFile
	f, err := decode(data, &t, policyCodes())
	if err != nil {
		return nil, err
	}
	r := &fields{file: f}
	if t.Serial <= 0 {
		r.fail(f.refuse("serial", jobspec.CodePolicySchema, "write serial = 1 and raise it with each edit", "%d is not above 0", t.Serial))
	}
	r.oneOf("enabled_platforms", t.EnabledPlatforms, []string{"linux"})
	r.oneOf("weaker", t.Weaker, jobspec.WeakerChoices())
	r.accounts("roles.operators", t.Roles.Operators, true)
	r.accounts("roles.auditors", t.Roles.Auditors, true)
	p := &jobspec.Policy{
		Serial: t.Serial, EnabledPlatforms: t.EnabledPlatforms, Weaker: t.Weaker,
		ManagedOnly: jobspec.ManagedOnly{Commands: t.ManagedOnly.Commands}, Operators: t.Roles.Operators, Auditors: t.Roles.Auditors,
		Principals: r.principals(t.Principals), Rules: r.rules(t.Rules), Digest: jobspec.DigestOf(data),
	}
	if r.err != nil {
		return nil, r.err
	}
	return p, nil
}

func (r *fields) oneOf(field string, words, known []string) {
	for i, w := range words {
		if !slices.Contains(known, w) {
			r.fail(r.refuse(field, r.codes.value, "", "item %d, %s, is not one of ours", i, jobspec.Quote(w)))
		}
		if slices.Index(words, w) != i {
			r.fail(r.refuse(field, r.codes.value, "", "item %d, %s, stands there twice", i, jobspec.Quote(w)))
		}
	}
}

// accounts refuses names that are none, and root where jobs would run as it.
func (r *fields) accounts(field string, names []string, root bool) {
	for i, n := range names {
		if !isAccount(n) {
			r.fail(r.refuse(field, r.codes.value, "", "item %d, %s, is no account name", i, jobspec.Quote(n)))
		}
		if n == "root" && !root {
			r.fail(r.refuse(field, jobspec.CodeRunAsForbidden, "", "no job runs as root"))
		}
	}
}

// isAccount accepts the names that useradd(8) does; ids in digits are none.
func isAccount(s string) bool {
	if s == "" || len(s) > 32 {
		return false
	}
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		inner := c >= '0' && c <= '9' || c == '-' || c == '.' || c == '$' && i == len(s)-1
		if !letter && (i == 0 || !inner) {
			return false
		}
	}
	return true
}

func (r *fields) folders(field string, paths []string) {
	for i, p := range paths {
		if !path.IsAbs(p) || path.Clean(p) != p || p == "/" {
			r.fail(r.refuse(field, r.codes.value, "", "item %d, %s, is not an absolute path in its shortest form below /", i, jobspec.Quote(p)))
		}
	}
}

func (r *fields) principals(tables map[string]principalTable) map[jobspec.Principal]jobspec.Ceiling {
	all := map[jobspec.Principal]jobspec.Ceiling{}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		t, at := tables[name], "principals."+name
		p, err := jobspec.ParsePrincipal(name)
		if err != nil {
			r.fail(r.value(at, err))
		}
		r.accounts(at+".run_as", t.RunAs, false)
		r.accounts(at+".users", t.Users, true)
		r.folders(at+".read", t.Read)
		r.folders(at+".write", t.Write)
		c := jobspec.Ceiling{
			MaxTier: r.tier(at+".max_tier", t.MaxTier), MaxNet: jobspec.NetNone, RunAs: t.RunAs, Users: t.Users, Read: t.Read, Write: t.Write,
			Limits: r.limits(at+".limits", t.Limits), MaxTTL: r.span(at+".max_ttl", t.MaxTTL), MinInterval: r.span(at+".min_interval", t.MinInterval),
			MaxJobs: r.count(at+".max_jobs", t.MaxJobs), Disabled: t.Disabled,
		}
		if t.MaxNet != "" {
			c.MaxNet = r.net(at+".max_net", t.MaxNet)
		}
		all[p] = c
	}
	return all
}

// rules also tries each rule on its own examples: a rule that does not do what
// its author shows stops the file.
func (r *fields) rules(tables []ruleTable) []jobspec.Rule {
	var all []jobspec.Rule
	for i, t := range tables {
		rule := jobspec.Rule{ID: t.ID, Layer: jobspec.LayerManaged, Effect: t.Effect, Why: t.Why, Name: t.Name, Path: t.Path, Has: t.Has}
		at := item("rules", i)
		if err := jobspec.CheckRule(rule); err != nil {
			r.fail(r.value(at, err))
		}
		if slices.ContainsFunc(all, func(other jobspec.Rule) bool { return other.ID == rule.ID }) {
			r.fail(r.refuse(at+".id", r.codes.value, "", "%s stands there twice", jobspec.Quote(t.ID)))
		}
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
		all = append(all, rule)
	}
	return all
}
