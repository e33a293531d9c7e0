//go:build linux

package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
)

// offer adds a job that runs by hand only, with further flags.
func (h *house) offer(name string, flags []string, argv ...string) {
	h.t.Helper()
	args := append([]string{"add", name, "--schedule", "0 0 1 1 *", "--yes"}, flags...)
	h.must(append(append(args, "--"), argv...)...)
}

// last is the newest row of a job.
func (h *house) last(job string) api.Run {
	h.t.Helper()
	rows := items[api.Run](h, "history", job, "--limit", "1")
	if len(rows) != 1 {
		h.t.Fatalf("job %s has no row", job)
	}
	return rows[0]
}

// said runs a job to its good end and returns what it wrote.
func (h *house) said(job string) string {
	h.t.Helper()
	h.must("run", job, "--wait")
	return h.must("logs", h.last(job).Run, "--stream", "out")
}

func TestAJobSeesWhatIsDeclaredAndNothingElse(t *testing.T) {
	h := newHouse(t)
	h.offer("files", nil, "/bin/ls", "/proc/self/fd")
	h.offer("env", []string{"--env", "REPORT_LANG=de", "--timezone", "Europe/Berlin"}, "/usr/bin/env")
	h.offer("root", nil, "/bin/ls", "-A", "/", "/home")
	h.offer("stdin", nil, "/bin/cat")
	h.offer("uid", nil, "/usr/bin/id", "-u")
	h.env = []string{"SECRET=of-the-service"}
	h.start()
	if got := h.said("files"); got != "0\n1\n2\n3\n" { // 3 is the folder that ls reads
		t.Errorf("open files: %q", got)
	}
	got := strings.Fields(h.said("env"))
	slices.Sort(got)
	name := ownName()
	want := []string{"HOME=/home/job", "LANG=C.UTF-8", "LOGNAME=" + name, "PATH=" + runner.BasePath, "REPORT_LANG=de", "SBXCRON_JOB=env",
		"SBXCRON_RUN=" + h.last("env").Run, "SHELL=/bin/sh", "TMPDIR=/tmp", "TZ=Europe/Berlin", "USER=" + name}
	for _, v := range runner.PromptEnv() {
		want = append(want, v.Name+"="+v.Value)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("environment\n%q, want\n%q", got, want)
	}
	listed := []string{"/:", "/home:", "job", ".sbxcron", "bin", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "scratch", "tmp", "usr"}
	for _, name := range strings.Fields(h.said("root")) {
		if !slices.Contains(listed, name) {
			t.Errorf("%q lies in / or /home", name)
		}
	}
	if got := h.said("stdin"); got != "" {
		t.Errorf("standard input holds %q", got)
	}
	if got := h.said("uid"); got == "0\n" {
		t.Error("the job is root inside")
	}
}

// ownName is the name that jobs of the house have: that of their account, or one
// that stands for it where there is only the service's.
func ownName() string {
	if os.Getuid() == 0 {
		return jobUser
	}
	return "job"
}

// The kernel's own view of who a job is: from inside, a map of uids could tell
// anything.
func TestTheKernelSeesTheDeclaredUidAndNeverRoot(t *testing.T) {
	h := newHouse(t)
	word := fmt.Sprintf("300.%d2", os.Getpid())
	h.offer("job", nil, "/bin/sleep", word)
	h.start()
	h.must("run", "job")
	want := fmt.Sprint(os.Getuid())
	if os.Getuid() == 0 {
		want = fmt.Sprint(h.last("job").UID)
	}
	found := processes(t, word)
	if len(found) == 0 {
		t.Fatal("the job is not among the processes of the machine")
	}
	for _, dir := range found {
		for name, ids := range status(t, dir) {
			if strings.Contains(" "+ids+" ", " 0 ") || name == "Uid" && ids != strings.Join([]string{want, want, want, want}, " ") {
				t.Errorf("%s: %s is %q, want %s", dir, name, ids, want)
			}
		}
	}
}

// processes are the folders below /proc of those with word as an argument. The
// service is none of them: what jobs are stands on no command line.
func processes(t *testing.T, word string) []string {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range list {
		if b, err := os.ReadFile(name); err == nil && bytes.Contains(b, []byte(word)) {
			found = append(found, filepath.Dir(name))
		}
	}
	return found
}

// status reads the ids of a process, proc(5).
func status(t *testing.T, dir string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if name, rest, ok := strings.Cut(line, ":"); ok && (name == "Uid" || name == "Gid") {
			ids[name] = strings.Join(strings.Fields(rest), " ")
		}
	}
	return ids
}

func TestAProcessThatLeftItsParentsIsGone(t *testing.T) {
	h := newHouse(t)
	word := fmt.Sprintf("300.%d1", os.Getpid())
	dir := h.script("ws", "(trap '' TERM HUP; setsid sleep "+word+" >/dev/null 2>&1 </dev/null &)\necho up > up")
	h.add("job", dir, "workspace", "./job.sh")
	h.start()
	h.must("run", "job", "--wait")
	if _, err := os.Stat(filepath.Join(dir, "up")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range processes(t, word) {
		t.Errorf("%s is left", dir)
	}
}

func TestALineOfTenMegabytesIsHashedAndKeptAtBothEnds(t *testing.T) {
	h := newHouse(t)
	const size = 10 << 20
	dir := h.script("ws", fmt.Sprintf("printf head; head -c %d /dev/zero | tr '\\0' x; printf tail; echo done >&2", size))
	h.offer("long", []string{"--cwd", dir, "--tier", "read-only", "--limit", "output=64KiB"}, "./job.sh")
	h.start()
	kept := h.said("long")
	if !strings.HasPrefix(kept, "headxxx") || !strings.HasSuffix(kept, "xxxtail") {
		t.Errorf("kept %d bytes, %.10q to %q", len(kept), kept, kept[max(0, len(kept)-10):])
	}
	all := sha256.Sum256([]byte("head" + strings.Repeat("x", size) + "tail"))
	for _, o := range h.last("long").Outputs {
		if o.Stream == "err" {
			continue
		}
		if o.SHA256 != jobspec.Digest(all) || o.Bytes != size+8 || !o.Truncated || o.KeptBytes != int64(len(kept)) || o.KeptBytes > 66<<10 || o.KeptSHA256 != jobspec.Digest(sha256.Sum256([]byte(kept))) {
			t.Errorf("record of the stream: %+v", o)
		}
	}
	if got := h.must("logs", h.last("long").Run, "--stream", "err"); got != "done\n" {
		t.Errorf("the other stream: %q", got)
	}
}

func TestAScriptFindsItsNeighbourAsOutside(t *testing.T) {
	h := newHouse(t)
	dir := h.script("ws", `. "$(dirname "$0")/lib.sh"; greet "$(basename "$0")" "$(pwd)"`)
	h.put(filepath.Join(dir, "lib.sh"), "greet() { echo \"hello from $1 in $2\"; }\n", 0o644)
	h.add("job", dir, "read-only", "./job.sh")
	h.add("whole", dir, "read-only", filepath.Join(dir, "job.sh"))
	h.start()
	for job, typed := range map[string]string{"job": "./job.sh", "whole": filepath.Join(dir, "job.sh")} {
		cmd := exec.Command(typed)
		cmd.Dir = dir
		outside, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if inside := h.said(job); inside != string(outside) {
			t.Errorf("%s: inside %q, outside %q", typed, inside, outside)
		}
	}
}
