package jobspec

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The pools are small, so that two drawn policies often speak of the same thing.

func drawSet(rt *rapid.T, pool []string, open bool, covers func(a, b string) bool, label string) []string {
	if open && rapid.Bool().Draw(rt, label+" unsaid") {
		return nil
	}
	some := rapid.SliceOfDistinct(rapid.SampledFrom(pool), rapid.ID[string]).Draw(rt, label)
	return reduced(some, covers)
}

var (
	pathPool     = []string{"/srv", "/srv/a", "/srv/a/b", "/srv/ab", "/data", "/data/x"}
	endpointPool = []string{"*.example.org:443", "a.example.org:443", "*.a.example.org:443", "x.a.example.org:443", "a.example.org:80", "10.0.0.0/8:5432", "10.1.0.0/16:5432", "10.1.2.3:5432"}
	namePool     = []string{"a", "b", "c"}
)

func poolOf(field string) []string {
	switch field {
	case "hosts", "private_hosts", "forward":
		return endpointPool
	case "read", "write", "bind", "sockets":
		return pathPool
	}
	return namePool
}

func drawNumber(rt *rapid.T, open bool, label string) int64 {
	least := int64(1)
	if open {
		least = 0
	}
	return rapid.Int64Range(least, 4).Draw(rt, label)
}

func drawCeiling(rt *rapid.T, open bool) Ceiling {
	c := Ceiling{
		MaxTier:  Tier(rapid.IntRange(0, 3).Draw(rt, "tier")),
		MaxNet:   Net(rapid.IntRange(0, 2).Draw(rt, "net")),
		MaxTTL:   time.Duration(drawNumber(rt, open, "ttl")) * time.Hour,
		MaxJobs:  drawNumber(rt, open, "jobs"),
		Disabled: rapid.Bool().Draw(rt, "disabled"),
	}
	c.MaxConcurrent = drawNumber(rt, true, "concurrent")
	c.MinInterval = time.Duration(drawNumber(rt, open, "interval")) * time.Minute
	for _, f := range setFields() {
		*f.value(&c) = drawSet(rt, poolOf(f.name), open, f.covers, f.name)
	}
	for _, f := range limitFields() {
		*f.value(&c.Limits) = drawNumber(rt, true, f.name)
	}
	for _, text := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"Mon 01:00-02:00", "22:00-04:00", "Sat,Sun 00:00-24:00"}), rapid.ID[string]).Draw(rt, "windows") {
		w, err := ParseWindow(text)
		if err != nil {
			rt.Fatal(err)
		}
		c.Windows = append(c.Windows, []Window{w})
	}
	c.Windows = joinWindows(c.Windows, nil)
	if rapid.Bool().Draw(rt, "require") {
		c.Require = map[Tier][]string{Workspace: {RequireTerminal}}
	}
	return c
}

// drawPolicy draws the file with a name: one that grants, or one that narrows.
// Its rules depend on its name alone, as a file has one content.
func drawPolicy(rt *rapid.T, file string, open bool) *Policy {
	p := &Policy{Open: open, Serial: 1, Principals: map[Principal]Ceiling{}}
	p.EnabledPlatforms = drawSet(rt, []string{"linux", "plan9"}, open, sameName, "platforms")
	p.Weaker = drawSet(rt, namePool, open, sameName, "weaker")
	p.Operators, p.Auditors = drawSet(rt, namePool, open, sameName, "operators"), drawSet(rt, namePool, open, sameName, "auditors")
	p.AgentCLI = rapid.SampledFrom([]string{"ask", "deny"}).Draw(rt, "agent")
	p.UnmatchedCommands = rapid.SampledFrom([]string{"ask", "allow"}).Draw(rt, "unmatched")
	p.AgentInnerSandbox = rapid.SampledFrom([]string{"on", "off"}).Draw(rt, "inner")
	if rapid.Bool().Draw(rt, "list") {
		p.ManagedOnly = ManagedOnly{Commands: true, Lists: []string{file}}
	}
	p.ManagedOnly.ReadPaths = rapid.Bool().Draw(rt, "read_paths")
	if n := drawNumber(rt, true, "of a tier"); n > 0 {
		p.MaxConcurrent = map[Tier]int64{Workspace: n}
	}
	for _, who := range []Principal{"alice", "bob"} {
		if rapid.Bool().Draw(rt, string(who)) {
			p.Principals[who] = drawCeiling(rt, open)
		}
	}
	p.Rules = []Rule{{ID: "r-" + file, Layer: LayerManaged, File: file, Effect: "deny", Why: "w", Name: file}}
	return p
}

