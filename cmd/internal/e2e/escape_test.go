//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/escape"
)

// The program as it is given to people tries to get out of its own sandboxes.
func TestDoctorTriesToGetOut(t *testing.T) {
	h := emptyHouse(t)
	p := h.ship()
	if r := p.run(nil, "doctor", "--escape"); r.code != 64 || !strings.Contains(r.err, "make build") {
		t.Errorf("without the program of attempts: exit %d\n%s", r.code, r.err)
	}
	tool, dir := goTool(t)
	build := exec.Command(tool, "build", "-trimpath", "-buildvcs=false", "-o", filepath.Join(filepath.Dir(p.path), "sbxcron-escape"), "../sbxcron-escape")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program of attempts: %v\n%s", err, out)
	}
	r := p.run([]string{"PATH=/usr/bin:/bin"}, "doctor", "--escape", "--json")
	if r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	var doc struct {
		Items []struct{ Tier, Net, ID, Verdict, Said, Event string }
	}
	h.decode(r.out, &doc)
	made := map[string][]string{}
	for _, row := range doc.Items {
		made[row.Tier+row.Net] = append(made[row.Tier+row.Net], row.ID)
		if row.Verdict != "stopped" || row.Event == "missing" {
			t.Errorf("%+v", row)
		}
	}
	places := []escape.Where{{Tier: jobspec.Scratch, Net: jobspec.NetNone}, {Tier: jobspec.ReadOnly, Net: jobspec.NetNone},
		{Tier: jobspec.Workspace, Net: jobspec.NetNone}, {Tier: jobspec.Workspace, Net: jobspec.NetProxy}}
	for _, w := range places {
		w.Arch, w.System = runtime.GOARCH, os.Getuid() == 0
		for _, a := range escape.Select(w) {
			if !slices.Contains(made[w.Tier.String()+w.Net.String()], a.ID) {
				t.Errorf("tier %s, net %s: %s was not made", w.Tier, w.Net, a.ID)
			}
		}
	}
}
