package runnertest

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
)

// password is a value that stands nowhere else on the machine, other tests that
// run at the same time included.
var password = rand.Text()[:20] + `-&3 / "correct\horse"-+battery%staple-` + rand.Text()[:12]

// credentialCases say how a job sees a credential, and that nobody else does.
func credentialCases() []Case {
	return []Case{
		{"credentials are readable in each form and cannot be changed", true, credentialForms},
		{"a credential is in no output, in whatever form it is printed", true, credentialOutput},
		{"a value that a kill cuts off is in no output", true, credentialCut},
		{"a credential is in no denial", true, credentialDenial},
		{"an agent's result is read with its credentials masked", true, credentialResult},
		{"a credential is in no process and no file outside of its sandbox", true, credentialOutside},
		{"a job without the credential does not see it", false, credentialOthers},
		{"git's store and ssh's key are credentials in HOME", true, credentialPrograms},
	}
}

// with gives a job credential db, whose value is password, in the forms.
func (j Job) with(forms ...string) Job {
	j.values = map[string]string{"db": password}
	for _, as := range forms {
		j.credentials = append(j.credentials, jobspec.Credential{Name: "db", As: as})
	}
	return j
}

func (j Job) secrets() []*runner.Secret {
	var all []*runner.Secret
	for _, name := range slices.Sorted(maps.Keys(j.values)) {
		all = append(all, runner.NewSecret(name, []byte(j.values[name])))
	}
	return all
}

func credentialForms(l *Lab) error {
	cwd := l.folder("ws")
	j := shell(`stat -c '%a %U %n' "$CREDENTIALS_DIRECTORY"/* ~/.config/app/token; cmp "$CREDENTIALS_DIRECTORY/db" ~/.config/app/token && echo same
[ "$PASS" = "$(cat ~/.config/app/token)" ] && echo same as variable
for f in "$CREDENTIALS_DIRECTORY/db" ~/.config/app/token; do
  ( : > "$f" ) 2>/dev/null && echo written; rm -f "$f" 2>/dev/null && echo removed; chmod 666 "$f" 2>/dev/null && echo mode; mv "$f" /tmp/x 2>/dev/null && echo moved
done
ls "$CREDENTIALS_DIRECTORY"; ln ~/.config/app/token ~/link 2>/dev/null && echo linked; wc -c < ~/.config/app/token; echo x > ~/.config/app/other && echo beside
cat ~/.config/app/token > `+cwd+`/copy`).in(jobspec.Workspace, cwd).with("file", "path:~/.config/app/token", "env:PASS")
	r, err := l.run(j)
	if err != nil {
		return err
	}
	want := "400 job /.sbxcron/credentials/db\n400 job /home/job/.config/app/token\nsame\nsame as variable\ndb\n" + fmt.Sprint(len(password)) + "\nbeside\n"
	copied, err := os.ReadFile(cwd + "/copy")
	return firstError(
		func() error { return err },
		func() error { return wantText("what the job sees", r.Out+r.Err, want) },
		func() error { return wantText("the value that the job read", string(copied), password) },
		func() error {
			return wantText("credentials in the record", strings.Join(r.Facts.Credentials, " "), "db")
		})
}

// spoken are forms of the password that programs of every machine print.
const spoken = `f="$CREDENTIALS_DIRECTORY/db"
cat "$f"; echo; sed 's/./&/' "$f" >&2; echo >&2; base64 "$f"; base64 -w0 "$f"; printf x | cat - "$f" | base64 -w0; printf xy | cat - "$f" | base64 | tr '+/' '-_'
od -An -v -tx1 "$f"; od -An -v -tx1 "$f" | tr -d ' \n'; od -An -v -tx1 "$f" | tr -d ' \n' | tr a-f A-F
echo; od -An -v -tx1 "$f" | tr -d '\n' | sed 's/ /%/g'; echo; od -An -v -tx1 "$f" | tr -d '\n' | sed 's/ /\\x/g'; echo
sed 's/[\\"]/\\&/g; s/^/{"password":"/; s/$/"}/' "$f"; echo
sed 's/%/%25/g; s/ /%20/g; s/"/%22/g; s/&/%26/g; s|/|%2f|g; s/\\/%5C/g; s/+/%2B/g' "$f"; echo; sed 's/%/%25/g; s/+/%2B/g; s/ /+/g' "$f"; echo
dd if="$f" bs=1 2>/dev/null; n=0; while read -r -n1 c 2>/dev/null; do printf %s "$c"; n=1; done < "$f"; echo
echo end`

