//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

// TestAnAccountThatMeansAnotherUserDoesNotRun gives every program of a house its
// own passwd file, which changes after the approval.
func TestAnAccountThatMeansAnotherUserDoesNotRun(t *testing.T) {
	h := newHouse(t)
	h.ownMounts()
	passwd, err := os.ReadFile("/etc/passwd")
	must(t, err)
	file := filepath.Join(h.dir, "passwd")
	write := func(text string) { must(t, os.WriteFile(file, []byte(text), 0o644)) }
	write(string(passwd))
	h.bind(file, "/etc/passwd")
	dir := h.script("ws", "echo -n x >>"+mark)
	h.add("job", dir, "workspace", "./job.sh")
	h.start()
	h.allowed("job")
	line := jobUser + ":x:65534:65534:"
	other := strings.Replace(string(passwd), line, jobUser+":x:64999:64999:", 1)
	if other == string(passwd) {
		t.Skipf("needs an account %q with uid %d", jobUser, jobUID)
	}
	write(other)
	h.refused("job", jobspec.CodeDriftUser)
	write(strings.Replace(string(passwd), line, jobUser+":x:65534:64999:", 1))
	h.refused("job", jobspec.CodeDriftUser)
	if n := ran(t, dir); n != 0 {
		t.Errorf("the payload ran")
	}
	write(string(passwd))
	h.allowed("job")
}

// TestTheEnvironmentOfTheServiceReachesNoJob: what is set around the service
// differs from start to start, and nothing of it is part of an approval.
func TestTheEnvironmentOfTheServiceReachesNoJob(t *testing.T) {
	h := newHouse(t)
	dir := h.script("ws", "env | sort | grep -v ^SBXCRON_RUN=")
	h.must("add", "env", "--schedule", never, "--yes", "--tier", "workspace", "--cwd", dir, "--env", "MODE=full", "--", "./job.sh")
	var seen []string
	for _, around := range [][]string{nil, {"MODE=other", "FOO=bar", "PYTHONPATH=/tmp", "ENV=/tmp/x", "PATH=/tmp:/usr/bin:/bin", "TZ=Asia/Tokyo", "LANG=de_DE"}} {
		s := h.start(around...)
		seen = append(seen, h.text(h.row("env", "succeeded", "")))
		s.stop()
	}
	if seen[0] != seen[1] || !strings.Contains(seen[0], "MODE=full\n") {
		t.Errorf("with another environment around the service the job sees\n%s\nand before\n%s", seen[1], seen[0])
	}
}
