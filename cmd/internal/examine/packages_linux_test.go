package examine_test

import (
	"crypto/md5"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/distro"
	"github.com/sbxcron/sbxcron/jobspec"
)

// A program of the system is bound with its package where that was accepted. When
// other bytes lie there later, they run only while they are what that package
// holds: here the signed digest is that of an older version.
func TestAnUpgradedProgramIsKnownByItsPackage(t *testing.T) {
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(shell)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	list := func(sum any) {
		put(t, dir+"/shell.md5sums", fmt.Sprintf("%x  %s\n", sum, strings.TrimPrefix(shell, "/")), 0o644)
	}
	list(md5.Sum(text))
	l := newLab(t)
	lists := distro.In(dir)
	l.Packages = &lists
	put(t, l.Site.Dirs.Policy(), strings.Replace(policy, "serial = 1", "serial = 1\nweaker = [\"weaker_exec_identity_package\"]", 1), 0o600)
	d := l.draft()
	d.Weaker = []string{jobspec.WeakerExecPackage}
	op, err := l.candidate(t, d)
	if err != nil {
		t.Fatal(err)
	}
	script, interp := &op.Spec.Bound[0], &op.Spec.Bound[1]
	if interp.Package != "shell" || script.Package != "" || op.Spec.Coverage["interpreter"] != "package" || op.Spec.Coverage["executable"] != "hash" {
		t.Fatalf("bound %+v, coverage %v", op.Spec.Bound, op.Spec.Coverage)
	}
	interp.SHA256 = jobspec.DigestOf([]byte("the version before"))
	e := l.examine(t, op)
	if !e.Decision.Allowed() || len(e.Decision.Notes) != 1 || !slices.Contains(e.Decision.Weaker, jobspec.WeakerExecPackage) {
		t.Errorf("refused for %q, notes %q", codes(e.Decision), e.Decision.Notes)
	}
	list(md5.Sum([]byte("yet another version")))
	if e := l.examine(t, op); codes(e.Decision) != string(jobspec.CodeDriftInterpreter) {
		t.Errorf("changed by hand: %q", codes(e.Decision))
	}
	list(md5.Sum(text))
	put(t, l.Site.Dirs.Policy(), policy, 0o600)
	if e := l.examine(t, op); !strings.Contains(codes(e.Decision), string(jobspec.CodeWeakerForbidden)) {
		t.Errorf("policy takes it back: %q", codes(e.Decision))
	}
	script.SHA256 = jobspec.DigestOf([]byte("another script"))
	if e := l.examine(t, op); !strings.Contains(codes(e.Decision), string(jobspec.CodeDriftExecHash)) {
		t.Errorf("a script of nobody's package: %q", codes(e.Decision))
	}
}
