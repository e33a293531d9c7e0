package jobspec

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestResolveWritesEveryDefaultOut(t *testing.T) {
	f := goodFacts()
	f.Cwd, f.Read = Place{}, nil
	f.Bound = []Bound{boundAt(RoleExecutable, "true", "/usr/bin/true")}
	op, err := Resolve(&Draft{Name: "least", Cron: "@daily", Command: []string{"true"}}, f)
	if err != nil {
		t.Fatal(err)
	}
	s := op.Spec
	now := InstantOf(testNow())
	for name, ok := range map[string]bool{
		"tier scratch without a cwd": op.Tier == Scratch && s.Cwd == Place{},
		"net none":                   op.Net == NetNone,
		"90 days":                    s.ExpiresAt == now.Add(90*24*time.Hour),
		"a day to apply":             op.ApplyBefore == now.Add(24*time.Hour),
		"zone UTC":                   s.Schedule.Timezone == "UTC",
		"missed and overlap skip":    s.Schedule.Missed == "skip" && s.Schedule.Overlap == "skip",
		"limits":                     s.Limits == DefaultLimits(),
		"result exit":                s.Result == "exit",
		"backend bwrap":              slices.Equal(s.Backend.AnyOf, []string{"bwrap"}),
		"coverage":                   s.Coverage["executable"] == "hash" && s.Coverage["libraries"] == "unbound",
		"words":                      s.Schedule.Words == "every day at 02:30",
		"header":                     op.Type == OpType && op.Host == testHost && op.Seq == 7 && op.Revision == 1 && op.Principal == "alice" && op.Action == Add,
		"no answers":                 len(s.Answers) == 0,
	} {
		if !ok {
			t.Errorf("%s does not hold: %+v", name, s)
		}
	}
	if d := Decide(PhaseAdd, inputFor(op)); !d.Allowed() {
		t.Errorf("%+v", d.Refusals())
	}
}

func TestResolveKeepsWhatWasTyped(t *testing.T) {
	d, f := goodDraft(), goodFacts()
	d.Tier, d.Timezone, d.Expires, d.Limits.PIDs = NoTier, "", time.Hour, 7
	f.Zone, f.HasGit = "Europe/Berlin", true
	op, err := Resolve(d, f)
	if err != nil {
		t.Fatal(err)
	}
	if op.Tier != ReadOnly || op.Spec.Schedule.Timezone != "Europe/Berlin" || op.Spec.Limits.PIDs != 7 || op.Spec.Git != "" ||
		op.Spec.ExpiresAt != op.Created.Add(time.Hour) || !slices.Equal(op.Spec.Argv, d.Command) {
		t.Errorf("%+v", op.Spec)
	}
	d.Tier = Workspace
	if op, err = Resolve(d, f); err != nil || op.Spec.Git != "read-only" {
		t.Errorf("git %v, error %v", op, err)
	}
	op.Spec.Argv[0] = "changed"
	if d.Command[0] == "changed" {
		t.Error("the op shares memory with the draft")
	}
}

func TestDraftsThatCannotBeResolved(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(d *Draft, f *Facts)
		want   Code
	}{
		{"no command", func(d *Draft, f *Facts) { d.Command = nil }, CodeSpecMalformed},
		{"empty program", func(d *Draft, f *Facts) { d.Command = []string{""} }, CodeSpecMalformed},
		{"script without body", func(d *Draft, f *Facts) { d.Script.Interpreter = "/bin/sh" }, CodeSpecMalformed},
		{"no schedule", func(d *Draft, f *Facts) { d.Cron = "" }, CodeScheduleInvalid},
		{"two schedules", func(d *Draft, f *Facts) { d.Every = time.Hour }, CodeScheduleInvalid},
		{"scratch with a cwd", func(d *Draft, f *Facts) { d.Tier = Scratch }, CodeSpecMalformed},
		{"workspace without a cwd", func(d *Draft, f *Facts) { d.Cwd, f.Cwd = "", Place{} }, CodeSpecMalformed},
		{"cwd that was not looked at", func(d *Draft, f *Facts) { f.Cwd = Place{} }, CodeInternal},
		{"no chain", func(d *Draft, f *Facts) { f.Prev = Digest{} }, CodeInternal},
		{"no clock", func(d *Draft, f *Facts) { f.Now = time.Time{} }, CodeInternal},
		{"an action without a spec", func(d *Draft, f *Facts) { f.Action = Remove }, CodeActionUnknown},
	} {
		d, f := goodDraft(), goodFacts()
		c.change(d, &f)
		op, err := Resolve(d, f)
		if CodeOf(err) != c.want || op != nil {
			t.Errorf("%s: %v, error %v", c.name, op, err)
		}
	}
}

func TestSpans(t *testing.T) {
	for s, want := range map[string]time.Duration{"90d": 90 * 24 * time.Hour, "1h30m": 90 * time.Minute, "45s": 45 * time.Second, "2w": 14 * 24 * time.Hour} {
		if got, err := ParseSpan(s); err != nil || got != want {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0s", "00s", "01h", "90", "d", "1.5h", "-1h", "+1h", " 1h", "1h ", "30m1h", "1h1h", "1y", "1H", "1ms", "99999999999999999999d", "2147483647w", "\u0661h"} {
		if got, err := ParseSpan(s); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestSizes(t *testing.T) {
	for s, want := range map[string]int64{"1B": 1, "512MiB": 512 << 20, "1GiB": 1 << 30, "4TiB": 4 << 40} {
		if got, err := ParseSize(s); err != nil || got != want {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0B", "1", "1MB", "1kB", "1KB", "1 MiB", "1.5GiB", "-1B", "01B", "MiB", "9999999999TiB", "99999999999999999999B"} {
		if got, err := ParseSize(s); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
	for s, want := range map[string]int64{"1": 100, "0.5": 50, "1.25": 125, "16": 1600} {
		if got, err := ParseCPUs(s); err != nil || got != want {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0", "0.00", ".5", "1.", "1.234", "-1", "1e3", "99999"} {
		if got, err := ParseCPUs(s); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestTheFloorIsPrintedWhole(t *testing.T) {
	text := strings.Join(Floor(), "\n")
	for _, r := range floorRules() {
		if !strings.Contains(text, r.id) || !r.code.Known() || r.text == "" || r.effect == effectAllow {
			t.Errorf("rule %+v", r)
		}
	}
	for _, f := range LaterFields() {
		if !strings.Contains(text, f) {
			t.Errorf("later field %q is not printed", f)
		}
	}
	if first := FloorDigest(); first.IsZero() || first != FloorDigest() {
		t.Error("the floor has no fixed digest")
	}
}

func TestWordsOfOtherToolsAreRefusedWithAHint(t *testing.T) {
	for _, w := range []string{"full", "yolo", "elevated", "auto", "guarded", "local", "host", "off", "none", "rw", "Scratch", "scratch ", "", "danger-full-access"} {
		var tier Tier
		err := tier.UnmarshalText([]byte(w))
		hinted, ok := err.(interface{ Hint() string })
		if err == nil || tier != NoTier || !ok || !strings.Contains(hinted.Hint(), "use ") {
			t.Errorf("%q: tier %v, error %v", w, tier, err)
		}
		var net Net
		if w != "none" {
			if err := net.UnmarshalText([]byte(w)); err == nil || net != NoNet {
				t.Errorf("%q: net %v, error %v", w, net, err)
			}
		}
	}
}
