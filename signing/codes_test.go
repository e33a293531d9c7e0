package signing_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestCodesAreThoseOfTheClosedList reads both lists as text, since this room
// imports no other.
func TestCodesAreThoseOfTheClosedList(t *testing.T) {
	ours, err := os.ReadFile("errors.go")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("../jobspec/codes.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`= ("[a-z_]+")\n`).FindAllSubmatch(ours, -1)
	if len(found) < 9 {
		t.Fatalf("found %d codes", len(found))
	}
	for _, m := range found {
		if !strings.Contains(string(list), string(m[1])) {
			t.Errorf("jobspec has no code %s", m[1])
		}
	}
	if !strings.Contains(string(list), `"key_unavailable"`) {
		t.Error("jobspec has no code of keysource")
	}
}
