//go:build linux

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

// hostile is what a job tries against its own sandbox and the service.
type hostile struct {
	body    string
	outcome string // "" where it may end in several ways, but must end
	says    string // what its output must hold
	reason  string // the code in its record, where it has one
}

// time is how long it may take: no longer than it needs where it must be ended.
func (x hostile) time() string {
	if x.outcome == "timed_out" {
		return "2s"
	}
	return "15s"
}

// hostiles names each attempt by its row of the escape cases where it has one.
func hostiles() map[string]hostile {
	return map[string]hostile{
		"F29 ten thousand files":           {"seq -f f%g 10000 | xargs touch; echo made", "succeeded", "made", ""},
		"P08 stops the init":               {"[ $$ = 2 ] && kill -STOP 1; [ $$ = 2 ] && kill -STOP -1; echo alive", "", "", ""},
		"P10 kills the init":               {"kill -9 1; sleep 0.1; echo alive", "succeeded", "alive", ""},
		"P10 kills everything":             {"[ $$ = 2 ] && kill -9 -1; echo alive", "succeeded", "alive", ""},
		"Z06 floods both streams":          {"yes & yes >&2 & wait", "killed", "y\ny\n", "limit_output"},
		"Z07 leaves grandchildren":         {"(trap '' TERM HUP; setsid sleep 4242 &) ; (trap '' TERM HUP; setsid sleep 4242 >&- 2>&- &) ; echo left", "succeeded", "left", ""},
		"Z09 goes on writing after TERM":   {"trap 'echo late' TERM; while :; do sleep 0.05; done", "timed_out", "late", ""},
		"Z10 stops itself":                 {"echo stops; kill -STOP $$", "timed_out", "stops", ""},
		"Z17 forks without end":            {"b() { b | b & }; b; sleep 1; echo over", "", "", ""},
		"Z18 a huge argument":              {"a=0123456789; while [ ${#a} -lt 4000000 ]; do a=$a$a; done; /bin/echo $a >/dev/null && echo taken; echo over", "succeeded", "over", ""},
		"closes every stream":              {"exec <&- >&- 2>&-; sleep 0.2", "succeeded", "", ""},
		"opens files without end":          {"n=3; while eval \"exec $n</dev/null\"; do n=$((n+1)); done; echo unreachable", "failed", "", ""},
		"executes what is not there":       {"exec ./none", "failed", "", ""},
		"makes its own folder unreachable": {"chmod 000 .; echo shut", "", "", ""},
		"leaves links to secrets":          {"ln -s /etc/shadow .netrc; ln -s / root; ln -s /proc/self/fd fd", "denied", "", ""},
	}
}

func TestAHostileJobEndsAndHarmsNobodyElse(t *testing.T) {
	h := newHouse(t)
	for name, x := range hostiles() {
		h.must("add", jobName(name), "--schedule", "0 0 1 1 *", "--yes", "--tier", "workspace", "--cwd", h.script(jobName(name), x.body),
			"--limit", "timeout="+x.time(), "--limit", "grace=1s", "--limit", "pids=64", "--limit", "open_files=64", "--", "./job.sh")
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(h.work, "makes-its-own-folder-unreachable"), 0o755) })
	h.add("bystander", h.script("bystander", "echo fine"), "workspace", "./job.sh")
	s := h.start()
	for name, x := range hostiles() {
		t.Run(name, func(t *testing.T) {
			at := *h
			at.t = t
			begin := time.Now()
			at.run("run", jobName(name), "--wait")
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			at.judge(jobName(name), x)
			if r := at.run("run", "bystander", "--wait"); r.code != 0 {
				t.Fatalf("another job: exit %d\n%s%s\n%s", r.code, r.out, r.err, s.log)
			}
		})
	}
	if left := living("4242"); len(left) > 0 {
		t.Errorf("processes of a job are left: %v", left)
	}
	if n := zombies(t, s.cmd.Process.Pid); n > 0 {
		t.Errorf("the service has %d children that it did not wait for", n)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("the service ended with %d: %s", code, s.log)
	}
	h.must("audit", "verify")
}

// judge looks at the record of the one run of a job.
func (h *house) judge(job string, x hostile) {
	h.t.Helper()
	runs := items[api.Run](h, "history", job)
	if len(runs) != 1 || runs[0].EndedAt == nil || x.outcome != "" && runs[0].Outcome != x.outcome {
		h.t.Fatalf("history, want one run that %s: %+v", x.outcome, runs)
	}
	if x.reason != "" && (len(runs[0].Reasons) == 0 || string(runs[0].Reasons[0].Code) != x.reason) {
		h.t.Errorf("reasons, want %s: %+v", x.reason, runs[0].Reasons)
	}
	out := h.must("logs", runs[0].Run, "--stream", "out")
	if !strings.Contains(out, x.says) {
		h.t.Errorf("output %.200q lacks %q", out, x.says)
	}
	if len(out) > 2<<20 {
		h.t.Errorf("%d bytes were kept", len(out))
	}
}

