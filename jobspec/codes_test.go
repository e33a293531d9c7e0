package jobspec

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// declared reads the codes out of the source, so that none can be forgotten.
func declared(t *testing.T) []Code {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []Code
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if lit, ok := v.Values[0].(*ast.BasicLit); ok {
				s, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, Code(s))
			}
		}
		return true
	})
	return all
}

func TestEveryCodeHasOneRemedyAndAClass(t *testing.T) {
	all := declared(t)
	if len(all) < 100 || len(all) != len(Codes()) {
		t.Errorf("%d codes are declared, %d are known", len(all), len(Codes()))
	}
	form := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	classes := map[Class]bool{}
	for _, c := range Classes() {
		classes[c] = true
	}
	for _, c := range all {
		if !c.Known() || c.Remedy() == "" || !classes[c.Class()] || !form.MatchString(string(c)) {
			t.Errorf("%q: known %v, remedy %q, class %q", c, c.Known(), c.Remedy(), c.Class())
		}
	}
}

// Nobody is ever told to run a job without its sandbox, or to switch a check off.
func TestNoRemedyWeakensAnything(t *testing.T) {
	bad := regexp.MustCompile(`(?i)disable|--no-|without (a|the) sandbox|turn .*off|switch .*sandbox|unsandboxed|elevated|setenforce|chmod 777|--yes|ignore`)
	for _, c := range Codes() {
		if m := bad.FindString(c.Remedy()); m != "" && !strings.HasPrefix(c.Remedy(), "set disabled = false") {
			t.Errorf("%s: %q", c, c.Remedy())
		}
	}
}

func TestClassesExitAsTheTableSays(t *testing.T) {
	want := map[Class]int{ClassOther: 1, ClassProblems: 3, ClassNotFound: 4, ClassConflict: 5, ClassSignature: 10, ClassSigner: 11,
		ClassTampered: 12, ClassPolicy: 13, ClassSandbox: 14, ClassAudit: 20, ClassUsage: 64, ClassData: 65, ClassUnavailable: 69,
		ClassBusy: 75, ClassDenied: 77, ClassConfig: 78, Class("nonsense"): 1, Class(""): 1}
	for c, n := range want {
		if c.Exit() != n {
			t.Errorf("%q exits %d, want %d", c, c.Exit(), n)
		}
	}
	for code, n := range map[Code]int{CodeSigInvalid: 10, CodeKeyUnknown: 11, CodeOpTampered: 12, CodeChainRollback: 12, CodeTierOverCeiling: 13,
		CodeSbxBackendMissing: 14, CodeHeadMoved: 5, CodeJobUnknown: 4, CodeSpecMalformed: 65, CodeServiceDown: 69, CodeStoreLocked: 75,
		CodePolicyParse: 78, CodeRoleInsufficient: 77, CodeInternal: 1, Code("nonsense"): 1} {
		if got := code.Class().Exit(); got != n {
			t.Errorf("%s exits %d, want %d", code, got, n)
		}
	}
}

func TestAnUnknownCodeIsNotRead(t *testing.T) {
	var c Code
	if err := c.UnmarshalText([]byte("everything_fine")); err == nil || c != "" {
		t.Errorf("read %q, error %v", c, err)
	}
	if err := c.UnmarshalText([]byte("esc_sudo")); err != nil || c != CodeEscSudo {
		t.Errorf("read %q, error %v", c, err)
	}
}

func TestCodeOfFindsTheCodeInTheChain(t *testing.T) {
	for want, err := range map[Code]error{
		"":                nil,
		CodeInternal:      errors.New("plain"),
		CodeTierForbidden: new(Tier).UnmarshalText([]byte("yolo")),
		CodeBindAmbiguous: shebangError("x", "y"),
		CodeSeqInvalid:    (&Op{}).refuse(CodeSeqInvalid, "x"),
	} {
		if got := CodeOf(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
