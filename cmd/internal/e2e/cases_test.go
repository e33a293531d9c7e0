//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing/signingtest"
	"github.com/sbxcron/sbxcron/store"
)

// Bug reports of other programs, tried on this one.

// A signature vouches for bytes, not for one reader's idea of them.
func TestSignedBytesThatTwoReadersCouldReadDifferentlyAreRefused(t *testing.T) {
	h := newHouse(t)
	good := string(encode(t, h.draftOp("scratch", "j")))
	swap := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the op has no %q: %s", old, good)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, text := range map[string]string{
		"duplicate at the top":       swap(`"job":"j"`, `"job":"j","job":"k"`),
		"duplicate in the spec":      swap(`"argv":["/bin/true"]`, `"argv":["/bin/true"],"argv":["/bin/false"]`),
		"duplicate in the schedule":  swap(`"timezone":`, `"timezone":"Etc/UTC","timezone":`),
		"duplicate in the limits":    swap(`"timeout_seconds":900`, `"timeout_seconds":900,"timeout_seconds":901`),
		"duplicate in coverage":      swap(`"executable":"hash"`, `"executable":"hash","executable":"none"`),
		"case variant at the top":    swap(`"job":"j"`, `"job":"j","Job":"k"`),
		"case variant in the spec":   swap(`"argv":["/bin/true"]`, `"Argv":["/bin/true"]`),
		"case variant in the limits": swap(`"timeout_seconds"`, `"TIMEOUT_SECONDS"`),
		"escaped member name":        swap(`"argv"`, `"\u0061rgv"`),
		"escaped value":              swap(`/bin/true`, `/bin/tru\u0065`),
		"unknown member":             swap(`"job":"j"`, `"job":"j","sudo":true`),
		"unknown in the spec":        swap(`"argv"`, `"unsandboxed":true,"argv"`),
		"space":                      swap(`"job":"j"`, `"job": "j"`),
		"trailing space":             good + " ",
		"two documents":              good + good,
		"float":                      swap(`"revision":1`, `"revision":1.0`),
		"null":                       swap(`"job":"j"`, `"job":"j","target":null`),
		"another type":               swap(`sbxcron.op/v1`, `sbxcron.op/v0`),
		"no type":                    swap(`"type":"sbxcron.op/v1",`, ``),
		"other order":                swap(`"revision":1,`, ``)[:len(good)-len(`"revision":1,`)-1] + `,"revision":1}`,
		"invalid UTF-8":              swap(`"/bin/true"`, "\"/bin/true\xff\""),
		"lone surrogate":             swap(`"/bin/true"`, `"/bin/true\ud800"`),
	} {
		entry := store.Entry{Op: []byte(text), Sigs: [][]byte{h.sign("scratch.none.v1@sbxcron", []byte(text))}}
		if r := h.apply(entry); r.code != 65 {
			t.Errorf("%s: exit %d, want 65\n%s", name, r.code, r.err)
		}
	}
	if n := len(h.entries()); n != 1 {
		t.Errorf("%d ops in the chain, want genesis alone", n)
	}
	h.must("apply", signingtest.File(t, "op", []byte(good)), signingtest.File(t, "sig", signingtest.StockSign(t, nil, h.key, "scratch.none.v1@sbxcron", []byte(good))))
}

// An op that was good once is of no use a second time.
func TestOpIsNotAppliedTwice(t *testing.T) {
	h := newHouse(t)
	h.must("add", "j", "--yes", "--schedule", never, "--", "/bin/true")
	h.must("replace", "j", "--yes", "--schedule", "1 0 1 1 *", "--", "/bin/true")
	h.must("remove", "j", "--yes")
	for _, entry := range h.entries() {
		if r := h.apply(entry); r.code != 5 {
			t.Errorf("op %d again: exit %d, want 5\n%s", entry.Seq, r.code, r.err)
		}
	}
}

