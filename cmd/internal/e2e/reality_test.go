//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/shelltest"
)

// textsOfAShell is how many generated texts each shell runs.
const textsOfAShell = 50

// Generated texts run in a real sandbox, over a PATH of programs that write down
// their name. Each command that ran must be among those that were read.
func TestEveryCommandThatRunsInTheSandboxWasRead(t *testing.T) {
	for _, shell := range []string{"bash", "dash"} {
		t.Run(shell, func(t *testing.T) { newHouse(t).reality(shell) })
	}
}

func (h *house) reality(shell string) {
	t := h.t
	bin, err := exec.LookPath(shell)
	if err != nil {
		t.Skipf("needs %s", shell)
	}
	dir := h.script(shell, fmt.Sprintf(`here=$PWD
for text in texts/*; do
  n=${text##*/}
  (cd "runs/$n" && PATH=$here/bin exec %s -c "$(cat "$here/$text"; echo x)") </dev/null >/dev/null 2>&1
done
true`, bin))
	h.recorders(filepath.Join(dir, "bin"))
	texts := h.texts(dir, shell)
	h.add(shell, dir, "workspace", "./job.sh")
	h.start()
	h.row(shell, "succeeded", "")

	ran := 0
	for n, text := range texts {
		b, err := os.ReadFile(filepath.Join(dir, "runs", n, "ran"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, name := range strings.Fields(string(b)) {
			ran++
			if !wasRead(t, shell, text, name) {
				t.Errorf("%s ran %s, which was not read, of\n%s", shell, name, text)
			}
		}
	}
	if ran < len(texts) {
		t.Errorf("only %d commands of %d texts ran", ran, len(texts))
	}
}

// recorders writes a PATH of programs that leave their name in the folder that
// they start in.
func (h *house) recorders(bin string) {
	h.mkdir(strings.TrimPrefix(bin, h.work))
	for i, name := range shelltest.Names() {
		h.put(filepath.Join(bin, name), fmt.Sprintf("#!/bin/sh\necho %s >>ran\nexit %d\n", name, i%2), 0o755)
	}
	for _, name := range shelltest.Tools() {
		real, err := exec.LookPath(name)
		if err != nil {
			h.t.Skipf("needs %s", name)
		}
		if err := os.Symlink(real, filepath.Join(bin, name)); err != nil {
			h.t.Fatal(err)
		}
	}
}

// texts writes generated texts below dir and gives them by their number. The job
// appends a line that starts with x, which nothing is called.
func (h *house) texts(dir, shell string) map[string]string {
	h.mkdir(filepath.Join(strings.TrimPrefix(dir, h.work), "texts"))
	random := rand.New(rand.NewPCG(11, 1))
	all := map[string]string{}
	for i := range textsOfAShell {
		n, text := fmt.Sprintf("%03d", i), shelltest.Text(random, shell == "bash")
		if _, err := jobspec.Parts([]string{shell, "-c", text + "\nx"}, jobspec.Script{}); err != nil {
			continue // such a job is refused
		}
		all[n] = text + "\nx"
		h.put(filepath.Join(dir, "texts", n), text+"\n", 0o644)
		h.mkdir(filepath.Join(strings.TrimPrefix(dir, h.work), "runs", n))
	}
	if len(all) < textsOfAShell*9/10 {
		h.t.Errorf("only %d texts of %d can be read", len(all), textsOfAShell)
	}
	return all
}

func wasRead(t *testing.T, shell, text, name string) bool {
	parts, err := jobspec.Parts([]string{shell, "-c", text}, jobspec.Script{})
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range parts {
		if path.Base(words[0]) == name {
			return true
		}
	}
	return false
}
