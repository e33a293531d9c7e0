package jobspec

import (
	"slices"
	"strings"
	"testing"
)

func TestRulesAboutDenialsAreWrittenOutAndExact(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	if d := in.Op.Spec.Denials; d.OnDenial != "fail" || d.Max != DefaultMaxDenials {
		t.Errorf("defaults are not written out: %+v", d)
	}
	for name, tc := range map[string]struct {
		rules DenialRules
		ok    bool
	}{
		"expected":        {DenialRules{Expected: []ExpectedDenial{{CodeNetDeniedDomain, "t.example.org:443"}}, OnDenial: "kill", Max: 3}, true},
		"none":            {DenialRules{}, true},
		"unknown word":    {DenialRules{OnDenial: "ignore"}, false},
		"negative":        {DenialRules{Max: -1}, false},
		"too many":        {DenialRules{Max: 100000}, false},
		"no target":       {DenialRules{Expected: []ExpectedDenial{{CodeEscSudo, ""}}}, false},
		"long target":     {DenialRules{Expected: []ExpectedDenial{{CodeEscSudo, strings.Repeat("x", 201)}}}, false},
		"not of a run":    {DenialRules{Expected: []ExpectedDenial{{CodeSigInvalid, "x"}}}, false},
		"a right's":       {DenialRules{Expected: []ExpectedDenial{{CodeRoleInsufficient, "x"}}}, false},
		"a limit":         {DenialRules{Expected: []ExpectedDenial{{CodeLimitTimeout, "x"}}}, false},
		"an end":          {DenialRules{Expected: []ExpectedDenial{{CodeDenialLoop, "x"}}}, false},
		"a planted name":  {DenialRules{Expected: []ExpectedDenial{{CodeFsProtectedCreated, "/srv/.git"}}}, false},
		"a refusal":       {DenialRules{Expected: []ExpectedDenial{{CodeAskAtTrigger, "x"}}}, false},
		"no code":         {DenialRules{Expected: []ExpectedDenial{{"", "x"}}}, false},
		"too many listed": {DenialRules{Expected: slices.Repeat([]ExpectedDenial{{CodeEscSudo, "x"}}, 65)}, false},
	} {
		in := goodInput(t, goodDraft(), goodFacts())
		in.Op.Spec.Denials = tc.rules
		if codes := codesOf(Decide(PhaseTrigger, in)); slices.Contains(codes, CodeSpecMalformed) == tc.ok {
			t.Errorf("%s: %v", name, codes)
		}
	}
}

func TestResultsOfAgentsAreNoLaterWork(t *testing.T) {
	for _, word := range []string{ExitWord, ResultClaude, ResultCodex, ResultGemini} {
		in := goodInput(t, goodDraft(), goodFacts())
		in.Op.Spec.Result = word
		if d := Decide(PhaseTrigger, in); !d.Allowed() {
			t.Errorf("%s: %v", word, codesOf(d))
		}
	}
}
