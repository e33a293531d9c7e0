package jobspec

import (
	"slices"
	"testing"
)

// The truth table of precedence: what the floor, the managed files and the
// principal's own file say of one command, and what comes of it. A command that
// nobody says anything about is allowed, for the owner signs it, or asked about
// where unmatched_commands says so; managed_only.commands denies it.
func TestTruthTableOfLayers(t *testing.T) {
	const no, ask, allow = "deny", "ask", "allow"
	all := []string{"", no, ask, allow}
	type row struct {
		floor, managed, owner string
		list, unmatched       bool // managed_only.commands; unmatched_commands = "ask"
	}
	want := func(r row) string {
		switch {
		case r.floor == no, r.managed == no, r.owner == no, r.list && r.managed != allow:
			return no
		case r.floor == ask, r.managed == ask, r.owner == ask:
			return ask
		case r.unmatched && r.managed == "" && r.owner == "":
			return ask
		}
		return allow
	}
	rows := 0
	for _, floor := range []string{"", no, ask} {
		for _, managed := range all {
			for _, owner := range all {
				for i := range 4 {
					r := row{floor, managed, owner, i&1 != 0, i&2 != 0}
					if got := decideLayers(t, r.floor, r.managed, r.owner, r.list, r.unmatched); got != want(r) {
						t.Errorf("%+v: %s, want %s", r, got, want(r))
					}
					rows++
				}
			}
		}
	}
	if rows != 192 {
		t.Errorf("%d rows", rows)
	}
}

// decideLayers judges one command at add: an open ask is told from a refusal by
// its code.
func decideLayers(t *testing.T, floor, managed, owner string, list, unmatched bool) string {
	t.Helper()
	in := goodInput(t, goodDraft(), goodFacts())
	switch floor {
	case "deny":
		in.Op.Spec.Env["LD_PRELOAD"] = "x"
	case "ask":
		in.Op.Spec.Env["PYTHONPATH"] = "/srv/lib"
	}
	in.Policy.ManagedOnly.Commands = list
	if unmatched {
		in.Policy.UnmatchedCommands = "ask"
	}
	if managed != "" {
		in.rule(Rule{ID: "m", Layer: LayerManaged, Effect: managed, Why: "w", Path: "/srv/ops/backup.sh"})
	}
	if owner != "" {
		in.Policy.Owners = map[Principal]OwnerLayer{"alice": {Policy: &Policy{Open: true, Rules: []Rule{
			{ID: "o", Layer: LayerOwner, File: "owner.d/alice.toml", Effect: owner, Why: "w", Path: "/srv/ops/backup.sh"}}}}}
	}
	d := Decide(PhaseAdd, in)
	trigger := Decide(PhaseTrigger, in)
	codes := codesOf(d)
	switch {
	case d.Allowed():
		if !trigger.Allowed() {
			t.Errorf("allowed at add, and at the trigger %v", codesOf(trigger))
		}
		return "allow"
	case !slices.ContainsFunc(codes, func(c Code) bool { return c != CodeCmdAskUnanswered }):
		if !slices.Contains(codesOf(trigger), CodeAskAtTrigger) {
			t.Errorf("asked at add, and at the trigger %v", codesOf(trigger))
		}
		return "ask"
	}
	if trigger.Allowed() {
		t.Errorf("denied at add, allowed at the trigger")
	}
	return "deny"
}

func TestARuleThatCannotBeJudgedDenies(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.rule(Rule{ID: "m", Effect: "allow", Why: "w", Path: "/srv/ops/[", Args: []Token{{Re: "("}}})
	if codes := codesOf(Decide(PhaseTrigger, in)); !slices.Contains(codes, CodePolicyEvalError) {
		t.Errorf("%v", codes)
	}
}

// A rule that allows adds to no list but that of its own file.
func TestAnotherFileDoesNotAddToAList(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.Policy.ManagedOnly.Commands = true
	allow := Rule{ID: "al", Layer: LayerManaged, File: "policy.d/x.toml", Effect: "allow", Why: "w", Path: "/srv/ops/backup.sh"}
	in.rule(allow)
	if codes := codesOf(Decide(PhaseTrigger, in)); !slices.Contains(codes, CodeCmdNotAllowed) {
		t.Errorf("%v", codes)
	}
	allow.ID, allow.File = "al2", ""
	in.rule(allow)
	if d := Decide(PhaseTrigger, in); !d.Allowed() {
		t.Errorf("%v", d.Refusals())
	}
	in.Policy.ManagedOnly.Lists = []string{"", "policy.d/y.toml"}
	if codes := codesOf(Decide(PhaseTrigger, in)); !slices.Contains(codes, CodeCmdNotAllowed) {
		t.Errorf("a second list does not count: %v", codes)
	}
}
