//go:build linux

package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"golang.org/x/sys/unix"
)

// Accounts of every Debian, with the part that the policy of these tests gives
// them. A uid that stands in no passwd file is an outsider, too.
const (
	operator = "bin"
	auditor  = "sys"
	jobsUser = "games"
	outsider = "daemon"
	nobodys  = 61001
)

func uidOf(t *testing.T, name string) int {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Skipf("needs an account %q", name)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		t.Fatal(err)
	}
	return uid
}

// askAs makes one request over the socket as a uid. The kernel notes the ids of
// the thread that connects.
func (h *house) askAs(uid int, method, path, body string) (int, string) {
	h.t.Helper()
	socket := filepath.Join(h.root, "run", "socket")
	dial := func(context.Context, string, string) (net.Conn, error) {
		type dialed struct {
			c   net.Conn
			err error
		}
		got := make(chan dialed)
		go func() {
			runtime.LockOSThread() // and ends with the goroutine: it stays another's
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
				got <- dialed{nil, errno}
				return
			}
			c, err := net.Dial("unix", socket)
			got <- dialed{c, err}
		}()
		d := <-got
		return d.c, d.err
	}
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	req, err := http.NewRequest(method, "http://sbxcron"+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		h.t.Fatalf("uid %d: %s %s: %v", uid, method, path, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// shared is a house whose socket every account reaches, with the parts given.
func shared(t *testing.T) *house {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	h := newHouse(t)
	h.policyFile(map[string]any{"serial": 1, "enabled_platforms": []any{"linux"},
		"roles":      map[string]any{"operators": []any{operator}, "auditors": []any{auditor}},
		"principals": map[string]any{"alice": map[string]any{"max_tier": "workspace", "run_as": []any{jobUser}, "users": []any{jobsUser}}}})
	if err := os.Chmod(h.root, 0o755); err != nil {
		t.Fatal(err)
	}
	h.add("job", "", "scratch", "/bin/true")
	h.start()
	h.must("run", "job", "--wait")
	return h
}

func TestRoutesAnswerOnlyWhoMayAsk(t *testing.T) {
	h := shared(t)
	run := h.last("job").Run
	everybody := []string{operator, auditor, jobsUser, outsider}
	readers := []string{operator, auditor, jobsUser}
	doers := []string{operator, jobsUser}
	for _, route := range []struct {
		method, path string
		may          []string
	}{
		{"GET", "/v1/head", everybody},
		{"POST", "/v1/ops", everybody},
		{"GET", "/v1/jobs", everybody},
		{"GET", "/v1/jobs?name=job", everybody},
		{"GET", "/v1/seal", everybody},
		{"GET", "/v1/next", everybody},
		{"GET", "/v1/status", everybody},
		{"GET", "/v1/history", everybody},
		{"GET", "/v1/history?job=job", readers},
		{"GET", "/v1/jobs/job", readers},
		{"GET", "/v1/jobs/job/explain", readers},
		{"GET", "/v1/runs/" + run, readers},
		{"GET", "/v1/runs/" + run + "/output/out", readers},
		{"GET", "/v1/runs/" + run + "/proof", readers},
		{"POST", "/v1/jobs/job/run", doers},
		{"POST", "/v1/runs/" + run + "/cancel", doers},
		{"POST", "/v1/jobs/job/release", []string{operator}},
		{"GET", "/v1/audit", []string{operator, auditor}},
		{"GET", "/v1/ops", []string{operator, auditor}},
	} {
		for _, name := range everybody {
			status, text := h.askAs(uidOf(t, name), route.method, route.path, "{}")
			allowed := strings.Contains(strings.Join(route.may, " "), name)
			if forbidden := status == http.StatusForbidden; forbidden == allowed || strings.Contains(text, "page not found") {
				t.Errorf("%s (%s): %s %s answered %d %.200s", name, map[bool]string{true: "may", false: "may not"}[allowed], route.method, route.path, status, text)
			}
		}
		strange, _ := h.askAs(nobodys, route.method, route.path, "{}")
		plain, _ := h.askAs(uidOf(t, outsider), route.method, route.path, "{}")
		if strange != plain {
			t.Errorf("a uid without an account: %s %s answered %d, an outsider gets %d", route.method, route.path, strange, plain)
		}
	}
}

func TestAnOutsiderSeesNoRuns(t *testing.T) {
	h := shared(t)
	uid := uidOf(t, outsider)
	if _, text := h.askAs(uid, "GET", "/v1/history", ""); strings.Contains(text, "job") {
		t.Errorf("history told %s", text)
	}
}

func TestActsOfOthersAreRecordedWithTheirUid(t *testing.T) {
	h := shared(t)
	uid := uidOf(t, jobsUser)
	for _, path := range []string{"/v1/jobs/job/run", "/v1/jobs/job/hold"} {
		if status, text := h.askAs(uid, "POST", path, "{}"); status != http.StatusOK {
			t.Fatalf("%s answered %d %s", path, status, text)
		}
	}
	if status, text := h.askAs(uidOf(t, auditor), "POST", "/v1/jobs/job/release", "{}"); status != http.StatusForbidden {
		t.Errorf("an auditor released: %d %s", status, text)
	}
	if status, text := h.askAs(uid, "POST", "/v1/jobs/job/release", "{}"); status != http.StatusOK {
		t.Errorf("who held could not release: %d %s", status, text)
	}
	for _, kind := range []record.Kind{record.Started, record.Held, record.Released} {
		if by := h.actOf(kind).RequestedBy; by == nil || by.UID != int64(uid) || by.Root {
			t.Errorf("%s was asked for by %+v, want uid %d", kind, by, uid)
		}
	}
	if by := items[api.Run](h, "history", "job", "--limit", "1")[0].RequestedBy; by == nil || *by != int64(uid) {
		t.Errorf("history names %v, want uid %d", by, uid)
	}
}

func TestTheSocketOfAnOrdinaryUserIsItsOwn(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("needs an ordinary user")
	}
	h := newHouse(t)
	h.start()
	info, err := os.Stat(filepath.Join(h.root, "run", "socket"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the socket: %v, %v", info, err)
	}
}
