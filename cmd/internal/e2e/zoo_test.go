//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// animal is a program that asks, in a job that lets it.
type animal struct {
	name string
	tool string // the real program that must be there, "" where the shim is enough
	body string
	want []string // denials that must be told, from their beginning
}

// zoo are the programs that ask people. What cannot be seen, a read of standard
// input and a lock that is not there, only must not hang and must not pass.
func zoo() []animal {
	return []animal{
		{"sudo", "", "sudo id", []string{"esc_sudo sudo id x1"}},
		{"su", "", "su -c id", []string{"esc_su su -c id x1"}},
		{"su-by-path", "su", "$(readlink -f /bin)/su root", []string{"esc_su su root x1"}},
		{"pkexec", "", "pkexec id", []string{"esc_pkexec pkexec id x1"}},
		{"crontab", "", "crontab -e", []string{"esc_scheduler crontab -e x1"}},
		{"systemd-run", "", "systemd-run --user id", []string{"esc_scheduler systemd-run --user id x1"}},
		{"ssh-passphrase", "ssh-keygen", "ssh-keygen -y -f key", []string{"ask_askpass_ssh askpass-ssh \"Enter passphrase"}},
		{"ssh-key-host", "ssh", "ssh -i key nobody@192.0.2.1 id", []string{"net_denied_direct AF_INET x1"}},
		{"ssh-unknown-host", "ssh", "ssh nobody@192.0.2.1 id", []string{"net_denied_direct AF_INET x1"}},
		{"git-https", "git", "git ls-remote https://192.0.2.1/x.git", []string{"net_denied_direct AF_INET x1"}},
		{"git-credential", "git", `printf 'protocol=https\nhost=example.org\n\n' | git credential fill`, []string{`ask_askpass_git askpass-git "Username for 'https://example.org': " x1`}},
		{"git-commit", "git", "git init -q /tmp/r && cd /tmp/r && git config user.email a@b && git config user.name a && echo x > f && git add f && git commit", []string{`ask_editor editor /tmp/r/.git/COMMIT_EDITMSG x1`}},
		{"gpg-generate", "gpg", "gpg --batch --quick-gen-key a@example.org", []string{"ask_pinentry gpg-agent"}},
		{"gpg-decrypt", "gpg", "gpg -d secret.gpg", []string{"ask_pinentry gpg-agent"}},
		{"pinentry", "", "echo GETPIN | pinentry", []string{"ask_pinentry pinentry x1"}},
		{"tty", "", "read answer < /dev/tty", []string{"ask_tty /dev/tty x1"}},
		{"stdin", "", "read answer", nil},
		{"apt", "apt-get", "apt-get install hello", nil},
		{"browser", "", "xdg-open https://example.org", []string{"ask_browser xdg-open https://example.org x1"}},
		{"claude", "", "./claude -p 'push it'", []string{`ask_agent_denied Bash "git push" x1`, "ask_tty /dev/tty x1"}},
	}
}

// claudeScript acts as an agent's command line that wants a permission: from a
// terminal, and where there is none from standard input. What it was not given is
// in its result, and it ends with 0 all the same.
const claudeScript = `#!/bin/sh
echo "Claude wants to run: git push. Allow? [y/n]" >&2
denials=
if ! read answer < /dev/tty && ! read answer || [ "$answer" != y ]; then
  denials='{"tool_name":"Bash","tool_input":{"command":"git push"}}'
fi
echo '{"type":"result","is_error":false,"permission_denials":['"$denials"']}'
`

func TestThePromptZooNeitherHangsNorPasses(t *testing.T) {
	h := newHouse(t)
	var here []animal
	for _, a := range zoo() {
		if a.tool != "" {
			if _, err := exec.LookPath(a.tool); err != nil {
				t.Run(a.name, func(t *testing.T) { t.Skipf("needs %s", a.tool) })
				continue
			}
		}
		here = append(here, a)
		dir := h.script(a.name, a.body)
		h.put(filepath.Join(dir, "claude"), claudeScript, 0o755)
		h.put(filepath.Join(dir, "secret.gpg"), "\x8c\x0d\x04\x09\x03\x02", 0o644)
		if a.tool == "ssh" || a.tool == "ssh-keygen" {
			h.lockedKey(filepath.Join(dir, "key"))
		}
		if a.name == "claude" {
			h.file(a.name, a.body, fmt.Sprintf("cwd = %q\ntier = \"read-only\"\nresult = \"claude-json\"\n", dir))
			continue
		}
		h.add(a.name, dir, "read-only", filepath.Join(dir, "job.sh"))
	}
	h.start()
	var all time.Duration
	for _, a := range here {
		t.Run(a.name, func(t *testing.T) {
			began := time.Now()
			r := h.run("run", a.name, "--wait")
			took := time.Since(began)
			all += took
			row := h.last(a.name)
			if r.code == 0 || row.Outcome == "succeeded" || row.Outcome == "timed_out" || took > 10*time.Second {
				t.Errorf("exit %d, %s, after %s\n%s", r.code, row.Outcome, took, h.must("logs", row.Run, "--stream", "err"))
			}
			for _, want := range a.want {
				if !strings.Contains(denials(row), want) || row.Outcome != "denied" {
					t.Errorf("%s, denials %q, want %q\n%s", row.Outcome, denials(row), want, h.must("logs", row.Run, "--stream", "err"))
				}
			}
		})
	}
	if all > 30*time.Second {
		t.Errorf("the zoo took %s", all)
	}
}

// lockedKey makes a key with a passphrase that the job can read.
func (h *house) lockedKey(path string) {
	h.t.Helper()
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "a passphrase", "-f", path).CombinedOutput(); err != nil {
		h.t.Fatalf("make a key: %v\n%s", err, out)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.own(path)
}