func same(rt *rapid.T, what string, a, b *Policy) {
	if diff := cmp.Diff(a, b); diff != "" {
		rt.Fatalf("%s: %s", what, diff)
	}
}

func TestMeetIsCommutativeAssociativeAndIdempotent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := drawPolicy(rt, "a", rapid.Bool().Draw(rt, "open a"))
		b := drawPolicy(rt, "b", rapid.Bool().Draw(rt, "open b"))
		c := drawPolicy(rt, "c", rapid.Bool().Draw(rt, "open c"))
		same(rt, "commutative", Meet(a, b), Meet(b, a))
		same(rt, "associative", Meet(Meet(a, b), c), Meet(a, Meet(b, c)))
		same(rt, "idempotent", Meet(a, a), a.Filled())
		same(rt, "idempotent after meeting", Meet(Meet(a, b), b), Meet(a, b))
	})
}

// looser names a field in which c permits what a does not, "" for none. It reads
// both as a decision does and knows nothing of how they were met.
func looser(c, a Ceiling) string {
	switch {
	case c.MaxTier > a.MaxTier:
		return "max_tier"
	case c.MaxNet > a.MaxNet:
		return "max_net"
	case a.MaxTTL != 0 && (c.MaxTTL == 0 || c.MaxTTL > a.MaxTTL):
		return "max_ttl"
	case c.MinInterval < a.MinInterval:
		return "min_interval"
	case a.MaxJobs != 0 && (c.MaxJobs == 0 || c.MaxJobs > a.MaxJobs):
		return "max_jobs"
	case a.MaxConcurrent != 0 && (c.MaxConcurrent == 0 || c.MaxConcurrent > a.MaxConcurrent):
		return "max_concurrent"
	case a.Disabled && !c.Disabled:
		return "disabled"
	case len(c.Windows) < len(a.Windows):
		return "windows"
	case len(c.Require[Workspace]) < len(a.Require[Workspace]):
		return "require"
	}
	for _, f := range setFields() {
		outer := *f.value(&a)
		for _, item := range *f.value(&c) {
			if outer != nil && !slices.ContainsFunc(outer, func(o string) bool { return f.covers(o, item) }) {
				return f.name
			}
		}
		if outer != nil && *f.value(&c) == nil {
			return f.name
		}
	}
	for _, f := range limitFields() {
		if top := *f.value(&a.Limits); top != 0 && (*f.value(&c.Limits) == 0 || *f.value(&c.Limits) > top) {
			return f.name
		}
	}
	return ""
}

func TestMeetIsNeverLooserThanAnInput(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := drawPolicy(rt, "a", rapid.Bool().Draw(rt, "open a"))
		b := drawPolicy(rt, "b", rapid.Bool().Draw(rt, "open b"))
		m := Meet(a, b)
		for _, in := range []*Policy{a.Filled(), b.Filled()} {
			for who, c := range m.Principals {
				of, named := in.Principals[who]
				if !named && !in.Open {
					rt.Fatalf("%s is somebody", who)
				}
				if field := looser(c, of); named && field != "" {
					rt.Fatalf("%s of %s is looser: %+v, of %+v", field, who, c, of)
				}
			}
			checkLists(rt, m, in)
		}
	})
}

func checkLists(rt *rapid.T, m, in *Policy) {
	for name, lists := range map[string][2][]string{
		"enabled_platforms": {m.EnabledPlatforms, in.EnabledPlatforms}, "weaker": {m.Weaker, in.Weaker},
		"operators": {m.Operators, in.Operators}, "auditors": {m.Auditors, in.Auditors},
	} {
		for _, item := range lists[0] {
			if lists[1] != nil && !slices.Contains(lists[1], item) {
				rt.Fatalf("%s has %s", name, item)
			}
		}
	}
	if in.AgentCLI == "deny" && m.AgentCLI != "deny" || in.UnmatchedCommands == "ask" && m.UnmatchedCommands != "ask" || in.AgentInnerSandbox == "on" && m.AgentInnerSandbox != "on" ||
		in.ManagedOnly.ReadPaths && !m.ManagedOnly.ReadPaths {
		rt.Fatalf("a switch is looser: %+v, of %+v", m, in)
	}
	for _, list := range in.ManagedOnly.lists() {
		if !slices.Contains(m.ManagedOnly.lists(), list) {
			rt.Fatalf("the list of %s is gone", list)
		}
	}
	for _, r := range in.Rules {
		if !slices.ContainsFunc(m.Rules, func(s Rule) bool { return s.ID == r.ID }) {
			rt.Fatalf("rule %s is gone", r.ID)
		}
	}
}

