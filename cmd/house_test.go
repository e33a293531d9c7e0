package cmd_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sbxcron/sbxcron/"

type listed struct {
	ImportPath, Dir string
	Standard        bool
	Imports         []string
	Deps            []string
	GoFiles         []string
}

// list asks the go command about every package of the module.
func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,Deps,GoFiles", "./...")
	cmd.Dir = ".."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// rooms says what each room may import of ours. The longest prefix of a package
// counts; a package may always import its own subpackages.
var rooms = []struct {
	pkg  string
	may  []string
	why  string
	only bool // and nothing beyond the standard library
}{
	{"jobspec/jobtoml", []string{"jobspec"}, "TOML stays out of the package that decides", false},
	{"jobspec/shell", nil, "the shell parser stays out of the package that decides, and in one place", false},
	{"jobspec/record", []string{"jobspec"}, "the form of the ledger's lines is shared by scheduler, runner and store", true},
	{"jobspec/canon", nil, "the signed form depends on nothing that can change", true},
	{"jobspec", []string{"signing/statement"}, "what a job is knows neither keys nor files", true},
	{"signing/statement", []string{"signing/internal/seal"}, "the verified type is a leaf", true},
	{"signing/internal/seal", nil, "the token is a leaf", true},
	{"signing", nil, "signing knows bytes and keys, never jobs", false},
	{"store", []string{"jobspec", "signing/statement"}, "the store remembers; it decides nothing", false},
	{"scheduler", []string{"jobspec", "signing/statement"}, "the scheduler declares what it needs; cmd joins the rooms", false},
	{"runner/stub", nil, "the emitter runs nothing and knows nothing", true},
	{"runner/egress", []string{"jobspec"}, "the proxy decides by rules that it was given, and reads no file of ours", true},
	{"runner/seccomp", nil, "a filter is data", false},
	{"runner/runnertest", []string{"jobspec", "signing/statement", "runner", "testdata/programs"}, "the suite tries programs that the documents list", false},
	{"runner", []string{"jobspec", "signing/statement"}, "only a statement and a decision reach the runner", false},
	{"cmd", []string{""}, "cmd joins the rooms", false},
	{"testdata", []string{""}, "programs of the tests", false},
}

func TestImportsFollowTheTableOfRooms(t *testing.T) {
	for _, p := range list(t) {
		rel := strings.TrimPrefix(p.ImportPath, module)
		i := slices.IndexFunc(rooms, func(r struct {
			pkg  string
			may  []string
			why  string
			only bool
		}) bool {
			return rel == r.pkg || strings.HasPrefix(rel, r.pkg+"/")
		})
		if i < 0 {
			t.Errorf("%s lies in no room", rel)
			continue
		}
		room := rooms[i]
		for _, imp := range p.Imports {
			ours, isOurs := strings.CutPrefix(imp, module)
			switch {
			case isOurs && !mayImport(room.pkg, room.may, ours):
				t.Errorf("%s imports %s: %s", rel, ours, room.why)
			case !isOurs && room.only && strings.Contains(strings.Split(imp, "/")[0], "."):
				t.Errorf("%s imports %s, but only the standard library may be used: %s", rel, imp, room.why)
			}
		}
	}
}

