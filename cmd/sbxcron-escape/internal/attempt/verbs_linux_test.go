package attempt

import (
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/runner/escape"
)

func TestEachVerbIsOfUseAndEachAttemptHasOne(t *testing.T) {
	used := map[string]bool{}
	for _, a := range escape.Attempts() {
		verb := strings.Fields(a.Do)[0]
		used[verb] = true
		if verbs()[verb] == nil {
			t.Errorf("%s: no verb %q", a.ID, verb)
		}
	}
	for verb := range verbs() {
		if !used[verb] {
			t.Errorf("no attempt uses %q", verb)
		}
	}
}

// A name that stands for nothing must not become an attempt at something else,
// which would be stopped for a reason of its own.
func TestANameWithoutATargetMakesNoAttempt(t *testing.T) {
	w := &worker{targets: map[string]string{"known": "/nowhere"}}
	for _, a := range escape.Attempts() {
		if !strings.Contains(a.Do, "{") {
			continue
		}
		if got := w.make(a); got.Said != "error" {
			t.Errorf("%s: %+v", a.ID, got)
		}
	}
}
