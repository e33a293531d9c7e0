package runner

import (
	"fmt"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func TestUnexpectedDenialsDecideTheOutcome(t *testing.T) {
	expect := jobspec.DenialRules{Expected: []jobspec.ExpectedDenial{{Code: jobspec.CodeEscSudo, Target: "sudo id"}}}
	for name, tc := range map[string]struct {
		target string
		was    record.Outcome
		want   record.Outcome
	}{
		"success":             {"sudo ip", record.OutcomeSucceeded, record.OutcomeDenied},
		"failure":             {"sudo ip", record.OutcomeFailed, record.OutcomeDenied},
		"timeout stays":       {"sudo ip", record.OutcomeTimedOut, record.OutcomeTimedOut},
		"cancel stays":        {"sudo ip", record.OutcomeKilled, record.OutcomeKilled},
		"expected":            {"sudo id", record.OutcomeSucceeded, record.OutcomeSucceeded},
		"expected, and fails": {"sudo id", record.OutcomeFailed, record.OutcomeFailed},
	} {
		d := NewDenials(expect, noon)
		if why := d.Observed(Attempt{Code: jobspec.CodeEscSudo, Target: tc.target, Count: 2}); why != "" {
			t.Errorf("%s: ended for %s", name, why)
		}
		end := record.End{Outcome: tc.was}
		d.Into(&end)
		if end.Outcome != tc.want || len(end.Denials) != 1 || end.Denials[0].Count != 2 || end.Denials[0].FirstAt != record.Stamp(noon()) || end.Denials[0].Certainty != "observed" {
			t.Errorf("%s: %s, %+v", name, end.Outcome, end.Denials)
		}
	}
}

func TestRulesEndARunAndSayWhy(t *testing.T) {
	tries := func(rules jobspec.DenialRules, n int, target func(int) string) (int, *Denials) {
		d := NewDenials(rules, noon)
		for i := 1; i <= n; i++ {
			if d.Observed(Attempt{Code: jobspec.CodeEscSudo, Target: target(i), Count: 1}) != "" {
				return i, d
			}
		}
		return 0, d
	}
	same := func(int) string { return "sudo" }
	other := func(i int) string { return fmt.Sprint("sudo ", i) }
	for name, tc := range map[string]struct {
		rules  jobspec.DenialRules
		target func(int) string
		at     int
		code   jobspec.Code
	}{
		"first":            {jobspec.DenialRules{OnDenial: "kill"}, same, 1, jobspec.CodeDenialKilled},
		"loop":             {jobspec.DenialRules{OnDenial: "fail", Max: 20}, same, 6, jobspec.CodeDenialLoop},
		"number":           {jobspec.DenialRules{OnDenial: "fail", Max: 20}, other, 21, jobspec.CodeDenialLoop},
		"no rules at all":  {jobspec.DenialRules{}, same, 6, jobspec.CodeDenialLoop},
		"without a number": {jobspec.DenialRules{}, other, maxDenials + LoopLimit + 1, jobspec.CodeDenialLoop},
	} {
		at, d := tries(tc.rules, 100, tc.target)
		end := record.End{Outcome: record.OutcomeKilled, Reasons: []record.Reason{{Code: tc.code}}}
		d.Into(&end)
		if at != tc.at || end.Outcome != record.OutcomeDenied || end.Reasons[0].Code != tc.code || end.Reasons[0].Detail == "" {
			t.Errorf("%s: ended at %d, %s, %+v", name, at, end.Outcome, end.Reasons)
		}
		if len(end.Denials) > maxDenials+1 {
			t.Errorf("%s: %d entries", name, len(end.Denials))
		}
	}
}

func TestExpectedDenialsNeverEndARun(t *testing.T) {
	d := NewDenials(jobspec.DenialRules{OnDenial: "kill", Max: 1, Expected: []jobspec.ExpectedDenial{{Code: jobspec.CodeEscSudo, Target: "sudo"}}}, noon)
	for range 1000 {
		if why := d.Observed(Attempt{Code: jobspec.CodeEscSudo, Target: "sudo", Count: 1}); why != "" {
			t.Fatalf("ended for %s", why)
		}
	}
	if why := d.Observed(Attempt{Code: jobspec.CodeEscSu, Target: "sudo", Count: 1}); why != jobspec.CodeDenialKilled {
		t.Errorf("the same target with another code: %q", why)
	}
}