// A library that reads text of others, or keeps bytes, is behind one package of
// ours: its bounds and its recover stand there, and nobody goes around them.
func TestFencedLibrariesStayInTheirPackage(t *testing.T) {
	fences := map[string]string{
		"mvdan.cc/sh/":                  "jobspec/shell",
		"github.com/pelletier/go-toml/": "jobspec/jobtoml",
		"github.com/robfig/cron/":       "scheduler/calendar cmd/sbxbench", // there it is the peer
		"go.etcd.io/bbolt":              "store store/storefill",           // it lays out what store reads, many at a time
		"github.com/spf13/cobra":        "cmd/internal/cli",
		"golang.org/x/mod/":             "signing/auditkey store/checkpoint store/merkle", // notes there and there, trees there
		"golang.org/x/term":             "cmd/internal/ui",
	}
	used := map[string]bool{}
	for _, p := range list(t) {
		rel := strings.TrimPrefix(p.ImportPath, module)
		for _, imp := range p.Imports {
			for library, only := range fences {
				if !strings.HasPrefix(imp, library) {
					continue
				}
				used[library] = true
				if !slices.Contains(strings.Fields(only), rel) {
					t.Errorf("%s imports %s, which only %s may", rel, imp, only)
				}
			}
		}
	}
	for library := range fences {
		if !used[library] {
			t.Errorf("nothing imports %s", library)
		}
	}
}

func mayImport(room string, may []string, imp string) bool {
	for _, ok := range append([]string{room}, may...) {
		if ok == "" || imp == ok || strings.HasPrefix(imp, ok+"/") {
			return true
		}
	}
	return false
}

func TestOnlyTestsImportWhatIsMadeForTests(t *testing.T) {
	forTests := func(path string) bool { return strings.HasPrefix(path, module) && strings.HasSuffix(path, "test") }
	for _, p := range list(t) {
		for _, imp := range p.Imports {
			if forTests(imp) && !forTests(p.ImportPath) {
				t.Errorf("%s imports %s", p.ImportPath, imp)
			}
		}
	}
}

// The service must not be able to read an owner's private key or to ask an agent.
func TestTheServiceHasNoPartThatReadsOwnersKeys(t *testing.T) {
	for _, p := range list(t) {
		rel := strings.TrimPrefix(p.ImportPath, module)
		if rel != "cmd/internal/daemon" && rel != "cmd/internal/engine" && rel != "scheduler" && rel != "store" && rel != "signing" && !strings.HasPrefix(rel, "runner") {
			continue
		}
		for _, dep := range p.Deps {
			if dep == module+"signing/keysource" || dep == "golang.org/x/crypto/ssh/agent" {
				t.Errorf("%s depends on %s", rel, dep)
			}
		}
	}
}

// A value that one more place sees is one more place that it can leak from.
func TestOnlyBackendsSeeTheValuesOfCredentials(t *testing.T) {
	seen := 0
	for _, p := range list(t) {
		rel := strings.TrimPrefix(p.ImportPath, module)
		for _, f := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), ".Reveal()") {
				continue
			}
			seen++
			if rel != "runner/bwrap" && rel != "runner/landlock" {
				t.Errorf("%s reveals a credential in %s", rel, f)
			}
		}
	}
	if seen == 0 {
		t.Error("no backend shows a credential")
	}
}

func TestBackendsDoNotImportEachOther(t *testing.T) {
	backends := []string{"runner/bwrap", "runner/landlock"}
	for _, p := range list(t) {
		rel := strings.TrimPrefix(p.ImportPath, module)
		for _, b := range backends {
			if rel != b && slices.Contains(backends, rel) && slices.Contains(p.Imports, module+b) {
				t.Errorf("%s imports %s", rel, b)
			}
		}
	}
}

func TestEveryPackageSaysWhatItPromises(t *testing.T) {
	for _, p := range list(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		found := false
		for _, f := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			found = found || file.Doc != nil
		}
		if !found {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

// Whoever turns an error into a status looks for Code() string. A method of
// another type would make a refusal look like a defect of ours.
func TestEveryErrorGivesItsCodeAsText(t *testing.T) {
	for _, p := range list(t) {
		for _, f := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Recv == nil || fn.Name.Name != "Code" || fn.Type.Params.NumFields() != 0 || fn.Type.Results.NumFields() != 1 {
					continue
				}
				if id, ok := fn.Type.Results.List[0].Type.(*ast.Ident); !ok || id.Name != "string" {
					t.Errorf("%s: Code() in %s does not return string", p.ImportPath, f)
				}
			}
		}
	}
}
