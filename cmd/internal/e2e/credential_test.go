//go:build linux

package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// vault is a house whose principal may use the credentials db and token.
func vault(t *testing.T) *house {
	t.Helper()
	h := newHouse(t)
	h.permit(func(_, alice map[string]any) { alice["credentials"] = []any{"db", "token"} })
	return h
}

// credential writes a value into CONF and returns the file.
func (h *house) credential(name, value string) string {
	h.t.Helper()
	dir := filepath.Join(h.root, "conf", "credentials")
	must(h.t, os.MkdirAll(dir, 0o700))
	file := filepath.Join(dir, name)
	must(h.t, os.RemoveAll(file))
	must(h.t, os.WriteFile(file, []byte(value), 0o600))
	return file
}

// The value of a credential lies in CONF and in the sandbox, and in no other file
// of the installation: not in chain, ledger, outputs or what the service says.
func TestTheValueOfACredentialStaysInItsFileAndInTheSandbox(t *testing.T) {
	h := vault(t)
	first, second := rand.Text()+"/+\n", "second "+rand.Text()
	h.credential("db", first)
	h.credential("token", second)
	body := `f=$CREDENTIALS_DIRECTORY/db; cat "$f" "$f" ~/.pgpass; base64 "$f"; od -An -v -tx1 "$f"; env; echo "$TOKEN" >&2; sudo "$TOKEN"; sha256sum < "$f" > sum; exit 3`
	flags := []string{"--credential", "db=file", "--credential", "db=path:~/.pgpass", "--credential", "token=env:TOKEN"}
	dir := h.script("job", body)
	args := append([]string{"job", "--schedule", never, "--yes", "--tier", "workspace", "--cwd", dir}, flags...)
	d := h.dryRun(append(args, "--", "./job.sh")...)
	if len(d.Asks) != 1 || d.Asks[0].Rule != "floor.credential_variable" {
		t.Fatalf("asks %+v, reasons %+v", d.Asks, d.Reasons)
	}
	h.must(slices.Concat([]string{"add"}, args, []string{"--answer", d.Asks[0].ID + "=allow", "--", "./job.sh"})...)
	s := h.start()
	for range 2 { // a value may change, and nobody has to sign again
		h.allowed("job")
		r := h.row("job", "denied", "")
		if !slices.Equal(r.Credentials, []string{"db", "token"}) || len(r.Denials) != 1 || r.Denials[0].Target != "sudo "+`"[credential token]"` {
			t.Errorf("the row names %q, denials %+v", r.Credentials, r.Denials)
		}
		sum, err := os.ReadFile(filepath.Join(dir, "sum"))
		if want := jobspec.DigestOf([]byte(first)).String(); err != nil || !strings.HasPrefix(want, "sha256:"+strings.Fields(string(sum))[0]) {
			t.Errorf("inside it was %q, want %s; %v", sum, want, err)
		}
		all := strings.Join([]string{h.text(r), h.must("logs", r.Run, "--stream", "err"), s.log.String(), h.must("history", "--json"), h.must("show", "job", "--json"),
			h.must("show", "job", "--spec"), h.must("explain", "job", "--json"), h.must("explain", r.Run), h.must("doctor", "--json")}, "\n")
		h.holdsNot("what was printed", []byte(all), first, second)
		h.searchRoot(first, second)
		first = rand.Text() + "+/\n"
		h.credential("db", first)
	}
	if x := h.explain("job"); !slices.Equal(x.Opens.Credentials, []string{"db", "token"}) || x.Coverage["credentials"] != "unbound" {
		t.Errorf("opens %+v, coverage %v", x.Opens, x.Coverage)
	}
	if r := h.run("try", "--credential", "db=file", "--", "/bin/true"); r.code != 64 || !strings.Contains(r.err, "a try has no credentials") {
		t.Errorf("try ends with %d and says %q", r.code, r.err)
	}
}

// holdsNot looks for values, plain and encoded.
func (h *house) holdsNot(what string, text []byte, values ...string) {
	h.t.Helper()
	for _, v := range values {
		core := strings.TrimSpace(v)
		for _, form := range []string{core, hex.EncodeToString([]byte(core)), base64.StdEncoding.EncodeToString([]byte(core))[:len(core)]} {
			if bytes.Contains(text, []byte(form)) {
				h.t.Errorf("%s holds the value of a credential", what)
			}
		}
	}
}

func (h *house) searchRoot(values ...string) {
	h.t.Helper()
	files := 0
	must(h.t, filepath.WalkDir(h.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Base(filepath.Dir(path)) == "credentials" {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		h.holdsNot(path, text, values...)
		return err
	}))
	if files < 8 {
		h.t.Errorf("only %d files were searched", files)
	}
}

