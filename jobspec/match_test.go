package jobspec

import (
	"strings"
	"testing"
)

func TestArgumentsAreMatchedWholeAndInOrder(t *testing.T) {
	lit := func(s string) Token { return Token{Literal: s} }
	for _, c := range []struct {
		name string
		rule Rule
		args string
		want bool
	}{
		{"any arguments", Rule{}, "a b", true},
		{"no arguments", Rule{Args: []Token{}}, "", true},
		{"no arguments, one given", Rule{Args: []Token{}}, "a", false},
		{"in order", Rule{Args: []Token{lit("a"), lit("b")}}, "a b", true},
		{"out of order", Rule{Args: []Token{lit("a"), lit("b")}}, "b a", false},
		{"more than listed", Rule{Args: []Token{lit("a")}}, "a b", false},
		{"more with rest", Rule{Args: []Token{lit("a")}, Rest: true}, "a b", true},
		{"fewer", Rule{Args: []Token{lit("a"), {Any: true}}, Rest: true}, "a", false},
		{"one of", Rule{Args: []Token{{Alt: []string{"x", "y"}}}}, "y", true},
		{"none of", Rule{Args: []Token{{Alt: []string{"x", "y"}}}}, "z", false},
		{"pattern", Rule{Args: []Token{{Re: "[0-9]+"}}}, "12", true},
		{"pattern in part", Rule{Args: []Token{{Re: "[0-9]+"}}}, "12x", false},
		{"pattern with a choice is anchored too", Rule{Args: []Token{{Re: "a|b"}}}, "ax", false},
		{"never over two words", Rule{Args: []Token{lit("a b")}}, "a b", false},
	} {
		for _, effect := range []string{"allow", "deny"} {
			r := c.rule
			r.Effect, r.Name = effect, "x"
			s := segment{words: append([]string{"x"}, words(c.args)...), real: "/usr/bin/x", at: spot{".", true}}
			if got := r.matches(s, "/srv"); got != c.want {
				t.Errorf("%s, %s: %v", effect, c.name, got)
			}
		}
	}
}

func TestALongPatternIsRefused(t *testing.T) {
	rule := func(n int) Rule {
		return Rule{ID: "r", Effect: "deny", Why: "w", Name: "x", Args: []Token{{Re: strings.Repeat("a", n)}}}
	}
	if err := CheckRule(rule(256)); err != nil {
		t.Error(err)
	}
	if err := CheckRule(rule(257)); CodeOf(err) != CodePolicySchema {
		t.Errorf("a pattern of 257 bytes: %v", err)
	}
}

func TestTheFolderOfACommandFollowsItsCd(t *testing.T) {
	for _, c := range []struct {
		text, effect, glob string
		want               bool
	}{
		{"rm x", "deny", "/srv/ops", true},
		{"cd keep && rm x", "deny", "/srv/ops/keep", true},
		{"cd keep && rm x", "deny", "/srv/ops", false},
		{"cd \"$d\" && rm x", "deny", "/srv/ops/keep", true}, // it may be that one
		{"(cd keep); rm x", "deny", "/srv/ops/keep", false},
		{"cd keep && rm x", "allow", "/srv/ops/keep", true},
		{"cd \"$d\" && rm x", "allow", "/srv/ops/keep", false}, // it may be another
	} {
		r := readCommand(sh(c.text), Script{}, "/srv/ops")
		got := false
		for _, s := range r.segments {
			got = got || Rule{Effect: c.effect, Name: "rm", Cwd: c.glob}.matches(s, "/srv/ops")
		}
		if got != c.want {
			t.Errorf("%s %s in %q: %v", c.effect, c.glob, c.text, got)
		}
	}
}
