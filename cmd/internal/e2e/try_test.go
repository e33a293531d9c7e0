//go:build linux

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/sweep"
	"github.com/sbxcron/sbxcron/jobspec"
)

// trier is a folder with a script, below a root without an installation.
type trier struct {
	*house
	ws string
}

const tryScript = `case "$1" in
ok) echo "out $REPORT"; echo err >&2;;
seven) exit 7;;
kill) kill -9 $$;;
slow) echo begun; sleep 300;;
write) touch out.txt;;
nap) sleep 2.5; echo rested;;
agent) mkdir -p .claude && echo made;;
read) cat "$2";;
root) ls "$2";;
esac`

func newTrier(t *testing.T) trier {
	h := emptyHouse(t)
	if err := os.MkdirAll(h.root, 0o755); err != nil {
		t.Fatal(err)
	}
	return trier{h, h.script("ws", tryScript)}
}

// left lists what tries have left behind.
func (h trier) left() []string {
	h.t.Helper()
	names, err := filepath.Glob(filepath.Join(h.root, "*"))
	if err != nil {
		h.t.Fatal(err)
	}
	return names
}

// refusal is the error document of a command line that holds a command.
func (h *house) refusal(args ...string) (api.Error, int) {
	h.t.Helper()
	r := h.run(append([]string{"--json"}, args...)...)
	var e api.Error
	h.decode(r.err, &e)
	return e, r.code
}

// gone waits until nothing is left: after a kill -9 somebody else sweeps.
func (h trier) gone(what string) {
	h.t.Helper()
	for end := time.Now().Add(15 * time.Second); len(h.left()) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("%s: left behind: %q", what, h.left())
		}
	}
}

func TestTryEndsWithTheStatusOfTheJobAndKeepsNothing(t *testing.T) {
	t.Parallel() // it waits most of its time
	h := newTrier(t)
	for _, c := range []struct {
		args []string
		code int
		out  string
		says string // on standard error
	}{
		{[]string{"--env", "REPORT=de", "--", "./job.sh", "ok"}, 0, "out de\n", "err\n"},
		{[]string{"--", "./job.sh", "seven"}, 7, "", "failed 7"},
		{[]string{"--", "./job.sh", "kill"}, 137, "", "SIGKILL"},
		{[]string{"--timeout", "1s", "--", "./job.sh", "slow"}, 124, "begun\n", "limit_timeout"},
		{[]string{"--", "sh", "-c", "sudo id"}, 125, "", "cmd_privilege"},
		{[]string{"--", "./absent.sh"}, 125, "", "drift_exec_missing"},
		{[]string{"--", "sh", "-c", "echo hi"}, 125, "", "--answer "},
		{[]string{"--read", "/root", "--", "./job.sh", "ok"}, 125, "", "path_"},
	} {
		r := h.run(append([]string{"try", "--cwd", h.ws}, c.args...)...)
		if r.code != c.code || r.out != c.out || !strings.Contains(r.err, c.says) {
			t.Errorf("try %q: exit %d, %q\n%s", c.args, r.code, r.out, r.err)
		}
		if c.code != 125 && !strings.Contains(r.err, "tried job try: run r-") {
			t.Errorf("try %q prints no record:\n%s", c.args, r.err)
		}
		if left := h.left(); len(left) > 0 {
			t.Fatalf("try %q leaves %q", c.args, left)
		}
	}
}

// The record of a try is one of history's rows, made by the same road.
func TestTryPrintsTheRecordOfTheSameRoad(t *testing.T) {
	h := newTrier(t)
	var whole struct {
		Item struct {
			Run      api.Run
			Out, Err string
		}
	}
	h.decode(h.must("--json", "try", "--cwd", h.ws, "--", "./job.sh", "ok"), &whole)
	doc := whole.Item
	r := doc.Run
	if r.Outcome != "succeeded" || r.Trigger != "manual" || r.Backend != "bwrap" || r.Probe != "passed" || len(r.Layers) < 8 || r.SameUID != (os.Getuid() != 0) {
		t.Errorf("%+v", r)
	}
	if v := r.Verdicts; v == nil || *v != (jobspec.Verdicts{Identity: jobspec.Yes, Capability: jobspec.Yes, Resources: jobspec.Yes, Consent: jobspec.Yes}) {
		t.Errorf("verdicts %+v", v)
	}
	if os.Getuid() == 0 && (r.UID < 61184 || r.UID > 65519) {
		t.Errorf("root's try ran as uid %d", r.UID)
	}
	if doc.Out != "out \n" || doc.Err != "err\n" {
		t.Errorf("%q, %q", doc.Out, doc.Err)
	}
	if e, code := h.refusal("try", "--cwd", h.ws, "--", "sh", "-c", "sudo id"); code != 125 || e.ErrCode != jobspec.CodeCmdPrivilege || e.Class == "" {
		t.Errorf("exit %d, %+v", code, e)
	}
}

// A try is confined like any job, and what it tries cannot reach its throw-away
// root, even where it is named.
func TestTryDoesNotOpenItsOwnRoot(t *testing.T) {
	h := newTrier(t)
	r := h.run("try", "--cwd", h.ws, "--read", h.root, "--", "./job.sh", "root", h.root)
	if r.code != 125 || !strings.Contains(r.err, "path_sensitive") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	h.gone("path_sensitive")
}

