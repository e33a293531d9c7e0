package jobspec

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"
)

// Meet is what two files allow together: field by field the stricter of both.
// It is commutative, associative and idempotent, and in no field looser than
// either, so a further file never opens anything. Rules are joined, for any deny
// denies and any ask asks; rules that allow count only in the list of the file
// that they stand in, see ManagedOnly. Neither input is changed.
//
// Digest and Owners are not part of it: the first must be equal in both to stay,
// the second are joined.
func Meet(a, b *Policy) *Policy {
	a, b = a.Filled(), b.Filled()
	m := &Policy{
		Serial:            max(a.Serial, b.Serial),
		EnabledPlatforms:  meetNames(a.EnabledPlatforms, b.EnabledPlatforms),
		ManagedOnly:       meetManagedOnly(a.ManagedOnly, b.ManagedOnly),
		Weaker:            meetNames(a.Weaker, b.Weaker),
		AgentCLI:          meetWord(a.AgentCLI, b.AgentCLI, agentDeny),
		UnmatchedCommands: meetWord(a.UnmatchedCommands, b.UnmatchedCommands, unmatchedAsk),
		AgentInnerSandbox: meetWord(a.AgentInnerSandbox, b.AgentInnerSandbox, innerOn),
		Upstream:          meetUpstream(a.Upstream, b.Upstream),
		Open:              a.Open && b.Open,
		Principals:        meetPrincipals(a, b),
		MaxConcurrent:     leastEach(a.MaxConcurrent, b.MaxConcurrent),
		Operators:         meetNames(a.Operators, b.Operators),
		Auditors:          meetNames(a.Auditors, b.Auditors),
		Rules:             joinRules(a.Rules, b.Rules),
		Owners:            joinOwners(a.Owners, b.Owners),
	}
	if a.Digest == b.Digest {
		m.Digest = a.Digest
	}
	return m
}

// The words of fields that hold one of two. What stands first is the stricter.
const (
	unmatchedAsk   = "ask"
	unmatchedAllow = "allow"

	agentDeny = "deny"
	agentAsk  = "ask"
	innerOn   = "on"
	innerOff  = "off"
)

// Filled is p with the strict end, or the default, written out where a file that
// grants leaves a field out. In one that only narrows nothing is filled in.
func (p *Policy) Filled() *Policy {
	out := *p
	if p.Open {
		return &out
	}
	out.EnabledPlatforms, out.Weaker = listed(p.EnabledPlatforms), listed(p.Weaker)
	out.Operators, out.Auditors = listed(p.Operators), listed(p.Auditors)
	out.AgentCLI = orElse(p.AgentCLI, agentAsk)
	out.Upstream = orElse(p.Upstream, UpstreamDirect)
	out.UnmatchedCommands = orElse(p.UnmatchedCommands, unmatchedAllow)
	out.AgentInnerSandbox = orElse(p.AgentInnerSandbox, innerOn)
	out.Principals = make(map[Principal]Ceiling, len(p.Principals))
	for name, c := range p.Principals {
		out.Principals[name] = c.filled()
	}
	return &out
}

func (c Ceiling) filled() Ceiling {
	c.Backends = orBackends(c.Backends)
	for _, f := range setFields() {
		list := f.value(&c)
		*list = listed(*list)
	}
	c.MaxTTL, c.MinInterval = orElse(c.MaxTTL, DefaultMaxTTL), orElse(c.MinInterval, DefaultMinInterval)
	c.MaxJobs = orElse(c.MaxJobs, DefaultMaxJobs)
	return c
}

// listed turns "not said" into "nothing".
func listed(items []string) []string {
	if items == nil {
		return []string{}
	}
	return items
}

// For is what holds for the jobs of one principal: p, narrowed by the file that
// the principal keeps. Where that file has a fault it is p, and the policy step
// refuses.
func (p *Policy) For(who Principal) *Policy {
	if p == nil || p.Owners[who].Policy == nil {
		return p
	}
	m := Meet(p, p.Owners[who].Policy)
	m.Serial, m.Digest = p.Serial, p.Digest
	return m
}

// meetPrincipals is pointwise. A principal that a file does not name is nobody
// where the file grants, and not restricted where it only narrows.
func meetPrincipals(a, b *Policy) map[Principal]Ceiling {
	out := map[Principal]Ceiling{}
	for name, c := range a.Principals {
		d, both := b.Principals[name]
		switch {
		case both:
			out[name] = MeetCeilings(c, d)
		case b.Open:
			out[name] = c
		}
	}
	for name, d := range b.Principals {
		if _, both := a.Principals[name]; !both && a.Open {
			out[name] = d
		}
	}
	return out
}

