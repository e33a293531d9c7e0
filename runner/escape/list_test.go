package escape

import (
	"slices"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

func TestTheListIsWellFormed(t *testing.T) {
	known := append(Removable(), PidNS, UID, NNP, OuterNS, NoTTY, Env, Sizes, Shims, Kernel)
	seen := map[string]bool{}
	for _, a := range Attempts() {
		if seen[a.ID] || a.ID == "" || a.What == "" || a.Do == "" || len(a.Layers) == 0 || len(a.Want) == 0 {
			t.Errorf("%+v: an attempt needs an id of its own, words, layers and answers", a)
		}
		seen[a.ID] = true
		for _, l := range a.Layers {
			if !slices.Contains(known, l) {
				t.Errorf("%s: layer %q is not known", a.ID, l)
			}
		}
		if slices.Contains(a.Want, "ok") && !a.Heard() {
			t.Errorf("%s: to get through is no answer of a sandbox", a.ID)
		}
	}
	if len(seen) < 300 {
		t.Errorf("%d attempts", len(seen))
	}
}

// Verdicts are what all else stands on.
func TestJudge(t *testing.T) {
	plain := try("A", "", "", "seccomp", "EPERM").or("ENOKEY").tells(jobspec.CodeEscBPF, "bpf {x}")
	sent := try("B", "", "", "netns", "EPERM").ifHeard()
	event := jobspec.ExpectedDenial{Code: jobspec.CodeEscBPF, Target: "bpf 7"}
	for _, c := range []struct {
		name    string
		attempt Attempt
		e       Evidence
		want    Verdict
		event   string
		escapes int
	}{
		{"stopped and recorded", plain, Evidence{Answers: []Answer{{ID: "A", Said: "EPERM"}}, Events: Events{event: 1}}, Stopped, "recorded", 0},
		{"stopped and not recorded", plain, Evidence{Answers: []Answer{{ID: "A", Said: "EPERM"}}}, Stopped, "missing", 0},
		{"no answer", plain, Evidence{Events: Events{event: 1}}, Missing, "recorded", 1},
		{"another answer", plain, Evidence{Answers: []Answer{{ID: "A", Said: "EROFS"}}, Events: Events{event: 2}}, Odd, "recorded", 0},
		{"success", plain, Evidence{Answers: []Answer{{ID: "A", Said: "ok"}}, Events: Events{event: 1}}, Open, "recorded", 1},
		{"nothing came of it", plain, Evidence{Answers: []Answer{{ID: "A", Said: "ENOKEY"}}, Events: Events{event: 1}}, Open, "recorded", 1},
		{"a change outside", plain, Evidence{Answers: []Answer{{ID: "A", Said: "EPERM"}}, Events: Events{event: 1}, Changes: []string{"f"}}, Stopped, "recorded", 1},
		{"sent to nobody", sent, Evidence{Answers: []Answer{{ID: "B", Said: "ok"}}}, Odd, "", 0},
		{"heard", sent, Evidence{Answers: []Answer{{ID: "B", Said: "ok"}}, Heard: map[string]bool{"B": true}}, Open, "", 1},
		{"heard though it says no", sent, Evidence{Answers: []Answer{{ID: "B", Said: "EPERM"}}, Heard: map[string]bool{"B": true}}, Open, "", 1},
		{"heard without an answer", sent, Evidence{Heard: map[string]bool{"B": true}}, Open, "", 1},
	} {
		c.e.Targets = map[string]string{"x": "7"}
		r := Judge([]Attempt{c.attempt}, c.e)
		if row := r.Rows[0]; row.Verdict != c.want || row.Event != c.event || r.Escapes() != c.escapes {
			t.Errorf("%s: %s, event %q, %d escapes", c.name, row.Verdict, row.Event, r.Escapes())
		}
	}
}

// The record of a run has room for 32 different denials.
func TestOrdersHoldAllAttemptsOnceAndFewDenials(t *testing.T) {
	w := Where{Tier: jobspec.Workspace, Net: jobspec.NetNone, Arch: "amd64", System: true}
	all := Select(w)
	n := 0
	for _, o := range Orders(w, all, nil) {
		if len(o.Expected()) > 32 {
			t.Errorf("a run expects %d denials", len(o.Expected()))
		}
		for _, a := range o.Attempts() {
			if a.ID != all[n].ID {
				t.Fatalf("attempt %d is %s, want %s", n, a.ID, all[n].ID)
			}
			n++
		}
	}
	if n != len(all) {
		t.Errorf("%d of %d attempts are made", n, len(all))
	}
}

func TestWhatIsNoAnswerIsAnError(t *testing.T) {
	for _, text := range []string{"x\n", "{}\n", "{\"id\":\"A\",\"said\":1}\n", "[]"} {
		if got, err := ParseAnswers([]byte(text)); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
