package cmd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unraised are the codes that nothing raises yet. Their words are taken, so that
// a ledger line of today reads the same when something does.
var unraised = []string{
	// Attempts that the kernel must tell.
	"CodeAskStdin", "CodeAskPager", "CodeEscAgentBypass",
	// Other backends, queues and their holders.
	"CodeServiceRunning",
}

// A code that the documents name and nothing raises would be a check that people
// rely on and that is not made.
func TestEveryCodeIsRaisedOrListed(t *testing.T) {
	declared, used := map[string]bool{}, map[string]bool{}
	tables := []string{"codes.go", "remedy.go", "allow.go"}
	for _, p := range list(t) {
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			table := strings.HasSuffix(p.ImportPath, "/jobspec") && slices.Contains(tables, name)
			ast.Inspect(file, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && strings.HasPrefix(id.Name, "Code") && !table {
					used[id.Name] = true
				}
				return true
			})
		}
	}
	text, err := os.ReadFile("../jobspec/codes.go")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 4 && strings.HasPrefix(f[0], "Code") && f[1] == "Code" && f[2] == "=" {
			declared[f[0]] = true
		}
	}
	if len(declared) < 100 {
		t.Fatalf("only %d codes are declared", len(declared))
	}
	for code := range declared {
		if used[code] == slices.Contains(unraised, code) {
			t.Errorf("%s: raised and listed are both %v", code, used[code])
		}
	}
	for _, code := range unraised {
		if !declared[code] {
			t.Errorf("%s is listed and not declared", code)
		}
	}
}
