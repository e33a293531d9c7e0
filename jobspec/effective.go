package jobspec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// NamedPolicy is one file of a policy by its name below CONF.
type NamedPolicy struct {
	Name   string
	Policy *Policy
}

// EffectiveField is what holds in one field of a policy after all its files were
// met, and the files that it comes from.
type EffectiveField struct {
	Field string   `json:"field"`
	Value []string `json:"value"`
	From  []string `json:"from"` // names of files; "default" and "floor" where none says anything
}

// Effective lists what holds for one principal. It reports false where the
// principal is nobody.
func Effective(files []NamedPolicy, who Principal) ([]EffectiveField, bool) {
	if len(files) == 0 {
		return nil, false
	}
	met := files[0].Policy.Filled()
	for _, f := range files[1:] {
		met = Meet(met, f.Policy)
	}
	c, known := met.Principals[who]
	if !known {
		return nil, false
	}
	var out []EffectiveField
	for _, f := range effectiveFields() {
		e := EffectiveField{Field: f.name, Value: listed(f.value(met, c)), From: f.from(files, who, f.value(met, c))}
		out = append(out, e)
	}
	return out, true
}

// effectiveField reads one field of a policy as texts, and says whether a file
// says anything in it.
type effectiveField struct {
	name  string
	value func(p *Policy, c Ceiling) []string
	said  func(p *Policy, c Ceiling) bool
	unset string // what holds where nobody says anything
}

// from names the files whose own value is the effective one; where that is made
// of several, all that say something.
func (f effectiveField) from(files []NamedPolicy, who Principal, value []string) []string {
	var all, exact []string
	for _, file := range files {
		c, named := file.Policy.Principals[who]
		if !named && file.Policy.Open {
			c = Ceiling{MaxTier: Workspace, MaxNet: NetProxy}
		}
		if !f.said(file.Policy, c) {
			continue
		}
		all = append(all, file.Name)
		if slices.Equal(f.value(file.Policy, c), value) {
			exact = append(exact, file.Name)
		}
	}
	switch {
	case len(exact) > 0:
		return exact
	case len(all) > 0:
		return all
	}
	return []string{f.unset}
}

func effectiveFields() []effectiveField {
	all := []effectiveField{
		ofPolicy("enabled_platforms", func(p *Policy) []string { return p.EnabledPlatforms }),
		ofPolicy("weaker", func(p *Policy) []string { return p.Weaker }),
		ofPolicy("upstream", func(p *Policy) []string { return word(p.Upstream) }),
		ofPolicy("agent_cli", func(p *Policy) []string { return word(p.AgentCLI) }),
		ofPolicy("agent_inner_sandbox", func(p *Policy) []string { return word(p.AgentInnerSandbox) }),
		ofPolicy("unmatched_commands", func(p *Policy) []string { return word(p.UnmatchedCommands) }),
		ofPolicy("managed_only", func(p *Policy) []string { return p.ManagedOnly.words() }),
		{"disabled", func(_ *Policy, c Ceiling) []string { return word(strconv.FormatBool(c.Disabled)) },
			func(_ *Policy, c Ceiling) bool { return c.Disabled }, "default"},
		{"max_tier", func(_ *Policy, c Ceiling) []string { return word(c.MaxTier.String()) },
			func(p *Policy, c Ceiling) bool { return c.MaxTier != NoTier && !(p.Open && c.MaxTier == Workspace) }, "default"},
		{"max_net", func(_ *Policy, c Ceiling) []string { return word(c.MaxNet.String()) },
			func(p *Policy, c Ceiling) bool { return c.MaxNet != NoNet && !(p.Open && c.MaxNet == NetProxy) }, "default"},
	}
	for _, f := range setFields() {
		all = append(all, ofCeiling(f.name, func(c Ceiling) []string { return *f.value(&c) }))
	}
	all = append(all,
		ofCeiling("windows", func(c Ceiling) []string { return windowTexts(c.Windows) }),
		ofCeiling("require", func(c Ceiling) []string { return requireTexts(c.Require) }),
		ofCeiling("max_ttl", func(c Ceiling) []string { return spanText(c.MaxTTL) }),
		ofCeiling("min_interval", func(c Ceiling) []string { return spanText(c.MinInterval) }),
		ofCeiling("max_jobs", func(c Ceiling) []string { return numberText(c.MaxJobs) }),
		ofCeiling("max_concurrent", func(c Ceiling) []string { return numberText(c.MaxConcurrent) }),
		ofPolicy("max_concurrent_of_tiers", func(p *Policy) []string { return concurrentTexts(p.MaxConcurrent) }))
	for _, f := range limitFields() {
		all = append(all, effectiveField{"limits." + f.name,
			func(_ *Policy, c Ceiling) []string { return numberText(f.within(c.Limits)) },
			func(_ *Policy, c Ceiling) bool { return *f.value(&c.Limits) != 0 }, LayerFloor})
	}
	return all
}

// concurrentTexts names the tiers that are bounded.
func concurrentTexts(all map[Tier]int64) (out []string) {
	for tier := Scratch; tier <= Workspace; tier++ {
		if n := all[tier]; n != 0 {
			out = append(out, fmt.Sprintf("%s = %d", tier, n))
		}
	}
	return out
}

// within is a limit below the floor's highest.
func (f limitField) within(l Limits) int64 {
	floor := FloorLimits()
	return least(*f.value(&l), *f.value(&floor))
}

func ofPolicy(name string, value func(*Policy) []string) effectiveField {
	return effectiveField{name, func(p *Policy, _ Ceiling) []string { return value(p) },
		func(p *Policy, _ Ceiling) bool { return value(p) != nil }, "default"}
}

func ofCeiling(name string, value func(Ceiling) []string) effectiveField {
	return effectiveField{name, func(_ *Policy, c Ceiling) []string { return value(c) },
		func(_ *Policy, c Ceiling) bool { return value(c) != nil }, "default"}
}

// word is a list of one word; nil for none.
func word(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func numberText(n int64) []string {
	if n == 0 {
		return nil
	}
	return []string{strconv.FormatInt(n, 10)}
}

func spanText(d time.Duration) []string {
	if d == 0 {
		return nil
	}
	return []string{FormatSpan(d)}
}

// windowTexts joins what may be chosen from; all lists must hold.
func windowTexts(lists [][]Window) []string {
	var all []string
	for _, list := range lists {
		all = append(all, "one of: "+windowsText(list))
	}
	return all
}

func requireTexts(ways map[Tier][]string) []string {
	var all []string
	for _, t := range []Tier{Scratch, ReadOnly, Workspace} {
		if len(ways[t]) > 0 {
			all = append(all, fmt.Sprintf("%s: %s", t, strings.Join(ways[t], ", ")))
		}
	}
	return all
}

func (m ManagedOnly) words() []string {
	var all []string
	for _, file := range m.lists() {
		all = append(all, "commands by rules of "+orElse(file, policyFile))
	}
	if m.ReadPaths {
		all = append(all, "read_paths")
	}
	if m.WritePaths {
		all = append(all, "write_paths")
	}
	return all
}
