package distro

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPackageHoldsTheBytesOfItsList(t *testing.T) {
	dir := t.TempDir()
	l := Lists{dir: dir}
	for name, text := range map[string]string{
		"tool.md5sums":        "5eb63bbbe01eeed093cb22bb8f5acdc3  usr/bin/tool\n", // of "hello world"
		"shell:amd64.md5sums": "5eb63bbbe01eeed093cb22bb8f5acdc3  bin/sh\n",
		"tool.list":           "/usr/bin/tool\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ path, text, owner string }{
		{"/usr/bin/tool", "hello world", "tool"},
		{"/usr/bin/sh", "hello world", "shell:amd64"}, // packed before /bin became a link
		{"/usr/bin/tool", "hello worlds", ""},
		{"/usr/local/bin/tool", "hello world", ""},
		{"/opt/bin/sh", "hello world", ""},
	} {
		owner, err := l.Owner(c.path, strings.NewReader(c.text))
		if err != nil || owner != c.owner {
			t.Errorf("%s: %q, %v, want %q", c.path, owner, err, c.owner)
		}
		for _, name := range []string{"tool", "shell:amd64", "gone", "", "../tool", "."} {
			held, err := l.Holds(name, c.path, strings.NewReader(c.text))
			if err != nil || held != (name == c.owner && name != "") {
				t.Errorf("%s of %q: %v, %v", c.path, name, held, err)
			}
		}
	}
	if owner, err := (Lists{dir: dir + "/none"}).Owner("/usr/bin/tool", strings.NewReader("")); owner != "" || err != nil {
		t.Errorf("without lists: %q, %v", owner, err)
	}
}

func TestThisMachinesOwnProgramsHaveTheirPackage(t *testing.T) {
	if _, err := os.Stat("/var/lib/dpkg/info"); err != nil {
		t.Skip("dpkg is not installed")
	}
	real, err := filepath.EvalSymlinks("/usr/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(real)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if owner, err := Dpkg().Owner(real, f); err != nil || owner != "coreutils" {
		t.Errorf("%s is of %q, %v", real, owner, err)
	}
}