// MeetCeilings is Meet for one principal. In both a nil list and a zero number
// mean that nothing is said; a tier or net of zero is none.
func MeetCeilings(a, b Ceiling) Ceiling {
	m := Ceiling{
		MaxTier:     min(a.MaxTier, b.MaxTier),
		MaxNet:      min(a.MaxNet, b.MaxNet),
		MaxTTL:      least(a.MaxTTL, b.MaxTTL),
		MinInterval: max(a.MinInterval, b.MinInterval),
		MaxJobs:     least(a.MaxJobs, b.MaxJobs),

		MaxConcurrent: least(a.MaxConcurrent, b.MaxConcurrent),
		Windows:       joinWindows(a.Windows, b.Windows),
		Require:       joinRequire(a.Require, b.Require),
		Disabled:      a.Disabled || b.Disabled,
	}
	for _, f := range setFields() {
		*f.value(&m) = meetSets(*f.value(&a), *f.value(&b), f.covers)
	}
	for _, f := range limitFields() {
		*f.value(&m.Limits) = least(*f.value(&a.Limits), *f.value(&b.Limits))
	}
	return m
}

// leastEach is least for each tier; nil where neither says anything.
func leastEach(a, b map[Tier]int64) map[Tier]int64 {
	var out map[Tier]int64
	for tier := Scratch; tier <= Workspace; tier++ {
		if n := least(a[tier], b[tier]); n != 0 {
			if out == nil {
				out = map[Tier]int64{}
			}
			out[tier] = n
		}
	}
	return out
}

// least is the smaller of two bounds, of which zero is none.
func least[T int64 | time.Duration](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// meetWord is the strict word where either file says it; "" says nothing.
func meetWord(a, b, strict string) string {
	if a == strict || b == strict {
		return strict
	}
	return cmp.Or(min(a, b), max(a, b))
}

func meetManagedOnly(a, b ManagedOnly) ManagedOnly {
	return ManagedOnly{
		Commands:   a.Commands || b.Commands,
		ReadPaths:  a.ReadPaths || b.ReadPaths,
		WritePaths: a.WritePaths || b.WritePaths,
		Lists:      joined(a.lists(), b.lists()),
	}
}

// lists names the files of which each must allow a command: policy.toml, "",
// where the switch is on and no file is named.
func (m ManagedOnly) lists() []string {
	if m.Commands && len(m.Lists) == 0 {
		return []string{""}
	}
	return m.Lists
}

func joined(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func joinWindows(a, b [][]Window) [][]Window {
	text := func(list []Window) string {
		s := ""
		for _, w := range list {
			s += w.String() + "\n"
		}
		return s
	}
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y []Window) int { return cmp.Compare(text(x), text(y)) })
	return slices.CompactFunc(all, func(x, y []Window) bool { return text(x) == text(y) })
}

func joinRequire(a, b map[Tier][]string) map[Tier][]string {
	var out map[Tier][]string
	for _, t := range []Tier{Scratch, ReadOnly, Workspace} {
		if all := joined(a[t], b[t]); len(all) > 0 {
			if out == nil {
				out = map[Tier][]string{}
			}
			out[t] = all
		}
	}
	return out
}

// joinRules keeps each rule once, those of one file together and in its order.
func joinRules(a, b []Rule) []Rule {
	var all []Rule
	same := map[string][]Rule{} // by id: only these are compared, for there may be many
	for _, r := range slices.Concat(a, b) {
		if !slices.ContainsFunc(same[r.ID], func(s Rule) bool { return reflect.DeepEqual(r, s) }) {
			all, same[r.ID] = append(all, r), append(same[r.ID], r)
		}
	}
	slices.SortStableFunc(all, func(r, s Rule) int {
		return cmp.Or(cmp.Compare(layerOrder(r.Layer), layerOrder(s.Layer)), cmp.Compare(r.File, s.File))
	})
	return all
}

func layerOrder(layer string) int {
	if layer == LayerOwner {
		return 1
	}
	return 0
}

func joinOwners(a, b map[Principal]OwnerLayer) map[Principal]OwnerLayer {
	if len(a) == 0 {
		return maps.Clone(b)
	}
	out := maps.Clone(a)
	for name, o := range b {
		if _, taken := out[name]; !taken {
			out[name] = o
		}
	}
	return out
}
