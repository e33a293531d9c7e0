//go:build linux

package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing/signingtest"
)

// Controls that only the whole program can show and that no other test does.
func TestControls(t *testing.T) {
	h := newHouse(t)
	h.permit(nil)
	s := h.start()
	showAll(t, h, []control{
		{"jobs of two principals share nothing", jobsShareNothing},
		{"the service is not confined, its jobs are", func(h *house) { onlyJobsAreConfined(h, s) }},
		{"nothing is learned from an answer", nothingIsLearned},
		{"one attempt is one start", oneAttemptIsOneStart},
		{"explain lists each hole", explainListsEachHole},
	})
}

func jobsShareNothing(h *house) {
	bob := signingtest.NewKey(h.t, "bob", append([]string{jobspec.ManageNamespace}, jobspec.JobNamespaces()...)...)
	h.trustAlso(bob)
	h.permit(func(top, alice map[string]any) { top["principals"].(map[string]any)["bob"] = maps.Clone(alice) })
	key := keyFile(h.t, bob)
	left := h.put(filepath.Join(h.mkdir("leaves"), "job.sh"), "#!/bin/sh\nfor d in . \"$HOME\" /tmp \"$TMPDIR\" /dev/shm; do echo secret > \"$d/left\" && echo put; done 2>/dev/null\n", 0o755)
	look := h.put(filepath.Join(h.mkdir("looks"), "job.sh"), "#!/bin/sh\ncat left \"$HOME/left\" /tmp/left /dev/shm/left 2>/dev/null; find / -xdev -name left 2>/dev/null; echo looked\n", 0o755)
	h.offer("leaves", []string{"--tier", "scratch"}, "/bin/sh", left)
	h.offer("looks", []string{"--tier", "scratch", "--key", key}, "/bin/sh", look)
	if says := h.text(h.row("leaves", "succeeded", "")); !strings.Contains(says, "put") {
		h.t.Fatalf("nothing was left: %q", says)
	}
	if says := h.text(h.row("looks", "succeeded", "")); says != "looked\n" {
		h.t.Errorf("the other principal's job says %q", says)
	}
	if says := h.text(h.row("leaves", "succeeded", "")); !strings.Contains(says, "put") {
		h.t.Errorf("the second run says %q", says)
	}
}

// What confines a job is put on the job's own process, never on a thread of the
// service: the next job would inherit it.
func onlyJobsAreConfined(h *house, s *service) {
	lines := func(pid string) string {
		b, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
		must(h.t, err)
		var of []string
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "NoNewPrivs:") || strings.HasPrefix(line, "Seccomp:") {
				of = append(of, strings.Join(strings.Fields(line), " "))
			}
		}
		return strings.Join(of, ", ")
	}
	h.offer("confined", nil, "/bin/grep", "-E", "^(NoNewPrivs|Seccomp):", "/proc/self/status")
	says := strings.Join(strings.Fields(h.text(h.row("confined", "succeeded", ""))), " ")
	if says != "NoNewPrivs: 1 Seccomp: 2" {
		h.t.Errorf("the job has %q", says)
	}
	if service, test := lines(strconv.Itoa(s.cmd.Process.Pid)), lines("self"); service != test {
		h.t.Errorf("the service has %q, its starter %q", service, test)
	}
}

// An answer is part of one op. It writes no rule, and the same question in
// another job is asked again.
func nothingIsLearned(h *house) {
	conf := func() map[string]string {
		files := map[string]string{}
		names, err := os.ReadDir(filepath.Dir(h.dirs().Policy()))
		must(h.t, err)
		for _, n := range names {
			if b, err := os.ReadFile(filepath.Join(filepath.Dir(h.dirs().Policy()), n.Name())); err == nil && n.Name() != "pin" {
				files[n.Name()] = string(b)
			}
		}
		return files
	}
	before := conf()
	command := []string{"--", "/bin/sh", "-c", "echo asked"}
	first := append([]string{"learn1", "--schedule", never, "--yes"}, command...)
	asked := h.dryRun(first...)
	if len(asked.Asks) != 1 {
		h.t.Fatalf("dry run: %+v", asked)
	}
	h.must(append([]string{"add", "--answer", asked.Asks[0].ID + "=allow"}, first...)...)
	h.row("learn1", "succeeded", "")
	if after := conf(); !maps.Equal(before, after) {
		h.t.Errorf("CONF changed by an answer: %v, %v", before, after)
	}
	h.refusesToAdd(jobspec.CodeCmdAskUnanswered, append([]string{"learn2", "--schedule", never, "--yes"}, command...)...)
}

func oneAttemptIsOneStart(h *house) {
	dir := h.script("once", canary+"; exit 7")
	h.add("once", dir, "workspace", "./job.sh")
	h.row("once", "failed", "")
	if rows := items[api.Run](h, "history", "once"); len(rows) != 1 || h.starts(dir) != 1 {
		h.t.Errorf("%d rows, %d starts", len(rows), h.starts(dir))
	}
}

func explainListsEachHole(h *house) {
	dir, in, out := h.script("holes", "true"), h.mkdir("holes-in"), h.mkdir("holes-out")
	h.permit(func(_, alice map[string]any) { alice["read"], alice["write"] = []any{in}, []any{out} })
	h.must(append([]string{"add"}, yearly("holes", dir, "workspace", "--read", in, "--write", out, "--", "./job.sh")...)...)
	x := h.explain("holes")
	for _, want := range []string{in, filepath.Join(dir, "job.sh")} {
		if !strings.Contains(strings.Join(x.Opens.Read, "\n"), want) {
			h.t.Errorf("read %v lacks %s", x.Opens.Read, want)
		}
	}
	if len(x.Opens.Write) != 2 || x.Opens.Write[0] != dir || x.Opens.Write[1] != out {
		h.t.Errorf("write %v", x.Opens.Write)
	}
	if x.Coverage["libraries"] != "unbound" || x.Coverage["executable"] != "hash" {
		h.t.Errorf("coverage %v", x.Coverage)
	}
}
