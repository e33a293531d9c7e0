//go:build linux

package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// weakerJob is a job that accepts landlock alone behind bwrap.
func weakerJob(name string) string {
	return "name = \"" + name + "\"\nschedule = \"@yearly\"\ncommand = [\"/bin/echo\", \"ran\"]\n" +
		"weaker = [\"weaker_backend_landlock\"]\n[backend]\nany_of = [\"bwrap\", \"landlock\"]\n"
}

// letLandlock permits the choice and the backend.
func letLandlock(top, alice map[string]any) {
	top["weaker"] = []any{jobspec.WeakerBackendLandlock}
	alice["backends"] = []any{"bwrap", "landlock"}
}

// A weaker backend runs a job only where policy, spec and ceiling name it, where
// the stronger one before it cannot work at all, and never as root. The record
// says so each time, also when the stronger one ran it.
func TestTheWeakerBackendRunsOnlyWhatAcceptsIt(t *testing.T) {
	h := newHouse(t)
	h.permit(nil)
	s := h.start()
	h.refusedFile(jobspec.CodeWeakerForbidden, weakerJob("w1"))
	if os.Getuid() == 0 {
		h.permit(letLandlock)
		h.refusedFile(jobspec.CodeWeakerForbidden, weakerJob("w1"))
		return
	}
	h.permit(letLandlock)
	h.must("add", "-f", h.jobFile(weakerJob("w1")), "--yes")
	h.add("plain", h.script("plain", canary), "workspace", "./job.sh")
	strong := h.row("w1", "succeeded", "")
	if strong.Backend != "bwrap" || !slices.Contains(strong.Weaker, jobspec.WeakerBackendLandlock) || !slices.Contains(strong.Layers, "userns") {
		t.Errorf("backend %q, weaker %q, layers %q", strong.Backend, strong.Weaker, strong.Layers)
	}
	s.stop()
	s = h.start(envWithout + "=no-userns") // for good: the kernel says EPERM
	weak := h.row("w1", "succeeded", "")
	if weak.Backend != "landlock" || weak.Probe != "passed" || !slices.Contains(weak.Weaker, jobspec.WeakerBackendLandlock) ||
		!slices.ContainsFunc(weak.Layers, func(l string) bool { return strings.HasPrefix(l, "landlock/") }) || slices.Contains(weak.Layers, "userns") {
		t.Errorf("backend %q, probe %q, weaker %q, layers %q", weak.Backend, weak.Probe, weak.Weaker, weak.Layers)
	}
	if says := h.text(weak); says != "ran\n" {
		t.Errorf("it says %q", says)
	}
	h.row("plain", "refused", jobspec.CodeSbxFeatureMissing)
	h.permit(nil) // policy takes it back
	h.row("w1", "refused", jobspec.CodeWeakerForbidden)
	s.stop()
	h.permit(letLandlock)
	h.start(envWithout + "=userns-limit") // used up: it may pass, and leads nobody to less
	h.row("w1", "refused", jobspec.CodeSbxFeatureMissing)
	if x := item[api.Explanation](h, "explain", "w1"); len(x.Weaker) != 1 || x.Decision != "refuse" {
		t.Errorf("explain says %+v", x)
	}
}