func TestCredentialsThatCannotBeUsedAreRefusedAtAddAndAtEachTrigger(t *testing.T) {
	h := vault(t)
	h.credential("db", "a good value\n")
	h.job("job", "cat $CREDENTIALS_DIRECTORY/db > copy", "--credential", "db=file")
	var given string
	h.start()
	for _, c := range []struct {
		name   string
		spoil  func(file string)
		want   jobspec.Code
		nobody bool // root only
	}{
		{"missing", func(f string) { must(t, os.Remove(f)) }, jobspec.CodeCredentialMissing, false},
		{"others read it", func(f string) { must(t, os.Chmod(f, 0o644)) }, jobspec.CodeCredentialUnsafe, false},
		{"the group reads it", func(f string) { must(t, os.Chmod(f, 0o640)) }, jobspec.CodeCredentialUnsafe, false},
		{"another's", func(f string) { must(t, os.Chown(f, jobUID, jobUID)) }, jobspec.CodeCredentialUnsafe, true},
		{"a link", func(f string) { must(t, os.Rename(f, f+".real")); must(t, os.Symlink(f+".real", f)) }, jobspec.CodeCredentialUnsafe, false},
		{"two names", func(f string) { must(t, os.Link(f, f+"2")) }, jobspec.CodeCredentialUnsafe, false},
		{"a pipe", func(f string) { must(t, os.Remove(f)); must(t, syscall.Mkfifo(f, 0o600)) }, jobspec.CodeCredentialUnsafe, false},
		{"a folder", func(f string) { must(t, os.Remove(f)); must(t, os.Mkdir(f, 0o700)) }, jobspec.CodeCredentialUnsafe, false},
		{"others write the folder", func(f string) { must(t, os.Chmod(filepath.Dir(f), 0o777)) }, jobspec.CodeCredentialUnsafe, false},
		{"too long", func(f string) { h.credential("db", strings.Repeat("x", 64<<10+1)) }, jobspec.CodeCredentialUnusable, false},
		{"too short", func(f string) { h.credential("db", "12345\n\n") }, jobspec.CodeCredentialUnusable, false},
		{"empty", func(f string) { h.credential("db", "") }, jobspec.CodeCredentialUnusable, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.nobody && os.Getuid() != 0 {
				t.Skip("needs root, to give a file away")
			}
			file := h.credential("db", "a good value\n")
			c.spoil(file)
			h.row("job", "refused", c.want)
			dir := h.script("other", "true")
			e := h.refusesToAdd(c.want, "other", "--schedule", never, "--yes", "--tier", "workspace", "--cwd", dir, "--credential", "db=file", "--", "./job.sh")
			if e.Help == "" && len(e.Reasons) == 0 {
				t.Errorf("no advice: %+v", e)
			}
			if r := h.run("doctor"); c.want == jobspec.CodeCredentialUnsafe && !strings.Contains(r.out, file) {
				t.Errorf("doctor does not name the file: %s", r.out)
			}
			dirs := filepath.Dir(file)
			must(t, os.Chmod(dirs, 0o700))
			must(t, os.RemoveAll(dirs))
		})
	}
	given = h.credential("db", "back again, as it was")
	h.row("job", "succeeded", "")
	must(t, os.Remove(given))
}

// systemd gives a service its credentials in a folder that a variable names.
func TestTheServiceManagerGivesCredentials(t *testing.T) {
	h := vault(t)
	given := filepath.Join(h.dir, "given")
	must(t, os.Mkdir(given, 0o700))
	must(t, os.WriteFile(filepath.Join(given, "db"), []byte("given by the manager"), 0o400))
	h.start("CREDENTIALS_DIRECTORY=" + given)
	dir := h.job("job", "cat $CREDENTIALS_DIRECTORY/db > copy", "--credential", "db=file") // the command line does not see it: the service says so
	h.row("job", "succeeded", "")
	if b, err := os.ReadFile(filepath.Join(dir, "copy")); err != nil || string(b) != "given by the manager" {
		t.Errorf("inside it was %q, %v", b, err)
	}
	h.credential("db", "and one in CONF")
	r := h.row("job", "refused", jobspec.CodeCredentialUnsafe)
	if !slices.ContainsFunc(r.Reasons, func(x api.Reason) bool { return strings.Contains(x.Detail, "the service manager") }) {
		t.Errorf("two values: %+v", r.Reasons)
	}
}