func credentialOutput(l *Lab) error {
	r, err := l.run(shell(spoken).with("file"))
	if err != nil {
		return err
	}
	if leak := leaked(r.Out + r.Err); leak != "" || r.End.Outcome != record.OutcomeSucceeded {
		return fmt.Errorf("%s, with the credential as %s in %q %q", r.End.Outcome, leak, r.Out, r.Err)
	}
	if n := strings.Count(r.Out, "[credential db]"); n < 14 || strings.Count(r.Err, "[credential db]") != 1 {
		return fmt.Errorf("%d labels stand in %q, and in %q", n, r.Out, r.Err)
	}
	for i, text := range []string{r.Out, r.Err} {
		if o := r.End.Outputs[i]; o.Bytes != int64(len(text)) || o.SHA256 != jobspec.Digest(sha256.Sum256([]byte(text))) {
			return fmt.Errorf("stream %s: %d bytes and %s are recorded of %d", o.Stream, o.Bytes, o.SHA256, len(text))
		}
	}
	return nil
}

// leaked names the form in which the password stands in a text, or most of it.
func leaked(text string) string {
	b := []byte(password)
	for form, is := range map[string]string{"text": password[:12], "end": password[len(password)-12:], "hex": hex.EncodeToString(b)[:24], "HEX": strings.ToUpper(hex.EncodeToString(b))[:24],
		"base64": base64.StdEncoding.EncodeToString(b)[:20], "base64 at 1": base64.StdEncoding.EncodeToString(append([]byte("x"), b...))[4:24],
		"base64 at 2": base64.StdEncoding.EncodeToString(append([]byte("xy"), b...))[4:24], "query": url.QueryEscape(password)[:16], "path": url.PathEscape(password)[:16]} {
		if strings.Contains(text, is) {
			return form
		}
	}
	return ""
}

func credentialCut(l *Lab) error {
	j := shell(`printf 'it is %s' "$(head -c 20 "$CREDENTIALS_DIRECTORY/db")"; sleep 60`).with("file")
	j.limits = func(m *jobspec.Limits) { m.TimeoutSeconds = 1 }
	r, err := l.run(j)
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeTimedOut {
		return fmt.Errorf("ended as %s", r.End.Outcome)
	}
	return wantText("output", r.Out, "it is [credential db]")
}

func credentialDenial(l *Lab) error {
	_, err := l.wantDenied(shell(`s=$(cat "$CREDENTIALS_DIRECTORY/db"); sudo -p "$s" id; sudo "$(printf %s "$s" | base64 -w0)"; su -c "$(printf '%-150s' x)$s"; true`).with("file"),
		`esc_sudo sudo -p "[credential db]" id x1`, `esc_sudo sudo [credential db]== x1`,
		`esc_su su -c "x`+strings.Repeat(" ", 149)+`[credential db]... x1`) // where it was cut the value was, too
	return err
}

func credentialResult(l *Lab) error {
	j := shell(`printf '{"type":"result","permission_denials":[{"tool_name":"Bash","tool_input":{"command":"curl -u %s"}}]}' "$(sed 's/[\\"]/\\&/g' "$CREDENTIALS_DIRECTORY/db")"`).with("file")
	j.result = jobspec.ResultClaude
	_, err := l.wantDenied(j, `ask_agent_denied Bash "curl -u [credential db]" x1`)
	return err
}

