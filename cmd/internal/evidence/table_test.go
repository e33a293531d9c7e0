package evidence_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/audit.md anew")

const (
	auditDoc   = "../../../docs/audit.md"
	tableBegin = "<!-- tampering: begin -->\n"
	tableEnd   = "<!-- tampering: end -->\n"
)

// The table of docs/audit.md is the list that the test tries.
func TestTheTableOfTamperingIsTheOneThatIsTried(t *testing.T) {
	var b strings.Builder
	b.WriteString("| what somebody does | verdicts that fail | the problem that names it |\n|---|---|---|\n")
	for _, c := range tamperings() {
		failed := c.failed
		if failed == "" {
			failed = "none; authentic is not_checked"
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", c.name, failed, c.code)
	}
	doc, err := os.ReadFile(auditDoc)
	must(t, err)
	before, rest, found := strings.Cut(string(doc), tableBegin)
	have, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", auditDoc)
	}
	if have == b.String() {
		return
	}
	if !*update {
		t.Fatalf("the table of %s is another one; write it anew: go test ./cmd/internal/evidence -run Table -update", auditDoc)
	}
	must(t, os.WriteFile(auditDoc, []byte(before+tableBegin+b.String()+tableEnd+after), 0o644))
}
