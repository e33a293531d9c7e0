package pin

import (
	"errors"
	"os"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

func TestTypedNamesResolveToRealPaths(t *testing.T) {
	dir := folder(t)
	first, second := dir+"/first", dir+"/second"
	tool := put(t, second+"/tool", "x", 0o755)
	put(t, first+"/plain", "x", 0o644)
	plain2 := put(t, second+"/plain", "x", 0o755)
	if err := os.MkdirAll(first+"/tool", 0o755); err != nil {
		t.Fatal(err)
	}
	alias := link(t, tool, dir+"/alias")
	hidden := put(t, dir+"/only-here", "x", 0o755)
	dirs := []string{first, second}
	acct := Account{UID: os.Getuid()}
	if acct.UID == 0 {
		acct = dropped()
	}
	for _, c := range []struct {
		typed, cwd, want string
		code             jobspec.Code
	}{
		{"tool", dir, tool, ""},    // a folder of that name comes first and is no program
		{"plain", dir, plain2, ""}, // nor is a file that cannot be executed
		{"./alias", dir, tool, ""},
		{alias, "", tool, ""},
		{"../" + "second/tool", first, tool, ""},
		{"./only-here", dir, hidden, ""},
		{"only-here", dir, "", jobspec.CodeDriftExecMissing}, // bare names are never looked for in the cwd
		{"./only-here", "", "", jobspec.CodeDriftExecMissing},
		{"nothing", dir, "", jobspec.CodeDriftExecMissing},
		{"", dir, "", jobspec.CodeDriftExecMissing},
		{"a\x00b", dir, "", jobspec.CodeDriftExecMissing},
		{dir + "/nothing", "", "", jobspec.CodeDriftExecMissing},
	} {
		got, err := Resolve(soon(t), acct, c.typed, c.cwd, dirs)
		var f *Failure
		if got != c.want || (err != nil) != (c.code != "") || err != nil && (!errors.As(err, &f) || f.Reason != c.code) {
			t.Errorf("%q in %q: %q, %v; want %q %q", c.typed, c.cwd, got, err, c.want, c.code)
		}
	}
}

func TestResolvingUsesTheAccountsRights(t *testing.T) {
	asRoot(t)
	for _, path := range secrets(t) {
		var f *Failure
		_, err := Resolve(soon(t), dropped(), path, "", nil)
		if !errors.As(err, &f) || f.Reason != jobspec.CodePathUnreachable {
			t.Errorf("%q: %v", path, err)
		}
	}
}