// credentialOutside looks for the value while the job has it: in the command
// line and environment of every process, and in every file of the run.
func credentialOutside(l *Lab) error {
	cwd := l.folder("ws")
	proc, out, _, err := l.start(shell("cat $CREDENTIALS_DIRECTORY/db ~/.pgpass; : > ready; while [ ! -e go ]; do sleep 0.05; done").in(jobspec.Workspace, cwd).with("file", "path:~/.pgpass"))
	if err != nil {
		return err
	}
	found := func() error {
		for i := 0; ; i++ {
			if _, err := os.Stat(cwd + "/ready"); err == nil {
				break
			} else if i > 400 {
				return errors.New("the job does not begin")
			}
			time.Sleep(25 * time.Millisecond)
		}
		return firstError(searchProcesses, func() error { return searchFiles(l.Dir) })
	}()
	l.file(cwd+"/go", "", 0o644)
	end := proc.Wait()
	switch {
	case found != nil:
		return found
	case end.Outcome != record.OutcomeSucceeded:
		return fmt.Errorf("ended as %s: %s%s", end.Outcome, out.text("out"), out.text("err"))
	}
	return firstError(func() error { return searchFiles(l.Dir) },
		func() error { return wantText("output", out.text("out"), "[credential db][credential db]") })
}

// searchProcesses looks at what procfs shows of each process.
func searchProcesses() error {
	looked := 0
	for _, name := range []string{"cmdline", "environ", "comm"} {
		all, err := filepath.Glob("/proc/[0-9]*/" + name)
		if err != nil {
			return err
		}
		for _, file := range all {
			text, err := os.ReadFile(file) // of another account, or gone: not to be seen by us at all
			if err == nil && len(text) > 0 {
				looked++
			}
			if form := leaked(string(text)); form != "" {
				return fmt.Errorf("%s holds the credential as %s", file, form)
			}
		}
	}
	if looked < 4 {
		return fmt.Errorf("only %d files of procfs could be read", looked)
	}
	return nil
}

func searchFiles(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if form := leaked(string(bytes.ToValidUTF8(text, []byte("?")))); form != "" {
			return fmt.Errorf("%s holds the credential as %s", path, form)
		}
		return err
	})
}

func credentialOthers(l *Lab) error {
	j := shell(`echo "${CREDENTIALS_DIRECTORY-unset}"; ls -A /.sbxcron/credentials ~ 2>&1; cat /.sbxcron/credentials/token ~/.token 2>&1; env | grep -c TOKEN; true`)
	other := j.with("path:~/db")
	other.values["token"] = "another value of the same run"
	for _, job := range []Job{j, other} {
		out, err := l.succeed(job)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(out, "unset\n") || strings.Contains(out, "another value") || !strings.HasSuffix(out, "\n0\n") {
			return fmt.Errorf("a job without files of credentials sees %q", out)
		}
	}
	return nil
}

// credentialPrograms: git reads its store, and what it prints of it is masked;
// that it cannot write the store back stops nothing. ssh takes a key whose mode
// is 0400.
func credentialPrograms(l *Lab) error {
	for _, name := range []string{"git", "ssh-keygen"} {
		if _, err := tool(name); err != nil {
			return err
		}
	}
	key := filepath.Join(l.Dir, "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", key).CombinedOutput(); err != nil {
		return fmt.Errorf("make a key: %w: %s", err, out)
	}
	private, err := os.ReadFile(key)
	if err != nil {
		return err
	}
	j := shell(`ask() { printf 'protocol=https\nhost=git.example.org\n%s\n' "$1"; }
ask | git -c credential.helper=store credential fill; ask 'username=bob
password=hunter2222
' | git -c credential.helper=store credential approve; ssh-keygen -y -f ~/.ssh/id_ed25519 | cut -d' ' -f1; cat ~/.ssh/id_ed25519`)
	j.credentials = []jobspec.Credential{{Name: "git", As: "path:~/.git-credentials"}, {Name: "key", As: "path:~/.ssh/id_ed25519"}}
	j.values = map[string]string{"git": "https://bob:hunter2222@git.example.org\n", "key": string(private)}
	out, err := l.succeed(j)
	if err != nil {
		return err
	}
	if strings.Contains(out, "hunter2222") || !strings.HasPrefix(out, "protocol=https\nhost=git.example.org\nusername=bob\npassword=[credential git]\nssh-ed25519\n[credential key]") {
		return fmt.Errorf("git and ssh say %q", out)
	}
	return nil
}
