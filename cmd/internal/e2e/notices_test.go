//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/notify/send"
)

// listener is a server that takes webhooks and pings.
type listener struct {
	*httptest.Server
	got chan string // path and what the body says
}

func listen(t *testing.T) *listener {
	l := &listener{got: make(chan string, 100)}
	l.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		said := r.URL.Path
		if r.URL.Path == "/hook" {
			var n struct{ Event, Job, Code string }
			if err := json.Unmarshal(body, &n); err != nil {
				t.Error(err)
			}
			said = fmt.Sprintf("%s %s %s %s", said, n.Event, n.Job, n.Code)
			if r.Header.Get(send.HeaderSignature) != send.Signature("a key of ours", r.Header.Get(send.HeaderTime), body) {
				t.Errorf("signed with %q", r.Header.Get(send.HeaderSignature))
			}
		}
		if strings.Contains(string(body), "s3cr3t") {
			t.Errorf("the job's words went out: %s", body)
		}
		l.got <- strings.TrimSpace(said)
	}))
	t.Cleanup(l.Close)
	return l
}

// next waits for requests, in any order.
func (l *listener) next(t *testing.T, want ...string) {
	t.Helper()
	left := map[string]bool{}
	for _, s := range want {
		left[s] = true
	}
	for len(left) > 0 {
		select {
		case got := <-l.got:
			if !left[got] {
				t.Fatalf("heard %q, still waited for %v", got, left)
			}
			delete(left, got)
		case <-time.After(20 * time.Second):
			t.Fatalf("not heard: %v", left)
		}
	}
}

// A job that stops is told of by the real service over the real sender, once, and
// so is that it runs again. Nothing of it is in the way of status.
func TestAStoppedJobIsToldOf(t *testing.T) {
	h := newHouse(t)
	l := listen(t)
	file := filepath.Join(h.root, "conf", "notify.toml")
	must(t, os.WriteFile(file, fmt.Appendf(nil, "[channel.hook]\nkind = \"webhook\"\nurl = \"%s/hook\"\nsecret = \"hook-key\"\n\n[channel.watch]\nkind = \"ping\"\nurl = \"%s/ping/{job}\"\n", l.URL, l.URL), 0o600))
	if r := h.run("notify", "check"); r.code != 3 || !strings.Contains(r.out, "hook: credential hook-key: ") {
		t.Errorf("check ends with %d and says %q %q", r.code, r.out, r.err)
	}
	h.credential("hook-key", "a key of ours\n")
	if out := h.must("notify", "check"); !strings.Contains(out, "webhook") {
		t.Errorf("check says %q", out)
	}
	if out := h.must("notify", "test", "hook"); !strings.HasPrefix(out, "delivered: 200 OK") {
		t.Errorf("test says %q", out)
	}
	l.next(t, "/hook test")
	h.must("notify", "test", "watch")
	l.next(t, "/ping/sbxcron-test/log")
	if e := h.failure("notify", "test", "nobody"); e.Exit != 4 {
		t.Errorf("%+v", e)
	}

	dir := h.script("job", "echo s3cr3t; test -e good && exit 0; exit 3")
	h.add("job", dir, "workspace", "./job.sh")
	s := h.start()
	run := func(want int) {
		t.Helper()
		if r := h.run("run", "job", "--wait"); r.code != want {
			t.Fatalf("run ends with %d: %s", r.code, r.err)
		}
	}
	run(3)
	l.next(t, "/ping/job/start", "/ping/job/3", "/hook failed job")
	run(3)
	l.next(t, "/ping/job/start", "/ping/job/3")
	h.put(filepath.Join(dir, "good"), "", 0o644)
	run(0)
	l.next(t, "/ping/job/start", "/ping/job", "/hook recovered job")
	var st api.Status
	h.decode(h.must("status", "--json"), &struct{ Item *api.Status }{&st})
	if st.Health != "ok" {
		t.Errorf("status %+v", st)
	}

	l.Server.CloseClientConnections()
	l.Close()
	must(t, os.Remove(filepath.Join(dir, "good")))
	run(3)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		r := h.run("status")
		if r.code == 3 && strings.Contains(r.out, "notice_undelivered: hook: nothing was delivered since") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("status ends with %d and says %s\nthe service: %s", r.code, r.out, s.log.String())
		}
	}
	if e := h.failure("notify", "test", "hook"); e.Exit != 75 || e.ErrCode != "notice_undelivered" || !strings.Contains(e.Message, "connection refused") {
		t.Errorf("%+v", e)
	}
	s.stop()
	lines := 0
	for _, path := range glob(t, filepath.Join(h.root, "state", "ledger", "*.jsonl")) {
		text, err := os.ReadFile(path)
		must(t, err)
		lines += strings.Count(string(text), `"kind":"notified"`)
	}
	if lines != 4 { // told, recovered, and that either channel began to fail
		t.Errorf("%d lines tell of notices", lines)
	}
	if v := h.run("audit", "verify"); v.code != 0 {
		t.Errorf("verify ends with %d: %s", v.code, v.out)
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	all, err := filepath.Glob(pattern)
	must(t, err)
	return all
}
