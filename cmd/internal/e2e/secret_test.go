//go:build linux

package e2e

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

// secret is a file, or the folder of one, that the job's account must not read.
type secret struct{ name, path string }

// secrets are files with one text that only root or another account may read.
func secrets(h *house) (text string, all []secret) {
	h.t.Helper()
	text = rand.Text()
	file, private := filepath.Join(h.dir, "rootfile"), filepath.Join(h.dir, "private")
	must(h.t, os.WriteFile(file, []byte("#!/bin/sh\necho "+text+"\n"), 0o700))
	must(h.t, os.Mkdir(private, 0o700))
	inner := filepath.Join(private, "inner")
	must(h.t, os.WriteFile(inner, []byte("#!/bin/sh\necho "+text+"\n"), 0o755))
	must(h.t, os.Chown(private, 1, 1))
	return text, []secret{{"rootfile", file}, {"shadow", "/etc/shadow"}, {"inner", inner}, {"private", private}}
}

// asksFor are flags and command of a job that names a path in each of its roles.
func asksFor(path, cwd string) map[string][]string {
	in := []string{"--tier", "workspace", "--cwd", cwd}
	return map[string][]string{
		"executable": append(in[:4:4], "--", path),
		"script":     append(in[:4:4], "--", "sh", path),
		"file":       append(in[:4:4], "--file", path, "--", "true"),
		"read":       append(in[:4:4], "--read", path, "--", "true"),
		"write":      append(in[:4:4], "--write", path, "--", "true"),
		"cwd":        {"--tier", "read-only", "--cwd", path, "--", "true"},
	}
}

func secretHouse(t *testing.T) *house {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	h := newHouse(t)
	widen(t, filepath.Join(h.root, "conf", "policy.toml"), fmt.Sprintf("[%q, %q]", h.dir, "/etc"))
	return h
}

func TestRootReadsNothingForAnOwnerAtAdd(t *testing.T) {
	h := secretHouse(t)
	text, all := secrets(h)
	dir := h.mkdir("ws")
	for _, s := range all {
		link := filepath.Join(dir, "link-"+s.name)
		must(t, os.Symlink(s.path, link))
		for _, path := range []string{s.path, link} {
			for role, args := range asksFor(path, dir) {
				r := h.run(append([]string{"add", "job", "--schedule", "0 0 1 1 *", "--yes"}, args...)...)
				if r.code == 0 || !refusesPath(r.err) {
					t.Errorf("%s as %s: exit %d\n%s%s", path, role, r.code, r.out, r.err)
				}
				if tells(r.out+r.err, text) {
					t.Errorf("%s as %s is printed:\n%s%s", path, role, r.out, r.err)
				}
			}
		}
	}
	h.keepsNothingOf(text)
}

// refusesPath wants the path to be the reason.
func refusesPath(text string) bool {
	for _, code := range []jobspec.Code{jobspec.CodePathUnreachable, jobspec.CodePathSensitive, jobspec.CodeDriftCwd, jobspec.CodeDriftCwdSymlink,
		jobspec.CodeDriftScript, jobspec.CodeDriftFile, jobspec.CodeDriftExecHash, jobspec.CodeDriftExecPath} {
		if strings.Contains(text, string(code)) {
			return true
		}
	}
	return false
}

// tells looks for the secret, and for a line as /etc/shadow has them.
func tells(out, text string) bool {
	return strings.Contains(out, text) || strings.Contains(out, "root:*:") || strings.Contains(out, "root:$")
}

func (h *house) keepsNothingOf(text string) {
	h.t.Helper()
	must(h.t, filepath.WalkDir(h.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			h.t.Errorf("%s holds the secret", path)
		}
		return err
	}))
}

// TestRootReadsNothingForAnOwnerAtTheTrigger: an approved name leads to the
// secret now, by a link or because only root may read it.
func TestRootReadsNothingForAnOwnerAtTheTrigger(t *testing.T) {
	h := secretHouse(t)
	text, all := secrets(h)
	type later struct{ job, at string }
	var jobs []later
	for _, s := range all {
		for role := range asksFor("", "") {
			job := s.name + "-" + role
			dir := h.script(job, "cat ./*; cat named")
			at := filepath.Join(dir, "named")
			if role == "cwd" || role == "read" || role == "write" {
				must(t, os.Mkdir(at, 0o755))
				h.own(at)
			} else {
				h.put(at, "#!/bin/sh\ntrue\n", 0o755)
			}
			h.must(append([]string{"add", job, "--schedule", "0 0 1 1 *", "--yes"}, asksFor(at, dir)[role]...)...)
			must(t, os.Remove(at))
			must(t, os.Symlink(s.path, at))
			jobs = append(jobs, later{job, at})
		}
	}
	svc := h.start()
	for _, j := range jobs {
		r := h.trigger(j.job)
		if r.Outcome != "refused" {
			t.Errorf("%s: %s %+v", j.job, r.Outcome, r.Reasons)
		}
	}
	h.keepsNothingOf(text)
	if tells(svc.log.String(), text) {
		t.Errorf("the log tells: %s", svc.log)
	}
	svc.holdsNothingOf(text)
}

// holdsNothingOf looks into every descriptor and all memory of the service.
func (s *service) holdsNothingOf(text string) {
	s.h.t.Helper()
	proc := fmt.Sprintf("/proc/%d", s.cmd.Process.Pid)
	fds, err := os.ReadDir(proc + "/fd")
	must(s.h.t, err)
	for _, fd := range fds {
		name := filepath.Join(proc, "fd", fd.Name())
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if b, err := os.ReadFile(name); err == nil && bytes.Contains(b, []byte(text)) {
			s.h.t.Errorf("descriptor %s of the service holds the secret", fd.Name())
		}
	}
	maps, err := os.ReadFile(proc + "/maps")
	must(s.h.t, err)
	mem, err := os.Open(proc + "/mem")
	must(s.h.t, err)
	defer mem.Close()
	looked := 0
	for _, l := range strings.Split(string(maps), "\n") {
		looked += s.lookInto(mem, l, text)
	}
	if looked == 0 {
		s.h.t.Error("no memory of the service could be read")
	}
}

// maxRegion leaves out what the race detector reserves and never fills.
const maxRegion = 256 << 20

func (s *service) lookInto(mem *os.File, region, text string) int {
	s.h.t.Helper()
	var from, to int64
	var mode string
	if _, err := fmt.Sscanf(region, "%x-%x %s", &from, &to, &mode); err != nil || !strings.HasPrefix(mode, "rw") || to-from > maxRegion {
		return 0
	}
	b := make([]byte, to-from)
	n, _ := mem.ReadAt(b, from) // some regions cannot be read
	if bytes.Contains(b[:n], []byte(text)) {
		s.h.t.Errorf("the service has the secret in its memory: %s", region)
	}
	return n
}
