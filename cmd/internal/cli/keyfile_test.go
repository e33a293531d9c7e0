package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/keysource"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

func TestDryRunPrintsSpecSummaryAsksAndReasons(t *testing.T) {
	b := newBench(t)
	if status := b.run(line([]string{"--json"}, plainJob, []string{"--dry-run"}, inlineJob)...); status != 0 {
		t.Fatalf("exit %d\n%s", status, b.err.String())
	}
	var doc struct {
		Schema string
		Item   map[string]json.RawMessage
	}
	if err := json.Unmarshal(b.out.Bytes(), &doc); err != nil || doc.Schema != "sbxcron.add/v1" {
		t.Fatalf("%v\n%s", err, b.out.String())
	}
	for _, field := range []string{"spec", "summary", "asks", "reasons"} {
		if len(doc.Item[field]) < 2 || string(doc.Item[field]) == "null" {
			t.Errorf("%s is %s", field, doc.Item[field])
		}
	}
	if b.key.used != 0 || len(b.svc.submitted) != 0 {
		t.Error("the dry run signed")
	}
}

// A key elsewhere: plan writes the bytes, stock ssh-keygen signs, apply submits.
func TestStockSSHKeygenSignsWhatPlanWrote(t *testing.T) {
	signingtest.Tool(t, "ssh-keygen")
	b := newBench(t)
	stock := signingtest.StockKey(t, "-t", "ed25519", "-N", "")
	line1 := signingtest.PublicLine(t, stock+".pub", "alice", append(jobspec.JobNamespaces(), jobspec.ManageNamespace)...)
	trust, err := signing.ParseTrust(line1, []byte{}, signing.Algorithms{})
	if err != nil {
		t.Fatal(err)
	}
	b.site.trust = trust
	file := filepath.Join(t.TempDir(), "op file.json")
	if status := b.run(line([]string{"--json", "plan"}, plainJob, []string{"--out", file, "--key", stock}, command)...); status != 0 {
		t.Fatalf("plan: exit %d\n%s", status, b.err.String())
	}
	var doc struct{ Item planned }
	if err := json.Unmarshal(b.out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil || jobspec.DigestOf(raw) != doc.Item.Op || b.key.used != 0 {
		t.Fatalf("file %v, digest %s, key used %d times", err, doc.Item.Op, b.key.used)
	}
	shell(t, strings.Replace(doc.Item.Command, "KEY", stock, 1))
	if status := b.run("apply", file, file+".sig"); status != 0 {
		t.Fatalf("apply: exit %d\n%s", status, b.err.String())
	}
	got := b.svc.submitted[0]
	if _, err := trust.Verify(got.Op, got.Sig, noon); err != nil || !bytes.Equal(got.Op, raw) {
		t.Errorf("what was submitted: %v", err)
	}
}

// shell runs a line as a person would paste it.
func shell(t *testing.T, text string) {
	t.Helper()
	if out, err := exec.Command("/bin/sh", "-c", text).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", text, err, out)
	}
}

