package runnertest

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/testdata/programs"
)

var update = flag.Bool("update", false, "write the table of programs, with the versions of this machine, into docs/sandbox.md")

const (
	tableBegin = "<!-- programs: go test ./runner/runnertest -run TableOfPrograms -update -->\n"
	tableEnd   = "<!-- end of programs -->\n"
)

// version is the first line that a program tells of itself, less its own name.
func version(p programs.Program) string {
	if p.Version == "" {
		return "-"
	}
	cmd := exec.Command("/bin/sh", "-c", p.Version)
	cmd.Dir = "/" // where nothing picks another version
	out, _ := cmd.CombinedOutput()
	for word := range strings.FieldsSeq(strings.NewReplacer(",", " ", ")", " ", "OpenSSH_", "", "go1", "1").Replace(string(out))) {
		if word = strings.TrimPrefix(word, "v"); strings.ContainsAny(word[:1], "0123456789") {
			return word
		}
	}
	return "-"
}

// row is a program's line of the table, its version apart.
func row(p programs.Program) (before, after string) {
	what := p.Does
	if p.Slow {
		what += " (slow)"
	}
	return fmt.Sprintf("| `%s` | %s |", p.File, p.Name), fmt.Sprintf("| %s | %s | %s | %s |", p.Ends, what, cmp.Or(p.Why, "-"), cmp.Or(p.Sign, "-"))
}

func TestTheTableOfProgramsIsThatOfTheScripts(t *testing.T) {
	const path = "../../docs/sandbox.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), tableBegin)
	table, tail, closed := strings.Cut(rest, tableEnd)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table between %q and %q", path, tableBegin, tableEnd)
	}
	all, err := programs.All()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		var b strings.Builder
		b.WriteString("| script | program | version | ends | what | why | what to sign |\n|---|---|---|---|---|---|---|\n")
		for _, p := range all {
			before, after := row(p)
			fmt.Fprintf(&b, "%s %s %s\n", before, version(p), after)
		}
		if err := os.WriteFile(path, []byte(head+tableBegin+b.String()+tableEnd+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	lines := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
	if len(lines) != len(all)+2 {
		t.Fatalf("the table has %d rows for %d scripts; -update writes it anew", len(lines)-2, len(all))
	}
	for i, p := range all {
		before, after := row(p)
		if l := lines[i+2]; !strings.HasPrefix(l, before+" ") || !strings.HasSuffix(l, " "+after) {
			t.Errorf("row %q is not that of %s.sh; -update writes it anew", l, p.File)
		}
	}
}
