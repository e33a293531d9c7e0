//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
)

// Four exercises with sandboxes, done with the whole program.
func TestExercise(t *testing.T) {
	h := newHouse(t)
	h.permit(nil)
	h.start()
	showAll(t, h, []control{
		{"exercise_1", aSandboxSaysHi},
		{"exercise_2", connectFailsAndListingGoesOn},
		{"exercise_3", onlyBackendsThatHoldAreTaken},
		{"exercise_4", onlyListedPlatformsRun},
	})
}

// exercise_1: a program runs in bubblewrap, and the record proves the layers.
func aSandboxSaysHi(h *house) {
	h.offer("e1", nil, "/bin/echo", "hi")
	r := h.row("e1", "succeeded", "")
	if says := h.text(r); says != "hi\n" {
		h.t.Errorf("it says %q", says)
	}
	for _, layer := range []string{"mounts", "seccomp", "no_new_privs", "capabilities", "uid", "fds"} {
		if !slices.Contains(r.Layers, layer) {
			h.t.Errorf("layers %v lack %s", r.Layers, layer)
		}
	}
	if r.Backend != "bwrap" || r.Probe != "passed" {
		h.t.Errorf("backend %q, probe %q", r.Backend, r.Probe)
	}
}

// exercise_2: connections fail, and what needs none goes on.
func connectFailsAndListingGoesOn(h *house) {
	dir := h.mkdir("e2")
	h.put(filepath.Join(dir, "job.sh"), `#!/bin/bash
reach() { (exec 3<>"/dev/$1/$2/$3") 2>/dev/null && echo "reached $2"; }
reach tcp 127.0.0.1 22
reach tcp 192.0.2.1 443
reach udp 192.0.2.1 53
reach tcp ::1 22
command -v curl >/dev/null && curl -sS -m 5 http://192.0.2.1/ >/dev/null 2>&1 && echo "reached by curl"
ls /tmp >/dev/null && echo listed
`, 0o755)
	for _, tier := range []string{"scratch", "read-only", "workspace"} {
		job, argv, flags := "e2-"+tier, []string{"./job.sh"}, []string{"--tier", tier, "--cwd", dir}
		if tier == "scratch" {
			argv, flags = []string{"/bin/bash", filepath.Join(dir, "job.sh")}, []string{"--tier", tier}
		}
		h.offer(job, flags, argv...)
		r := h.row(job, "denied", "") // its attempts are seen
		if !strings.Contains(denials(r), "net_denied_direct AF_INET ") {
			h.t.Errorf("%s: denials %q", tier, denials(r))
		}
		if says := h.text(r); says != "listed\n" || !slices.Contains(r.Layers, "seccomp") {
			h.t.Errorf("%s: says %q, layers %v", tier, says, r.Layers)
		}
	}
}

// exercise_3: of the ways to run something that other tools offer, the one
// without isolation does not exist, and those that this version does not do are
// refused by their name. In the one that is done the job sees its own root.
func onlyBackendsThatHoldAreTaken(h *house) {
	backend := func(word string) string { return plain("e3x") + "[backend]\nany_of = [\"" + word + "\"]\n" }
	for _, word := range []string{"local", "none"} {
		h.refusedFile(jobspec.CodeSbxBackendMissing, backend(word))
	}
	for _, word := range []string{"docker", "ssh"} {
		if e := h.refusedFile(jobspec.CodeSpecFieldLater, backend(word)); e.Exit != 65 {
			h.t.Errorf("%s: %+v", word, e)
		}
	}
	h.refusedFile(jobspec.CodeWeakerForbidden, backend("landlock")) // only with the words that accept it
	dir := h.script("e3", "pwd; ls -A /; ls -A /home; id -un >/dev/null; hostname 2>/dev/null || true")
	h.add("e3", dir, "read-only", "./job.sh")
	says := h.text(h.row("e3", "succeeded", ""))
	first, rest, _ := strings.Cut(says, "\n")
	if first != dir || !strings.Contains(rest, "job\n") || strings.Contains(rest, "root\n") || strings.Contains(rest, "var\n") {
		h.t.Errorf("it says %q", says)
	}
	if _, err := os.Stat("/var"); err != nil {
		h.t.Fatal("the machine has no /var: nothing was shown")
	}
}

// exercise_4: a platform that the list leaves out runs nothing, and an empty list
// leaves out every one.
func onlyListedPlatformsRun(h *house) {
	dir := h.script("e4", canary)
	h.add("e4", dir, "workspace", "./job.sh")
	for _, c := range []struct {
		list any
		code jobspec.Code
	}{
		{[]any{}, jobspec.CodeSbxPlatformDisabled},
		{[]any{"macos"}, jobspec.CodePolicySchema},
		{[]any{"Linux"}, jobspec.CodePolicySchema},
		{"linux", jobspec.CodePolicyParse},
	} {
		h.permit(func(top, _ map[string]any) { top["enabled_platforms"] = c.list })
		h.row("e4", "refused", c.code)
		if e := h.refusesToAdd(c.code, "e4x", "--schedule", never, "--yes", "--", "/bin/true"); e.Exit != 14 && e.Exit != 78 {
			h.t.Errorf("%v: exit %d", c.list, e.Exit)
		}
	}
	h.permit(func(top, _ map[string]any) { delete(top, "enabled_platforms") })
	h.row("e4", "refused", jobspec.CodeSbxPlatformDisabled)
	if n := h.starts(dir); n != 0 {
		h.t.Errorf("the payload began %d times", n)
	}
	h.permit(nil)
	h.row("e4", "succeeded", "")
}