func TestApplyRefusesAChangedFileOrSignature(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "op.json")
	if status := b.run(line([]string{"plan"}, plainJob, []string{"--out", file}, command)...); status != 0 {
		t.Fatalf("plan: exit %d\n%s", status, b.err.String())
	}
	if status := b.run("sign", file, "--yes"); status != 0 || b.key.used != 1 {
		t.Fatalf("sign: exit %d\n%s", status, b.err.String())
	}
	op, sig := read(t, file), read(t, file+".sig")
	for name, tc := range map[string]struct {
		op, sig []byte
		code    string
	}{
		"other bytes":      {bytes.Replace(op, []byte("nightly"), []byte("nightlx"), 1), sig, "sig_invalid"},
		"no armor":         {op, []byte("hello\n"), "sig_invalid"},
		"empty signature":  {op, nil, "sig_missing"},
		"a line too many":  {op, append([]byte("x\n"), sig...), "sig_invalid"},
		"an op of no kind": {[]byte("{}"), sig, "sig_invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			o, s := filepath.Join(t.TempDir(), "o"), filepath.Join(t.TempDir(), "s")
			write(t, o, tc.op)
			write(t, s, tc.sig)
			status := b.run("--json", "apply", o, s)
			e := b.errorDoc()
			if status == 0 || len(b.svc.submitted) != 0 || !strings.HasPrefix(e.ErrCode, "sig_") || e.Help == "" {
				t.Errorf("exit %d, %+v, %d submitted", status, e, len(b.svc.submitted))
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSignAsksFirstAndNeverWritesOver(t *testing.T) {
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "op.json")
	b.run(line([]string{"plan"}, plainJob, []string{"--out", file}, command)...)
	if status := b.run("sign", file); status != 64 || b.key.used != 0 {
		t.Errorf("without a terminal: exit %d, key used %d times", status, b.key.used)
	}
	b.answers = []string{""}
	if status := b.run("sign", file); status != 1 || b.key.used != 0 || len(b.asked) != 1 {
		t.Errorf("enter: exit %d, key used %d times", status, b.key.used)
	}
	b.answers = nil
	if status := b.run("sign", file, "--yes"); status != 0 {
		t.Fatalf("exit %d\n%s", status, b.err.String())
	}
	if status := b.run("sign", file, "--yes"); status != 65 {
		t.Errorf("a second signature: exit %d, want 65", status)
	}
	if status := b.run(line([]string{"plan"}, plainJob, []string{"--out", file}, command)...); status != 65 {
		t.Errorf("a second plan in the same file: exit %d, want 65", status)
	}
}

func TestStockSSHKeygenVerifiesWhatExportWrote(t *testing.T) {
	signingtest.Tool(t, "ssh-keygen")
	good := signingtest.FixedKey(t, "good", "alice", jobspec.ManageNamespace)
	gone := signingtest.FixedKey(t, "gone", "bob", jobspec.RootNamespace)
	gone.ValidBefore = noon.Add(time.Hour)
	b := newBench(t)
	for i, k := range []*signingtest.Key{good, gone, good} {
		namespace := jobspec.ManageNamespace
		if k == gone {
			namespace = jobspec.RootNamespace
		}
		op := []byte(fmt.Sprintf(`{"op":%d}`, i))
		b.svc.ops = append(b.svc.ops, api.OpFile{Seq: int64(i), Op: op, Sig: k.Sign(t, namespace, op), Namespace: namespace, Principal: jobspec.Principal(k.Principal),
			KeyID: k.KeyID(), Key: strings.TrimSpace(signing.FormatRevoked(k.Public())), Signer: k.Line(t), Created: jobspec.InstantOf(noon), Revoked: k == gone})
	}
	dir := filepath.Join(t.TempDir(), "an export's folder")
	if status := b.run("--json", "audit", "export", "--ops", dir); status != 0 {
		t.Fatalf("exit %d\n%s", status, b.err.String())
	}
	var doc struct{ Items []exported }
	if err := json.Unmarshal(b.out.Bytes(), &doc); err != nil || len(doc.Items) != 3 {
		t.Fatalf("%v\n%s", err, b.out.String())
	}
	for _, e := range doc.Items {
		shell(t, e.Command)
		if strings.Contains(e.Command, " -r ") == e.Revoked {
			t.Errorf("op %d, revoked %v: %s", e.Seq, e.Revoked, e.Command)
		}
		damaged := strings.Replace(e.Command, "< ", "< /dev/null #", 1)
		if exec.Command("/bin/sh", "-c", damaged).Run() == nil {
			t.Errorf("op %d verifies over other bytes", e.Seq)
		}
	}
	if got := read(t, filepath.Join(dir, "allowed_signers")); strings.Count(string(got), "\n") != 2 {
		t.Errorf("allowed_signers:\n%s", got)
	}
	if status := b.run("audit", "export", "--ops", dir); status != 65 {
		t.Errorf("into a folder in use: exit %d, want 65", status)
	}
	if b.run("audit", "export", "--ops", dir+"2"); !strings.Contains(b.out.String(), "# op 1: its key was revoked later") {
		t.Errorf("it is not said which key was revoked:\n%s", b.out.String())
	}
}

// initBench makes real installations below a fresh root.
func initBench(t *testing.T) (*bench, string, string) {
	b := newBench(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	return b, root, filepath.Join(dir, "key")
}

// realKeys makes the bench open real keys.
func (b *bench) runReal(args ...string) int {
	status := 0
	b.run("version") // builds the app
	app := b.app
	b.out.Reset()
	b.err.Reset()
	app.flags = globals{}
	app.Ports.Key = func(ctx context.Context, s keysource.Source) (keysource.Signer, error) { return s.Open(ctx) }
	status = app.Run(b.t.Context(), args)
	return status
}

func TestInitMakesAnInstallationOnce(t *testing.T) {
	b, root, key := initBench(t)
	if status := b.runReal("--root", root, "--json", "init", "--principal", "alice", "--new-key", key, "--no-passphrase"); status != 0 {
		t.Fatalf("exit %d\n%s", status, b.err.String())
	}
	var doc struct {
		Schema string
		Item   installed
	}
	if err := json.Unmarshal(b.out.Bytes(), &doc); err != nil || doc.Schema != "sbxcron.init/v1" || doc.Item.Host == "" || doc.Item.KeyID == "" || doc.Item.Genesis.IsZero() || doc.Item.Principal != "alice" {
		t.Fatalf("%v\n%s", err, b.out.String())
	}
	public := os.FileMode(0o600)
	if os.Getuid() == 0 {
		public = 0o644
	}
	for name, mode := range map[string]os.FileMode{"host": public, "allowed_signers": public, "revoked_keys": public, "policy.toml": public, "pin": public, "audit_key": 0o600, "key": 0o600} {
		info, err := os.Stat(filepath.Join(root, "conf", name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want mode %o", name, info, err, mode)
		}
	}
	if status := b.runReal("--root", root, "--json", "init", "--principal", "alice", "--key", key); status != 5 || b.errorDoc().ErrCode != string(codeInstalled) {
		t.Errorf("a second init: exit %d", status)
	}
	if status := b.runReal("--root", root, "--json", "init", "--principal", "alice", "--key", key, "--resume"); status != 5 {
		t.Errorf("a second init with --resume: exit %d", status)
	}
}

func TestInitAsksForNoPassphraseWithoutATerminal(t *testing.T) {
	b, root, key := initBench(t)
	status := b.runReal("--root", root, "--json", "init", "--principal", "alice", "--new-key", key)
	if e := b.errorDoc(); status != 64 || !strings.Contains(e.Help, "--no-passphrase") {
		t.Errorf("exit %d, %+v", status, e)
	}
	if _, err := os.Lstat(key); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a key was made: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(root, "conf")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folders were made: %v", err)
	}
}

func TestInitAsksTwiceForANewPassphraseAndNotAgainToSign(t *testing.T) {
	b, root, key := initBench(t)
	b.answers = []string{"secret", "other"}
	if status := b.runReal("--root", root, "init", "--principal", "alice", "--new-key", key); status != 1 {
		t.Fatalf("two passphrases that differ: exit %d", status)
	}
	b.answers = []string{"secret", "secret"}
	if status := b.runReal("--root", root, "init", "--principal", "alice", "--new-key", key); status != 0 || len(b.answers) != 0 {
		t.Fatalf("exit %d, %d answers left\n%s", status, len(b.answers), b.err.String())
	}
}

func TestAKeyThatOthersCanReadIsRefusedBeforeThePassphraseIsAsked(t *testing.T) {
	b, root, _ := initBench(t)
	key := lockedKey(t)
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	b.answers = []string{"secret"}
	status := b.runReal("--root", root, "--json", "init", "--principal", "alice", "--key", key)
	if e := b.errorDoc(); status == 0 || len(b.asked) != 0 || !strings.Contains(e.Help, "chmod") {
		t.Errorf("exit %d, asked %q, %+v", status, b.asked, e)
	}
}

// lockedKey is a key under the passphrase "secret", with one round of bcrypt, so
// that tests under the race detector do not wait for it.
func lockedKey(t *testing.T) string {
	signingtest.Tool(t, "ssh-keygen")
	return signingtest.StockKey(t, "-t", "ed25519", "-N", "secret", "-a", "1")
}

// A passphrase that nobody knows leaves nothing behind that would have to be resumed.
func TestAnInitThatCannotSignLeavesNothingToResume(t *testing.T) {
	b, root, _ := initBench(t)
	key := lockedKey(t)
	if status := b.runReal("--root", root, "--json", "init", "--principal", "alice", "--key", key); status == 0 {
		t.Fatal("signed without the passphrase")
	}
	b.answers = []string{"secret"}
	if status := b.runReal("--root", root, "init", "--principal", "alice", "--key", key); status != 0 {
		t.Errorf("the next init: exit %d\n%s", status, b.err.String())
	}
}

func TestAnInterruptedInitIsResumedOnlyWhenAsked(t *testing.T) {
	for name, interrupt := range map[string]func(t *testing.T, root string){
		"after host": func(t *testing.T, root string) {
			remove(t, root, "conf/pin", "conf/policy.toml", "conf/allowed_signers", "conf/revoked_keys", "conf/key", "state/chain.db")
		},
		"before the chain": func(t *testing.T, root string) { remove(t, root, "conf/pin", "state/chain.db") },
		"before the pin":   func(t *testing.T, root string) { remove(t, root, "conf/pin") },
		"half an audit key": func(t *testing.T, root string) {
			remove(t, root, "conf/pin", "state/chain.db")
			write(t, filepath.Join(root, "conf/audit_key"), []byte("half"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, root, key := initBench(t)
			if status := b.runReal("--root", root, "init", "--principal", "alice", "--new-key", key, "--no-passphrase"); status != 0 {
				t.Fatalf("exit %d\n%s", status, b.err.String())
			}
			interrupt(t, root)
			args := []string{"--root", root, "--json", "init", "--principal", "alice", "--key", key}
			if status := b.runReal(args...); b.errorDoc().ErrCode != string(jobspec.CodeInitIncomplete) || status == 0 {
				t.Errorf("unasked: exit %d\n%s", status, b.err.String())
			}
			if status := b.runReal(append(args, "--resume")...); status != 0 {
				t.Errorf("resumed: exit %d\n%s", status, b.err.String())
			}
			if status := b.runReal(args...); status != 5 {
				t.Errorf("afterwards: exit %d, want 5", status)
			}
		})
	}
}

func remove(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, n := range names {
		if err := os.Remove(filepath.Join(root, n)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestResumeNeverTakesWhatWasInUse(t *testing.T) {
	b, root, key := initBench(t)
	b.runReal("--root", root, "init", "--principal", "alice", "--new-key", key, "--no-passphrase")
	remove(t, root, "conf/pin")
	other := key + "2"
	if _, err := keysource.Generate(other, "x", nil); err != nil {
		t.Fatal(err)
	}
	if status := b.runReal("--root", root, "--json", "init", "--principal", "alice", "--key", other, "--resume"); status == 0 || b.errorDoc().ErrCode != string(jobspec.CodeInitIncomplete) {
		t.Errorf("another key: exit %d", status)
	}
	if err := os.Mkdir(filepath.Join(root, "state", "ledger"), 0o700); err != nil {
		t.Fatal(err)
	}
	if status := b.runReal("--root", root, "--json", "init", "--principal", "alice", "--key", key, "--resume"); status != 12 || b.errorDoc().ErrCode != string(jobspec.CodePinMissing) {
		t.Errorf("in use: exit %d\n%s", status, b.err.String())
	}
}

func TestInitWritesOverNobodysFiles(t *testing.T) {
	b, root, key := initBench(t)
	conf := filepath.Join(root, "conf")
	if err := os.Mkdir(conf, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(conf, "policy.toml"), []byte("serial = 9\n"))
	if status := b.runReal("--root", root, "--json", "init", "--principal", "alice", "--new-key", key, "--no-passphrase"); status != 5 {
		t.Errorf("exit %d\n%s", status, b.err.String())
	}
	if got := read(t, filepath.Join(conf, "policy.toml")); string(got) != "serial = 9\n" {
		t.Errorf("policy.toml is now %q", got)
	}
}