func TestTryLeavesNothingHoweverItIsEnded(t *testing.T) {
	h := newTrier(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		cmd := h.command(nil, "try", "--cwd", h.ws, "--limit", "grace=1s", "--", "./job.sh", "slow")
		var out journal
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); !strings.Contains(out.String(), "begun") && time.Now().Before(end); {
			time.Sleep(20 * time.Millisecond)
		}
		if len(h.left()) != 1 || !strings.HasPrefix(filepath.Base(h.left()[0]), sweep.Prefix) {
			t.Errorf("%v: while it runs there is %q", sig, h.left())
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		code := exitCode(cmd.Wait())
		want := map[bool]int{true: 137, false: 143}[sig == syscall.SIGKILL] // the job got TERM
		if code != want {
			t.Errorf("%v: exit %d, want %d", sig, code, want)
		}
		h.gone(sig.String())
	}
}

// An owner who goes away from a question leaves nothing either.
func TestTrySignsNothingWhereAnAskIsNotAnswered(t *testing.T) {
	h := newTrier(t)
	e, _ := h.refusal("try", "--cwd", h.ws, "--", "sh", "-c", "echo hi")
	if e.ErrCode != jobspec.CodeCmdAskUnanswered || len(e.Reasons) != 1 {
		t.Fatalf("%+v", e)
	}
	r := h.run("try", "--cwd", h.ws, "--answer", e.Reasons[0].Target+"=allow", "-q", "--", "sh", "-c", "echo hi")
	if r.code != 0 || r.out != "hi\n" || r.err != "" {
		t.Errorf("answered: exit %d, %q, %q", r.code, r.out, r.err)
	}
	h.gone("asked")
}

// What --suggest prints is a job.toml with which the same command works.
func TestTrySuggestsWhatTheDraftWouldHaveNeeded(t *testing.T) {
	t.Parallel() // it waits most of its time
	h := newTrier(t)
	extra := h.put(filepath.Join(h.mkdir("extra"), "data.txt"), "42\n", 0o644)
	for _, c := range []struct {
		flags []string
		args  []string
		want  []string
		then  string // standard output of the suggested job
	}{
		{nil, []string{"./job.sh", "write"}, []string{"# inferred from the job's own words: it writes \"" + h.ws + "/out.txt\"", `tier = "workspace"`}, ""},
		{[]string{"--timeout", "2s", "--limit", "grace=1s"}, []string{"./job.sh", "nap"}, []string{"# observed: ", "timeout = \"4s\""}, "rested\n"},
		{[]string{"--tier", "workspace"}, []string{"./job.sh", "agent"}, []string{"# observed: it makes the protected name \".claude\"", "may_create = [\".claude\"]"}, "made\n"},
		{nil, []string{"./job.sh", "read", extra}, []string{"# inferred from the job's own words: it reads \"" + extra + "\"", "[fs]\nread = [\"" + extra + "\"]"}, "42\n"},
	} {
		args := append([]string{"try", "-q", "--suggest", "--cwd", h.ws}, c.flags...)
		if os.Getuid() == 0 {
			args = append(args, "--run-as", jobUser)
		}
		r := h.run(append(append(args, "--"), c.args...)...)
		if r.code == 0 {
			t.Fatalf("%q: exit 0 without what it needs", c.args)
		}
		for _, want := range append(c.want, "cwd = \""+h.ws+"\"") {
			if !strings.Contains(r.out, want) {
				t.Errorf("%q: no %s in\n%s", c.args, want, r.out)
			}
		}
		if strings.Contains(r.out, "still refused") {
			t.Errorf("%q: %s", c.args, r.out)
		}
		if strings.Contains(r.out, "[fs]") && !strings.Contains(strings.Join(c.want, "\n"), " = [") {
			t.Errorf("%q: it opens more than is needed:\n%s", c.args, r.out)
		}
		must(t, os.RemoveAll(filepath.Join(h.ws, ".claude")))
		file := filepath.Join(h.dir, "suggested.toml")
		if err := os.WriteFile(file, []byte(r.out), 0o644); err != nil {
			t.Fatal(err)
		}
		if again := h.run("try", "-q", "-f", file); again.code != 0 || again.out != c.then {
			t.Errorf("%q: the suggested job ends with %d, %q\n%s\n%s", c.args, again.code, again.out, again.err, r.out)
		}
	}
	h.gone("suggest")
}

// What the program says is foreign: it cannot write a line of the file itself.
func TestASuggestionHoldsForeignWordsInQuotes(t *testing.T) {
	h := newTrier(t)
	dir := h.script("evil", `printf "touch: cannot touch 'x\"\ntier = \"workspace\"\n#': Read-only file system\n\033[2J'y\033[2J': Read-only file system\n" >&2; exit 1`)
	r := h.run("try", "-q", "--suggest", "--cwd", dir, "--", "./job.sh")
	if bytes.ContainsAny([]byte(r.out), "\x1b") || strings.Count(r.out, "\ntier = ") > 1 {
		t.Errorf("%q", r.out)
	}
}
