//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// ahead is a service that judges jobs ahead when the test says that packages
// have changed.
type ahead struct {
	*house
	file string
	n    int
}

func (a *ahead) update() {
	a.t.Helper()
	a.n++
	must(a.t, os.WriteFile(a.file, []byte(strconv.Itoa(a.n)), 0o644))
}

// foretold waits until list says this of a job.
func (a *ahead) foretold(job string, want jobspec.Code) {
	a.t.Helper()
	var got api.Job
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, j := range items[api.Job](a.house, "list") {
			if string(j.Job) == job {
				got = j
			}
		}
		if got.WouldRefuse == want && (want != "") == strings.Contains(strings.Join(got.Flags, " "), "would_refuse") {
			return
		}
	}
	a.t.Fatalf("list says of %s: %q, flags %v, want %q", job, got.WouldRefuse, got.Flags, want)
}

func (a *ahead) alerts(job string) (codes []string) {
	a.t.Helper()
	for _, l := range a.ledger() {
		if l.Kind != "alert" || l.Job != job {
			continue
		}
		code := ""
		if len(l.Reasons) > 0 {
			code = string(l.Reasons[0].Code)
		}
		codes = append(codes, code)
	}
	return codes
}

func TestWhatWouldBeRefusedIsSaidBeforeItsSlot(t *testing.T) {
	h := newHouse(t)
	a := &ahead{house: h, file: filepath.Join(h.dir, "packages")}
	dir := h.job("drifts", "true")
	h.job("stays", "true")
	s := h.start(envAhead + "=" + a.file)
	if r := h.run("explain", "--all"); r.code != 0 || !strings.Contains(r.out, "drifts") {
		t.Errorf("explain --all: exit %d\n%s%s", r.code, r.out, r.err)
	}
	appendTo("job.sh")(t, h, dir)
	if r := h.run("explain", "--all"); r.code != 3 || !strings.Contains(r.out, string(jobspec.CodeDriftExecHash)) {
		t.Errorf("explain --all: exit %d\n%s%s", r.code, r.out, r.err)
	}
	a.update()
	a.foretold("drifts", jobspec.CodeDriftExecHash)
	a.foretold("stays", "")
	st := item[api.Status](h, "status")
	if len(st.WouldRefuse) != 1 || st.WouldRefuse[0].Target != "drifts" || st.Health != "ok" {
		t.Errorf("status: %+v, health %s", st.WouldRefuse, st.Health)
	}
	for _, j := range items[api.Job](h, "list") {
		if j.State != "active" {
			t.Errorf("%s is %s before its slot", j.Job, j.State)
		}
	}
	a.update()
	s.stop()
	h.start(envAhead + "=" + a.file)
	a.update() // a restart says nothing twice
	a.foretold("drifts", jobspec.CodeDriftExecHash)
	if got := a.alerts("drifts"); len(got) != 1 || got[0] != string(jobspec.CodeDriftExecHash) {
		t.Errorf("alerts %q, want one", got)
	}
	h.must("rebind", "drifts", "--yes")
	a.foretold("drifts", "")
	a.update()
	for end := time.Now().Add(20 * time.Second); len(a.alerts("drifts")) < 2 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	if got := a.alerts("drifts"); len(got) != 2 || got[1] != "" || len(a.alerts("stays")) != 0 {
		t.Errorf("alerts of drifts %q, of stays %q", got, a.alerts("stays"))
	}
	public, err := os.ReadFile(h.key + ".pub")
	must(t, err)
	must(t, os.WriteFile(h.dirs().RevokedKeys(), public, h.dirs().ConfMode()))
	a.foretold("stays", jobspec.CodeKeyRevoked) // at once, and no package has changed
}
