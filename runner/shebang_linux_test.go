package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// printVar makes this test program print its arguments and end: it is the
// interpreter of the scripts below.
const printVar = "SBXCRON_TEST_PRINT"

func TestMain(m *testing.M) {
	if os.Getenv(printVar) != "" {
		fmt.Printf("%q", os.Args)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// kernelArgv lets the kernel start a text and returns what its interpreter got,
// or "" where the kernel does not take it for a script.
func kernelArgv(t *testing.T, path string, args ...string) string {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), printVar+"=1")
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return string(out)
}

func TestShebangIsReadAsTheKernelReadsIt(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	short := filepath.Join(dir, "i") // so that the length of the line can be chosen
	if err := os.Symlink(self, short); err != nil {
		t.Fatal(err)
	}
	fill := func(n int) string { return strings.Repeat("x", n) }
	for i, text := range []string{
		"#!" + short + "\nbody", "#!" + short, "#! \t" + short + " \t \n", "#!" + short + " -a -b  c \nbody", "#!" + short + "\t-a\t\n",
		"#!" + short + "\r\n", "#!\n", "#!", "#!  ", "", "no script\n", " #!" + short + "\n", "#!" + short + "\x00junk\n", "#!" + short + " arg\x00junk\n",
		"#!" + short + " -x  ", "#!" + short + "  \x00\n", "#!" + short + " " + fill(300) + "\n", "#!" + short + " " + fill(253-len(short)-1) + "\n",
		"#!" + short + " " + fill(254-len(short)-1) + "\n", "#!" + short + " " + fill(200-len(short)) + "   " + fill(100) + "\n",
		"#!" + strings.Repeat(" ", 300) + short + "\n", "#!" + strings.Repeat(" ", 252-len(short)) + short + "\n", "#!" + strings.Repeat(" ", 254-len(short)) + short + "\n",
		"#!" + short + "  ", "#!" + short + " \x00", "#!" + short + " \x00x\n",
		"#!" + short + " a\tb \x01 c\n", "#!" + short + " '-e x'\n",
	} {
		path := filepath.Join(dir, fmt.Sprint("script", i))
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		got := ""
		if line, ok := parseShebang([]byte(text)); ok && line.interp == short {
			got = fmt.Sprintf("%q", line.argv(path, []string{"argv0", "one", ""}))
		}
		if want := kernelArgv(t, path, "one", ""); got != want {
			t.Errorf("%q: the kernel gives %s, we %s", text, want, got)
		}
	}
}

func TestScriptsThatInterpretScriptsStartAsTheKernelStartsThem(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	chain := []string{self}
	for i := range ShebangDepth + 1 {
		path := filepath.Join(dir, fmt.Sprint("s", i))
		if err := os.WriteFile(path, []byte("#!"+chain[i]+fmt.Sprintf(" arg%d\n", i)), 0o755); err != nil {
			t.Fatal(err)
		}
		chain = append(chain, path)
	}
	for depth := 1; depth <= ShebangDepth+1; depth++ {
		argv, path := []string{"typed", "operand"}, chain[depth]
		for i := depth; i > 0; i-- {
			text, err := os.ReadFile(chain[i])
			if err != nil {
				t.Fatal(err)
			}
			line, ok := parseShebang(text)
			if !ok {
				t.Fatalf("%s is no script", chain[i])
			}
			argv, path = line.argv(path, argv), line.interp
		}
		want := fmt.Sprintf("%q", argv)
		if depth > ShebangDepth {
			want = "" // too many: see drawCommand
		}
		if got := kernelArgv(t, chain[depth], "operand"); got != want {
			t.Errorf("depth %d: the kernel gives %s, we %s", depth, got, want)
		}
	}
}