// jobName makes a name of a job out of that of a case.
func jobName(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "-")) }

// living lists the processes that were started with word as an argument.
func living(word string) []string {
	var found []string
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	for _, name := range all {
		b, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(b), "\x00"+word+"\x00") {
			found = append(found, name)
		}
	}
	return found
}

// zombies counts the ended children of a process that it does not wait for: a
// child may just have ended, so it looks for a while.
func zombies(t *testing.T, pid int) int {
	t.Helper()
	n := 0
	for range 20 {
		if n = zombiesNow(pid); n == 0 {
			return 0
		}
		time.Sleep(100 * time.Millisecond)
	}
	return n
}

func zombiesNow(pid int) int {
	n := 0
	all, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, name := range all {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[0] == "Z" && f[1] == strconv.Itoa(pid) {
			n++
		}
	}
	return n
}

// A job that leaves a protected name behind is held: nobody may take the name
// for the owner's before somebody has looked.
func TestAJobThatPlantsAHookIsHeldUntilSomebodyLooks(t *testing.T) {
	h := newHouse(t)
	dir := h.script("ws", "mkdir -p .git/hooks; echo 'id > /tmp/pwned' > .git/hooks/post-checkout")
	h.add("plants", dir, "workspace", "./job.sh")
	h.start()
	h.run("run", "plants", "--wait")
	if e := h.failure("run", "plants", "--wait"); e.ErrCode != jobspec.CodeJobHeld {
		t.Errorf("the second run: %s, want %s", e.ErrCode, jobspec.CodeJobHeld)
	}
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	h.must("release", "plants")
	runs := items[api.Run](h, "history", "plants", "--outcome", "denied")
	if len(runs) != 1 || len(runs[0].Denials) != 1 || runs[0].Denials[0].Code != jobspec.CodeFsProtectedCreated {
		t.Errorf("history: %+v", runs)
	}
}

// Runs belong to whoever signed what ran: a name that was removed and added
// anew by another principal gives neither access to the other's runs.
func TestANameThatChangedHandsGivesNoAccessToOldRuns(t *testing.T) {
	h := shared(t)
	bob := signingtest.NewKey(t, "bob", append([]string{jobspec.ManageNamespace}, jobspec.JobNamespaces()...)...)
	h.trustAlso(bob)
	part := func(user string) map[string]any {
		return map[string]any{"max_tier": "workspace", "run_as": []any{jobUser}, "users": []any{user}}
	}
	h.policyFile(map[string]any{"serial": 2, "enabled_platforms": []any{"linux"},
		"principals": map[string]any{"alice": part(jobsUser), "bob": part(outsider)}})
	before := h.last("job").Run
	h.must("remove", "job", "--yes")
	h.must("add", "job", "--yes", "--schedule", never, "--tier", "scratch", "--key", keyFile(t, bob), "--", "/bin/true")
	h.must("run", "job", "--wait")
	after := h.last("job").Run
	for _, c := range []struct {
		who, run string
		may      bool
	}{{jobsUser, before, true}, {jobsUser, after, false}, {outsider, before, false}, {outsider, after, true}} {
		for _, path := range []string{"/v1/runs/" + c.run, "/v1/runs/" + c.run + "/output/out"} {
			status, text := h.askAs(uidOf(t, c.who), "GET", path, "")
			if (status == http.StatusOK) != c.may {
				t.Errorf("%s (may: %t): GET %s answered %d %.200s", c.who, c.may, path, status, text)
			}
		}
		_, rows := h.askAs(uidOf(t, c.who), "GET", "/v1/history?job=job", "")
		if strings.Contains(rows, c.run) != c.may {
			t.Errorf("%s (may: %t): history of %s says %.200s", c.who, c.may, c.run, rows)
		}
	}
}

// The files of a job are handed to bwrap by number. However many they are, none
// of them is executed outside of the sandbox, where it could reach the canary.
func TestAJobWithManyFilesStaysInItsSandbox(t *testing.T) {
	h := newHouse(t)
	dir, canary := h.script("ws", "echo fine"), filepath.Join(h.mkdir("outside"), "canary")
	args := []string{"add", "many", "--schedule", never, "--yes", "--tier", "read-only", "--cwd", dir}
	for i := range 420 {
		args = append(args, "--read", h.put(filepath.Join(dir, "f"+strconv.Itoa(i)), "#!/bin/sh\nid > "+canary+"\n", 0o755))
	}
	h.must(append(args, "--", "./job.sh")...)
	h.add("first", dir, "read-only", "./job.sh")
	s := h.start()
	h.must("run", "first", "--wait") // the service has opened bwrap by now
	if r := h.run("run", "many", "--wait"); r.code != 0 {
		t.Errorf("run: exit %d\n%s%s\n%s", r.code, r.out, r.err, s.log)
	}
	if b, err := os.ReadFile(canary); !os.IsNotExist(err) {
		t.Errorf("a file of the job ran outside: %q, %v", b, err)
	}
}
