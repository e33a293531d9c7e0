package jobspec

import (
	"slices"
	"testing"
)

// Four verdicts are separate: each alone refuses, and tells no lie about the
// other three.
func TestEachVerdictAloneRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(in *Input)
		want   Verdicts
	}{
		{"identity", func(in *Input) { in.Identity = CodeKeyRevoked }, Verdicts{Identity: No, Capability: Yes, Resources: Yes, Consent: Yes}},
		{"capability", func(in *Input) { in.rule(Rule{ID: "d", Effect: "deny", Why: "w", Name: "backup.sh"}) },
			Verdicts{Identity: Yes, Capability: No, Resources: Yes, Consent: Yes}},
		{"resources", func(in *Input) { in.Paths[0].SHA256 = DigestOf(nil) }, Verdicts{Identity: Yes, Capability: Yes, Resources: No, Consent: Yes}},
		{"consent", func(in *Input) { in.rule(Rule{ID: "a", Effect: "ask", Why: "w", Name: "backup.sh"}) },
			Verdicts{Identity: Yes, Capability: Yes, Resources: Yes, Consent: No}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := goodInput(t, goodDraft(), goodFacts())
			c.change(&in)
			if d := Decide(PhaseTrigger, in); d.Allowed() || d.Verdicts != c.want {
				t.Errorf("allowed %v, verdicts %+v, want %+v", d.Allowed(), d.Verdicts, c.want)
			}
		})
	}
}

// An answer speaks to its question. Whatever denies beside it goes on denying.
func TestNoAnswerLiftsADeny(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.rule(Rule{ID: "a", Effect: "ask", Why: "w", Name: "backup.sh"})
	asked := Decide(PhaseAdd, in)
	if len(asked.Asks) != 1 {
		t.Fatalf("asks %+v", asked.Asks)
	}
	in.Op.Spec.Answers = []Answer{asked.Asks[0].Answer()}
	if d := Decide(PhaseTrigger, in); !d.Allowed() {
		t.Fatalf("answered, and %+v", d.Refusals())
	}
	in.rule(Rule{ID: "d", Effect: "deny", Why: "w", Name: "backup.sh"})
	for _, phase := range phases {
		if d := Decide(phase, in); d.Allowed() || !slices.Contains(codesOf(d), CodeCmdDeniedRule) {
			t.Errorf("phase %d: allowed %v, %v", phase, d.Allowed(), codesOf(d))
		}
	}
	in.Op.Spec.Answers = append(in.Op.Spec.Answers, Answer{AskID: "d", Rule: "d", Shown: DigestOf([]byte("w"))})
	if d := Decide(PhaseTrigger, in); d.Allowed() {
		t.Error("an answer to a deny was taken")
	}
}

// Tier and net are two orders and no more: every pair is judged by two ceilings,
// each of which looks at its own.
func TestTierAndNetAreJudgedApart(t *testing.T) {
	for tier := Scratch; tier <= Workspace; tier++ {
		for net := NetNone; net <= NetProxy; net++ {
			for maxTier := NoTier; maxTier <= Workspace; maxTier++ {
				for maxNet := NoNet; maxNet <= NetProxy; maxNet++ {
					in := goodInput(t, goodDraft(), goodFacts())
					in.Op.Tier, in.Op.Net = tier, net
					in.alice(func(c *Ceiling) { c.MaxTier, c.MaxNet = maxTier, maxNet })
					codes := codesOf(Decide(PhaseExplain, in))
					if got := slices.Contains(codes, CodeTierOverCeiling); got != (tier > maxTier) {
						t.Errorf("%s/%s under %s/%s: %v", tier, net, maxTier, maxNet, codes)
					}
					if got := slices.Contains(codes, CodeNetOverCeiling); got != (net > maxNet) {
						t.Errorf("%s/%s under %s/%s: %v", tier, net, maxTier, maxNet, codes)
					}
				}
			}
		}
	}
}
