//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

// drifted is a job that was approved, what changes afterwards, and the code that
// it is refused with.
type drifted struct {
	name   string
	flags  []string
	argv   []string
	change func(t *testing.T, h *house, dir string)
	code   jobspec.Code
	root   bool // the change takes root
}

func appendTo(name string) func(*testing.T, *house, string) {
	return func(t *testing.T, h *house, dir string) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("\n# changed\n"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// linkAway moves a name elsewhere and leaves a symbolic link to it.
func linkAway(name string) func(*testing.T, *house, string) {
	return func(t *testing.T, h *house, dir string) {
		t.Helper()
		from := filepath.Join(dir, name)
		must(t, os.Rename(from, from+".moved"))
		must(t, os.Symlink(from+".moved", from))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func driftCases() []drifted {
	run, byShell := []string{"./job.sh"}, []string{"sh", "./job.sh"}
	return []drifted{
		{name: "exec-bytes", argv: run, change: appendTo("job.sh"), code: jobspec.CodeDriftExecHash},
		{name: "exec-link", argv: run, change: linkAway("job.sh"), code: jobspec.CodeDriftExecPath},
		{name: "exec-gone", argv: run, code: jobspec.CodeDriftExecMissing,
			change: func(t *testing.T, _ *house, dir string) { must(t, os.Remove(filepath.Join(dir, "job.sh"))) }},
		{name: "exec-mode", argv: run, code: jobspec.CodeDriftExecOwner,
			change: func(t *testing.T, _ *house, dir string) { must(t, os.Chmod(filepath.Join(dir, "job.sh"), 0o775)) }},
		{name: "exec-owner", argv: run, root: true, code: jobspec.CodeDriftExecOwner,
			change: func(t *testing.T, _ *house, dir string) { must(t, os.Chown(filepath.Join(dir, "job.sh"), 1, 1)) }},
		{name: "interpreter", argv: []string{"./own.sh"}, change: appendTo("sh"), code: jobspec.CodeDriftInterpreter},
		{name: "interpreter-link", argv: []string{"./own.sh"}, change: linkAway("sh"), code: jobspec.CodeDriftInterpreter},
		{name: "script", argv: byShell, change: appendTo("job.sh"), code: jobspec.CodeDriftScript},
		{name: "script-link", argv: byShell, change: linkAway("job.sh"), code: jobspec.CodeDriftScript},
		{name: "file", argv: run, flags: []string{"--file", "data"}, change: appendTo("data"), code: jobspec.CodeDriftFile},
		{name: "file-link", argv: run, flags: []string{"--file", "data"}, change: linkAway("data"), code: jobspec.CodeDriftFile},
		{name: "cwd-link", argv: run, change: linkAway(""), code: jobspec.CodeDriftCwdSymlink},
		{name: "cwd-gone", argv: []string{"true"}, code: jobspec.CodeDriftCwd,
			change: func(t *testing.T, _ *house, dir string) { must(t, os.Rename(dir, dir+".gone")) }},
		{name: "cwd-file", argv: []string{"true"}, code: jobspec.CodeDriftCwd,
			change: func(t *testing.T, h *house, dir string) { must(t, os.Rename(dir, dir+".gone")); h.put(dir, "", 0o755) }},
		{name: "cwd-owner", argv: []string{"true"}, root: true, code: jobspec.CodeDriftCwd,
			change: func(t *testing.T, _ *house, dir string) { must(t, os.Chown(dir, 1, 1)) }},
	}
}

func (c drifted) prepare(h *house) string {
	h.t.Helper()
	dir := h.script(c.name, "echo -n x >>"+mark)
	h.put(filepath.Join(dir, "data"), "select 1\n", 0o644)
	sh, err := os.ReadFile("/bin/sh")
	must(h.t, err)
	h.put(filepath.Join(dir, "sh"), string(sh), 0o755)
	h.put(filepath.Join(dir, "own.sh"), "#!"+filepath.Join(dir, "sh")+"\necho -n x >>"+mark+"\n", 0o755)
	args := append([]string{"add", c.name, "--schedule", "0 0 1 1 *", "--yes", "--tier", "workspace", "--cwd", dir}, c.flags...)
	h.must(append(append(args, "--"), c.argv...)...)
	return dir
}

func TestWhatChangedAfterItsApprovalDoesNotRun(t *testing.T) {
	h := newHouse(t)
	dirs := map[string]string{}
	for _, c := range driftCases() {
		if c.root && os.Getuid() != 0 {
			continue
		}
		dirs[c.name] = c.prepare(h)
	}
	h.start()
	for _, c := range driftCases() {
		t.Run(c.name, func(t *testing.T) {
			if c.root && os.Getuid() != 0 {
				t.Skip("needs root")
			}
			in := *h
			in.t = t
			c.show(&in, dirs[c.name])
		})
	}
}

// show runs a job once as it was approved, and not again once it changed.
func (c drifted) show(h *house, dir string) {
	h.t.Helper()
	h.allowed(c.name)
	if r := h.trigger(c.name); r.Outcome != "succeeded" {
		h.t.Fatalf("as approved: %+v", r)
	}
	before := ran(h.t, dir)
	if c.argv[0] != "true" && before != 1 {
		h.t.Fatalf("%d payloads ran, want one", before)
	}
	c.change(h.t, h, dir)
	h.refused(c.name, c.code)
	if now := ran(h.t, dir); now > before {
		h.t.Errorf("the payload ran")
	}
}
