package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/jobtoml"
)

// docs/policy.md says of each control what is done, where, and which test shows
// it. A row that names a file or a test that is not there would be a promise that
// nobody keeps, so this file reads the table.

const policyDoc = "../docs/policy.md"

// controlIDs are the groups of controls and how many rows each has.
var controlIDs = map[string]int{"I": 11, "T": 29, "S": 29, "N": 14, "B": 8, "A": 23, "E": 11, "M": 11,
	"P": 6, "K": 11, "F": 9, "X": 8, "R": 8, "W": 6, "Y": 5, "G": 11}

type controlRow struct {
	line                              int
	id, control, here, where, shownBy string
}

func (r controlRow) absent() bool { return strings.HasPrefix(r.here, "not applicable: ") }

func controlRows(t *testing.T) []controlRow {
	t.Helper()
	first := regexp.MustCompile(`^\| ([A-Z][0-9]+) \|`)
	var all []controlRow
	for i, line := range strings.Split(readDoc(t, policyDoc), "\n") {
		if !first.MatchString(line) {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 5 {
			t.Errorf("line %d has %d cells, want 5", i+1, len(cells))
			continue
		}
		all = append(all, controlRow{i + 1, cells[0], cells[1], cells[2], cells[3], cells[4]})
	}
	return all
}

func TestEveryControlHasItsRow(t *testing.T) {
	seen := map[string]int{}
	for _, r := range controlRows(t) {
		seen[r.id]++
	}
	for group, n := range controlIDs {
		for i := 1; i <= n; i++ {
			id := group + strconv.Itoa(i)
			if seen[id] != 1 {
				t.Errorf("control %s has %d rows, want 1", id, seen[id])
			}
			delete(seen, id)
		}
	}
	for id := range seen {
		t.Errorf("control %s is in no group", id)
	}
}

func TestEveryControlNamesItsFileAndItsTest(t *testing.T) {
	file := regexp.MustCompile("`([^`]+)`")
	for _, r := range controlRows(t) {
		at := fmt.Sprintf("%s (line %d)", r.id, r.line)
		if r.absent() {
			if r.where != "-" || r.shownBy != "-" || len(strings.Fields(r.here)) > 10 {
				t.Errorf("%s does not apply, so it gives a short reason and nothing else: %q %q %q", at, r.here, r.where, r.shownBy)
			}
			continue
		}
		files, tests := file.FindAllStringSubmatch(r.where, -1), file.FindAllStringSubmatch(r.shownBy, -1)
		if len(files) == 0 || len(tests) == 0 {
			t.Errorf("%s names %d files and %d tests", at, len(files), len(tests))
		}
		for _, f := range files {
			if info, err := os.Stat(filepath.Join("..", f[1])); err != nil || !info.Mode().IsRegular() {
				t.Errorf("%s: %q is no file", at, f[1])
			}
		}
		for _, name := range tests {
			if err := findTest(name[1]); err != nil {
				t.Errorf("%s: %v", at, err)
			}
		}
	}
}

// findTest looks for "package/path: TestName/name of a subtest" in the source.
func findTest(ref string) error {
	m := regexp.MustCompile(`^([a-z0-9/]+): ((?:Test|Fuzz)\w+)(?:/(.+))?$`).FindStringSubmatch(ref)
	if m == nil {
		return fmt.Errorf("%q is not of the form package: Test or package: Test/subtest", ref)
	}
	tests, err := sources(m[1], "_test.go")
	if err != nil {
		return err
	}
	if !strings.Contains(tests, "\nfunc "+m[2]+"(t *testing.T)") && !strings.Contains(tests, "\nfunc "+m[2]+"(f *testing.F)") {
		return fmt.Errorf("package %s has no %s", m[1], m[2])
	}
	if m[3] == "" {
		return nil
	}
	if m[1] == "runner/bwrap" { // whose suite is that of every backend
		suite, err := sources("runner/runnertest", ".go")
		if err != nil {
			return err
		}
		tests += suite
	}
	if !strings.Contains(tests, strconv.Quote(m[3])) {
		return fmt.Errorf("package %s has no subtest %q", m[1], m[3])
	}
	return nil
}

func sources(pkg, suffix string) (string, error) {
	names, err := filepath.Glob(filepath.Join("..", pkg, "*"+suffix))
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		all.Write(b)
	}
	return all.String(), nil
}

// A code, a key or a word of ours that the document names must exist.
func TestPolicyDocumentUsesOurWords(t *testing.T) {
	known := schemaWords(string(jobtoml.SchemaPolicy()) + string(jobtoml.SchemaJob()))
	word := regexp.MustCompile("`([a-z]+(?:_[a-z0-9]+)+)`")
	for _, doc := range []string{policyDoc, "../docs/policy-file.md"} {
		for _, m := range word.FindAllStringSubmatch(readDoc(t, doc), -1) {
			if !jobspec.Code(m[1]).Known() && !known[m[1]] && !slices.Contains(jobspec.WeakerChoices(), m[1]) && !ourFiles[m[1]] {
				t.Errorf("%s: %q is neither a code nor a key", doc, m[1])
			}
		}
	}
}

// ourFiles are names that look like codes: of files of CONF, and of a field of
// the signed op.
var ourFiles = map[string]bool{"allowed_signers": true, "revoked_keys": true, "ask_id": true}

// schemaWords are the quoted words of a schema.
func schemaWords(schema string) map[string]bool {
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([a-z_0-9]+)"`).FindAllStringSubmatch(schema, -1) {
		all[m[1]] = true
	}
	return all
}

// What is refused by name for now is one list, in the document as in the program.
func TestPolicyDocumentListsWhatIsNotBuilt(t *testing.T) {
	_, text, found := strings.Cut(readDoc(t, policyDoc), "## Refused by name for now\n")
	if !found {
		t.Fatal("the document has no such part")
	}
	text, _, _ = strings.Cut(strings.ReplaceAll(text, "\n", " "), " ## ")
	var told []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1) {
		told = append(told, m[1])
	}
	var built []string
	for _, line := range jobspec.Floor() {
		if _, names, ok := strings.Cut(line, "later work refused by name: "); ok {
			built = strings.Split(names, ", ")
		}
	}
	slices.Sort(told)
	slices.Sort(built)
	if len(built) == 0 || !slices.Equal(told, built) {
		t.Errorf("the document lists\n%q, the floor\n%q", told, built)
	}
}
