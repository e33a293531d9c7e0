//go:build unix

package jobspec_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/shelltest"
)

// recorders is a PATH of programs that write down their name.
type recorders struct {
	dir string
}

func newRecorders(t *testing.T) recorders {
	t.Helper()
	r := recorders{t.TempDir()}
	for i, name := range shelltest.Names() {
		body := fmt.Sprintf("#!/bin/sh\necho %s >>ran\nexit %d\n", name, i%2)
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range shelltest.Tools() {
		real, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("needs %s", name)
		}
		if err := os.Symlink(real, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// run gives the names of the recorders that a shell ran for a text.
func (r recorders) run(t *testing.T, shell, text string) []string {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "") // of its own: what a text leaves in the background writes there
	must(t, err)
	defer os.RemoveAll(dir)
	cmd := exec.Command(shell, "-c", text)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + r.dir}
	cmd.WaitDelay = 5 * time.Second
	_ = cmd.Run() // how it ended says nothing here
	ran, err := os.ReadFile(filepath.Join(dir, "ran"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(ran))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What a real shell runs must be among what was read: a command that is not seen
// is judged by no rule.
func TestEveryCommandThatARealShellRunsWasRead(t *testing.T) {
	r := newRecorders(t)
	for _, shell := range []string{"bash", "dash"} {
		t.Run(shell, func(t *testing.T) { r.compare(t, shell) })
	}
}

func (r recorders) compare(t *testing.T, shell string) {
	bin, err := exec.LookPath(shell)
	if err != nil {
		t.Skipf("needs %s", shell)
	}
	random := rand.New(rand.NewPCG(seed(t), 1))
	texts, ran, refused := 0, 0, 0
	for until := soak(); ; {
		for range 70 {
			text := shelltest.Text(random, shell == "bash")
			seen := map[string]bool{}
			parts, err := jobspec.Parts([]string{shell, "-c", text}, jobspec.Script{})
			for _, words := range parts {
				seen[path.Base(words[0])] = true
			}
			texts++
			if err != nil {
				t.Logf("refused: %v", err)
				refused++
				continue
			}
			for _, name := range r.run(t, bin, text) {
				ran++
				if !seen[name] {
					t.Fatalf("%s ran %s, which was not read of\n%s\nread: %q", shell, name, text, parts)
				}
			}
		}
		if time.Now().After(until) {
			break
		}
	}
	if ran < texts || refused > texts/5 {
		t.Errorf("of %d texts %d commands ran and %d could not be read: too few to show anything", texts, ran, refused)
	}
}

// soak says until when a long run looks at further texts.
func soak() time.Time {
	if os.Getenv("SBXCRON_TEST_SOAK") != "1" {
		return time.Time{}
	}
	return time.Now().Add(90 * time.Second)
}

// seed is another one in a long run, so that it looks at other texts.
func seed(t *testing.T) uint64 {
	if os.Getenv("SBXCRON_TEST_SOAK") != "1" {
		return 7
	}
	s := rand.Uint64()
	t.Logf("seed %d", s)
	return s
}
