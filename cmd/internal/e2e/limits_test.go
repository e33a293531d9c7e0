//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// What a job uses up, and what it leaves for others to trust, stands in the
// record by its own code; whether memory is held for the job as a whole is the
// machine's matter, and the record says that too.
func TestRecordsSayWhatWasUsedUpAndWhatWasLeft(t *testing.T) {
	h := newHouse(t)
	h.job("grows", "head -c 4M /dev/zero > f", "--limit", "workspace_growth=1MiB")
	h.job("fills", "head -c 4M /dev/zero > /tmp/f; true", "--limit", "tmp=1MiB")
	h.job("plain", "true")
	hook := h.job("hook", "mkdir -p v/x/.git/hooks; cd v/x/.git/hooks; echo x > post-checkout; chmod 755 post-checkout")
	set := h.job("set-id", "cp /bin/true s; echo up > up; while ! test -e go; do sleep 0.02; done")
	h.start()
	for _, job := range []string{"grows", "fills"} {
		code := map[string]jobspec.Code{"grows": jobspec.CodeLimitWorkspace, "fills": jobspec.CodeLimitTmp}[job]
		if r := h.trigger(job); r.Outcome == "succeeded" || !slices.ContainsFunc(r.Reasons, func(x api.Reason) bool { return x.Code == code && x.Target != "" }) {
			t.Errorf("%s: %s, %+v, want %s", job, r.Outcome, r.Reasons, code)
		}
	}
	h.memoryHeldOrRefused(h.row("plain", "succeeded", ""))
	h.trigger("hook")
	h.leftBehind("hook", filepath.Join(hook, "v/x/.git/hooks/post-checkout"))
	c := h.service()
	r, err := c.Start(t.Context(), "set-id")
	if err != nil {
		t.Fatal(err)
	}
	h.waitFor(filepath.Join(set, "up"))
	must(t, os.Chmod(filepath.Join(set, "s"), 0o755|os.ModeSetuid))
	h.put(filepath.Join(set, "go"), "", 0o644)
	if _, err := c.Run(t.Context(), r.Run, true); err != nil {
		t.Fatal(err)
	}
	h.leftBehind("set-id", filepath.Join(set, "s"))
	if info, err := os.Stat(filepath.Join(set, "s")); err != nil || info.Mode() != 0o755 {
		t.Errorf("the program has mode %v, %v", info.Mode(), err)
	}
}

// memoryHeldOrRefused knows from the record of a job with default limits what
// this machine holds.
func (h *house) memoryHeldOrRefused(plain api.Run) {
	h.t.Helper()
	const body = "head -c 200M /dev/zero | tail | wc -c"
	args := []string{"add", "hog", "--schedule", never, "--yes", "--tier", "workspace", "--cwd", h.script("hog", body), "--limit", "memory=48MiB", "--", "./job.sh"}
	soft := slices.Contains(plain.SoftLimits, "memory")
	if soft == slices.Contains(plain.Layers, "cgroup") {
		h.t.Errorf("the record lists layers %q and soft limits %q", plain.Layers, plain.SoftLimits)
	}
	h.must(args...)
	if soft {
		h.row("hog", "refused", jobspec.CodeSbxFeatureMissing)
		return
	}
	h.row("hog", "killed", jobspec.CodeLimitMemory)
}

// leftBehind wants the last run of a job to be denied for a path, and the job held.
func (h *house) leftBehind(job, path string) {
	h.t.Helper()
	r := h.last(job)
	named := slices.ContainsFunc(r.Denials, func(d api.Denial) bool { return d.Code == jobspec.CodeFsProtectedCreated && d.Target == path })
	if r.Outcome != "denied" || !named {
		h.t.Errorf("%s: %s, %+v, want denied for %s", job, r.Outcome, r.Denials, path)
	}
	if d := item[api.JobDetail](h, "show", job); !slices.Contains(d.Flags, "held") || d.Hold == nil || !strings.Contains(d.Hold.Reason, "protected") {
		h.t.Errorf("%s is not held: %v, %+v", job, d.Flags, d.Hold)
	}
}