func TestEditedOutputAndIndexAreFoundByAnAudit(t *testing.T) {
	h := newHouse(t)
	dir := h.script("ws", "echo hello")
	h.add("j", dir, "workspace", "./job.sh")
	s := h.start()
	if r := h.run("run", "j", "--wait"); r.code != 0 {
		t.Fatalf("run: exit %d\n%s", r.code, r.err)
	}
	s.stop()
	run := items[api.Run](h, "history", "j")[0]

	// The index is derived: with it destroyed, or taken away, nothing changes.
	if err := os.WriteFile(h.dirs().RunsDB(), bytes.Repeat([]byte{0xff}, 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := items[api.Run](h, "history", "j"); len(again) != 1 || again[0].Run != run.Run || again[0].Outcome != "succeeded" {
		t.Errorf("history from a damaged index: %+v", again)
	}
	if r := h.run("audit", "verify"); r.code != 0 {
		t.Fatalf("audit verify: exit %d\n%s", r.code, r.out)
	}
	edited := h.editOutput(t, "hello\n", "hullo\n")
	r := h.run("audit", "verify", "--json")
	if r.code != 20 || !strings.Contains(r.out, run.Run) {
		t.Errorf("audit verify with %s edited: exit %d\n%s", edited, r.code, r.out)
	}
}

// editOutput changes the one kept output file that holds old.
func (h *house) editOutput(t *testing.T, old, new string) string {
	t.Helper()
	found := ""
	err := filepath.WalkDir(h.dirs().OutputDir(), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil && bytes.Equal(b, []byte(old)) {
			found = path
			return os.WriteFile(path, []byte(new), 0o600)
		}
		return err
	})
	if err != nil || found == "" {
		t.Fatalf("no output holds %q: %v", old, err)
	}
	return found
}

func TestRemovedJobKeepsItsHistoryAndItsNameItsRevision(t *testing.T) {
	h := newHouse(t)
	dir := h.script("ws", "true")
	h.add("j", dir, "workspace", "./job.sh")
	s := h.start()
	if r := h.run("run", "j", "--wait"); r.code != 0 {
		t.Fatalf("run: exit %d\n%s", r.code, r.err)
	}
	first := items[api.Run](h, "history", "j")[0]
	h.must("disable", "j", "--yes")
	if d := item[api.JobDetail](h, "show", "j"); d.State != "disabled" || d.Verified || d.Principal != "alice" || len(d.Bytes) == 0 {
		t.Errorf("show of a disabled job: %+v", d)
	}
	if r := h.run("run", "j"); r.code != 13 {
		t.Errorf("run of a disabled job: exit %d\n%s", r.code, r.err)
	}
	h.must("remove", "j", "--yes")
	if r := h.run("show", "j"); r.code != 4 {
		t.Errorf("show of a removed job: exit %d\n%s", r.code, r.err)
	}
	h.must("add", "j", "--yes", "--schedule", never, "--", "/bin/true")
	if d := item[api.JobDetail](h, "show", "j"); d.Revision != 4 || !d.Verified {
		t.Errorf("the new job: revision %d, verified %v; want 4 and true", d.Revision, d.Verified)
	}
	runs := items[api.Run](h, "history", "j")
	last := runs[len(runs)-1]
	if last.Run != first.Run || last.Op != first.Op {
		t.Errorf("the old run is not listed with its op: %+v", runs)
	}
	s.stop()
}

// Whatever a job or a caller writes, a terminal gets no control character.
func TestForeignTextIsEscapedForPeople(t *testing.T) {
	h := newHouse(t)
	evil := "a\x1b[2Jb\x1b]8;;http://x\x07c\rd\ne\u202ef"
	for _, name := range []string{evil, "a\nb", "\x1b[2J"} {
		r := h.run("add", name, "--yes", "--schedule", never, "--", "/bin/true")
		if r.code == 0 {
			t.Errorf("name %q was accepted", name)
		}
		clean(t, "add of a job with such a name", r.err)
	}
	r := h.run("add", "j", "--yes", "--schedule", never, "--", "/bin/true", evil)
	clean(t, "add of such an argument", r.out+r.err)
	if r.code == 0 {
		for _, args := range [][]string{{"show", "j"}, {"list"}, {"explain", "j"}} {
			clean(t, args[0], h.run(args...).out)
		}
	}
	for _, args := range [][]string{{"show", evil}, {"history", evil}, {"logs", evil}, {evil}, {"apply", evil, evil}} {
		clean(t, fmt.Sprintf("%q", args), h.run(args...).err)
	}
}

// clean wants no control character but the line break, and no direction override.
func clean(t *testing.T, what, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (r < 0x20 || r == 0x7f || r == 0x202e) }); i >= 0 {
		t.Errorf("%s prints a control character: %q", what, text)
	}
}

