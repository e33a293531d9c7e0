package escape

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table into docs/sandbox.md")

// The table in the documents is the list that tests hold sandboxes to.
func TestTheTableInTheDocumentsIsTheList(t *testing.T) {
	const path, begin, end = "../../docs/sandbox.md", "<!-- attempts: go test ./runner/escape -update -->\n", "<!-- end of attempts -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	have, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", path)
	}
	if have == Table() {
		return
	}
	if !*update {
		t.Fatalf("%s is stale: go test ./runner/escape -update", path)
	}
	if err := os.WriteFile(path, []byte(before+begin+Table()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
