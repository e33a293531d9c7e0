package cli

import (
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

// A shell begins its messages with the script and the line; what the message is
// about comes after them.
func TestAMessageIsAboutThePathAfterTheScriptThatSaysIt(t *testing.T) {
	cwd := t.TempDir()
	for _, c := range []struct{ line, want string }{
		{cwd + "/report.sh: 3: cannot create last-run: Read-only file system", "last-run"},
		{cwd + "/report.sh: 3: cannot create /out/x: Read-only file system", ""},
		{cwd + "/report.sh: line 9: ./here: Read-only file system", "./here"},
		{cwd + "/report.sh: line 9: " + cwd + "/a: Read-only file system", cwd + "/a"},
		{"touch: cannot touch 'a b': Read-only file system", "a b"},
		{"tar: out.tgz: Cannot open: Read-only file system", "out.tgz"},
		{"open " + cwd + "/b: read-only file system", cwd + "/b"},
	} {
		n := newNeeds(&jobspec.Draft{Cwd: cwd}, cwd)
		if got := n.pathIn(c.line); got != c.want {
			t.Errorf("%s: %q, want %q", c.line, got, c.want)
		}
	}
}