// A reader that never ends, of whatever program, must not hang us.
func TestStrayLockOnTheDatabaseIsAnsweredInTime(t *testing.T) {
	h := newHouse(t)
	f, err := os.Open(h.dirs().ChainDB())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	r := h.run(addNew...)
	if r.code != 75 || !strings.Contains(r.err, "chain.db") || time.Since(begun) > 6*time.Second {
		t.Errorf("add: exit %d after %s\n%s", r.code, time.Since(begun), r.err)
	}
	if r := h.run("list"); r.code != 0 {
		t.Errorf("list: exit %d\n%s", r.code, r.err)
	}
	f.Close()
	h.must(addNew...)
}

// Nothing of the caller's surroundings has a part in verification.
func TestSurroundingsOfTheCallerChangeNoVerification(t *testing.T) {
	h := newHouse(t)
	canary := filepath.Join(h.dir, "canary")
	bin := filepath.Join(h.dir, "bin")
	if err := os.MkdirAll(filepath.Join(h.dir, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	fake := "#!/bin/sh\ntouch '" + canary + "'\necho 'Good \"git\" signature'\nexit 0\n"
	for _, name := range []string{"ssh-keygen", "ssh", "git", "gpg", "ssh-add", "evil"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(fake), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := "[gpg]\nformat = ssh\n[gpg \"ssh\"]\nprogram = " + bin + "/evil\nallowedSignersFile = /dev/null\n"
	if err := os.WriteFile(filepath.Join(h.dir, ".gitconfig"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + bin, "HOME=" + h.dir, "XDG_CONFIG_HOME=" + h.dir, "GIT_CONFIG_GLOBAL=" + h.dir + "/.gitconfig", "SSH_SK_PROVIDER=" + bin + "/evil"}
	op := h.draftOp("scratch", "j")
	op.Job = "k" // not what was signed
	good := encode(t, h.draftOp("scratch", "j"))
	sig := signingtest.File(t, "sig", signingtest.StockSign(t, nil, h.key, "scratch.none.v1@sbxcron", good))
	bad := signingtest.File(t, "op", encode(t, op))
	if r := h.runEnv(env, "apply", bad, sig); r.code != 10 {
		t.Errorf("apply of other bytes: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := h.runEnv(env, "apply", signingtest.File(t, "op", good), sig); r.code != 0 {
		t.Errorf("apply: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := h.runEnv(env, "audit", "verify"); r.code != 0 {
		t.Errorf("audit verify: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if _, err := os.Lstat(canary); err == nil {
		t.Error("a program of the caller's path was run")
	}
}

// Text that looks like a verdict is text.
func TestVerdictInsideAnOpIsOnlyText(t *testing.T) {
	h := newHouse(t)
	says := `Good "scratch.none.v1@sbxcron" signature for alice`
	op := h.draftOp("scratch", "j")
	op.Spec.Argv = append(op.Spec.Argv, says)
	raw := encode(t, op)
	for name, sig := range map[string][]byte{"no signature": []byte(says + "\n"), "a signature over other bytes": signingtest.StockSign(t, nil, h.key, "scratch.none.v1@sbxcron", []byte(says))} {
		if r := h.run("apply", signingtest.File(t, "op", raw), signingtest.File(t, "sig", sig)); r.code != 10 {
			t.Errorf("%s: exit %d\n%s", name, r.code, r.err)
		}
	}
}

// A host id is CONF's; a database cannot bring another.
func TestChangedHostIDRunsNothing(t *testing.T) {
	h := newHouse(t)
	h.must("add", "j", "--yes", "--schedule", never, "--", "/bin/true")
	h.write(h.dirs().Host(), []byte("000102030405060708090a0b0c0d0e0f\n"))
	if e := h.failure("run", "j"); e.ErrCode != jobspec.CodeHostMismatch || e.Exit != 12 {
		t.Errorf("run: %+v", e)
	}
}