// A set of what was met permits exactly what both permit, tried item by item.
func TestSetsMeetToWhatBothCover(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := rapid.SampledFrom(setFields()).Draw(rt, "field")
		pool := poolOf(f.name)
		a, b := drawSet(rt, pool, false, f.covers, "a"), drawSet(rt, pool, false, f.covers, "b")
		m := meetSets(a, b, f.covers)
		for _, item := range pool {
			in := func(list []string) bool {
				return slices.ContainsFunc(list, func(o string) bool { return f.covers(o, item) })
			}
			if in(m) != (in(a) && in(b)) {
				rt.Fatalf("%s: %v and %v are %v, which is wrong about %s", f.name, a, b, m, item)
			}
		}
	})
}

// layers are files that somebody puts beside a policy. None may start a job.
func drawLayer(rt *rapid.T) *Policy {
	p := drawPolicy(rt, "extra", true)
	p.Rules = nil
	for i, effect := range rapid.SliceOfN(rapid.SampledFrom([]string{"deny", "ask", "allow"}), 0, 3).Draw(rt, "effects") {
		p.Rules = append(p.Rules, Rule{ID: fmt.Sprintf("x%d", i), Layer: LayerManaged, File: "extra", Effect: effect, Why: "w",
			Path: rapid.SampledFrom([]string{"/srv/ops/backup.sh", "/srv/other"}).Draw(rt, "path")})
	}
	return p
}

func TestAFurtherFileNeverStartsAJob(t *testing.T) {
	started := 0
	rapid.Check(t, func(rt *rapid.T) {
		loose := rapid.SliceOfDistinct(rapid.SampledFrom(keysOf(loosening)), rapid.ID[string]).Draw(rt, "loose")
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(keysOf(tightening)), 0, 2, rapid.ID[string]).Draw(rt, "some")
		layer := drawLayer(rt)
		phase := rapid.SampledFrom(phases).Draw(rt, "phase")
		in := goodInput(t, goodDraft(), goodFacts())
		for _, n := range loose {
			loosening[n](&in)
		}
		for _, n := range some {
			tightening[n](&in)
		}
		before := Decide(phase, in)
		in.Policy = Meet(in.Policy, layer)
		managed := Decide(phase, in)
		in.Policy.Owners = map[Principal]OwnerLayer{"alice": {Policy: layer}}
		owned := Decide(phase, in)
		if managed.Allowed() && !before.Allowed() || owned.Allowed() && !managed.Allowed() {
			rt.Fatalf("it starts with %+v; before: %v", layer, before.Refusals())
		}
		if before.Allowed() {
			started++
		}
	})
	if started == 0 {
		t.Error("nothing ever started: the test shows nothing")
	}
}

func TestTakingAnAllowAwayNeverStartsAJob(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := goodInput(t, goodDraft(), goodFacts())
		in.Policy.ManagedOnly.Commands = rapid.Bool().Draw(rt, "list")
		for i, effect := range rapid.SliceOfN(rapid.SampledFrom([]string{"deny", "ask", "allow"}), 1, 4).Draw(rt, "effects") {
			in.rule(Rule{ID: fmt.Sprintf("r%d", i), Effect: effect, Why: "w", Path: rapid.SampledFrom([]string{"/srv/ops/*", "/srv/other"}).Draw(rt, "path")})
		}
		before := Decide(PhaseTrigger, in)
		for i, r := range in.Policy.Rules {
			if !isAllow(r) {
				continue
			}
			less := in
			p := *in.Policy
			p.Rules = slices.Delete(slices.Clone(p.Rules), i, i+1)
			less.Policy = &p
			if Decide(PhaseTrigger, less).Allowed() && !before.Allowed() {
				rt.Fatalf("without %+v it starts", r)
			}
		}
	})
}
