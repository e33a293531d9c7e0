//go:build linux

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/socket"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// serve answers on a real unix socket below dir and tells what was asked.
func serve(t *testing.T, at string, h http.HandlerFunc) {
	t.Helper()
	path, done, err := socket.Reachable(at)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // the path goes through a descriptor that is closed by then
	srv := &http.Server{Handler: h}
	finished := make(chan struct{})
	go func() { defer close(finished); _ = srv.Serve(l) }()
	t.Cleanup(func() { srv.Close(); <-finished })
}

func newClient(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	serve(t, socket, h)
	c, err := Dial(t.Context(), socket, os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestEachCallMakesTheAgreedRequest(t *testing.T) {
	since := time.Date(2026, 11, 30, 13, 0, 0, 0, time.FixedZone("x", 3600))
	for _, tc := range []struct {
		want string // method, target, body
		call func(context.Context, *Client) error
	}{
		{"GET /v1/head ", func(ctx context.Context, c *Client) error { _, err := c.Head(ctx); return err }},
		{`POST /v1/ops {"op":"e30=","sig":"AQ=="}`, func(ctx context.Context, c *Client) error {
			_, err := c.Submit(ctx, api.Submission{Op: []byte("{}"), Sig: []byte{1}})
			return err
		}},
		{"GET /v1/jobs ", func(ctx context.Context, c *Client) error { _, err := c.Jobs(ctx); return err }},
		{"GET /v1/jobs/nightly ", func(ctx context.Context, c *Client) error { _, err := c.Job(ctx, "nightly"); return err }},
		{"GET /v1/jobs/..%2Fops ", func(ctx context.Context, c *Client) error { _, err := c.Job(ctx, "../ops"); return err }},
		{"GET /v1/next?count=3&expr=%2A%2F5+%2A+%2A+%2A+%2A&from=2026-11-30T12%3A00%3A00Z&job=a&timezone=UTC ", func(ctx context.Context, c *Client) error {
			_, err := c.Next(ctx, api.NextQuery{Job: "a", Expr: "*/5 * * * *", Timezone: "UTC", From: since, Count: 3})
			return err
		}},
		{"GET /v1/history?job=a&limit=2&outcome=failed%2Cdenied&since=2026-11-30T12%3A00%3A00Z ", func(ctx context.Context, c *Client) error {
			_, err := c.History(ctx, api.HistoryQuery{Job: "a", Since: since, Limit: 2,
				Outcome: []record.Outcome{record.OutcomeFailed, record.OutcomeDenied}})
			return err
		}},
		{"GET /v1/runs/r-1?wait=1 ", func(ctx context.Context, c *Client) error { _, err := c.Run(ctx, "r-1", true); return err }},
		{"GET /v1/runs/r-1 ", func(ctx context.Context, c *Client) error { _, err := c.Run(ctx, "r-1", false); return err }},
		{"GET /v1/jobs/a/explain ", func(ctx context.Context, c *Client) error { _, err := c.Explain(ctx, "a"); return err }},
		{"GET /v1/status ", func(ctx context.Context, c *Client) error { _, err := c.Status(ctx); return err }},
		{"POST /v1/jobs/a/run ", func(ctx context.Context, c *Client) error { _, err := c.Start(ctx, "a"); return err }},
		{"POST /v1/runs/r-1/cancel ", func(ctx context.Context, c *Client) error { return c.Cancel(ctx, "r-1") }},
		{`POST /v1/jobs/a/hold {"reason":"why"}`, func(ctx context.Context, c *Client) error { return c.Hold(ctx, "a", "why", time.Time{}) }},
		{"POST /v1/jobs/a/release ", func(ctx context.Context, c *Client) error { return c.Release(ctx, "a") }},
		{"GET /v1/audit ", func(ctx context.Context, c *Client) error { _, err := c.Verify(ctx); return err }},
		{"GET /v1/ops ", func(ctx context.Context, c *Client) error { _, err := c.Ops(ctx); return err }},
	} {
		t.Run(tc.want, func(t *testing.T) {
			var got string
			c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = fmt.Sprintf("%s %s %s", r.Method, r.RequestURI, body)
				empty := "{}"
				if p := r.URL.Path; p == "/v1/jobs" || p == "/v1/next" || p == "/v1/history" || r.Method == "GET" && p == "/v1/ops" {
					empty = "[]"
				}
				io.WriteString(w, empty)
			})
			if err := tc.call(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("asked %q, want %q", got, tc.want)
			}
		})
	}
}

func TestOutputGivesTheRawBytes(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI != "/v1/runs/r-1/output/out?offset=7" {
			t.Errorf("asked %s", r.RequestURI)
		}
		io.WriteString(w, "\x00\x1b\xffend")
	})
	rc, err := c.Output(t.Context(), "r-1", "out", 7)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(rc)
	if string(got) != "\x00\x1b\xffend" || err != nil || rc.Close() != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestARefusalComesThroughWhole(t *testing.T) {
	want := api.New(jobspec.CodeHeadMoved, "op 7: prev is not the head")
	want.Job = "nightly"
	want.Head = &api.Head{Seq: 9}
	want.Reasons = []api.Reason{{Code: jobspec.CodeTierOverCeiling, Layer: "managed", Remedy: "ask"}}
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(want.HTTPStatus())
		json.NewEncoder(w).Encode(want)
	})
	_, err := c.Submit(t.Context(), api.Submission{Op: []byte("{}")})
	got, ok := errors.AsType[*api.Error](err)
	if !ok {
		t.Fatalf("error %T, want *api.Error", err)
	}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b jobspec.Instant) bool { return a == b })); d != "" {
		t.Error(d)
	}
}

func TestNoRefusalTurnsIntoSuccess(t *testing.T) {
	for name, answer := range map[string]string{
		"exit 0":              `{"code":"head_moved","exit":0}`,
		"no document":         `<html>`,
		"no code":             `{}`,
		"code of a newer one": `{"code":"moon_phase","exit":13,"message":"m","reasons":[{"code":"moon_phase"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusUnprocessableEntity)
				io.WriteString(w, answer)
			})
			_, err := c.Head(t.Context())
			e, ok := errors.AsType[*api.Error](err)
			if !ok || e.Exit == 0 || e.ErrCode == "" {
				t.Errorf("error %#v, want a code and an exit status", err)
			}
		})
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	calls := 0
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		http.Redirect(w, r, "http://sbxcron/v1/status", http.StatusFound)
	})
	if _, err := c.Head(t.Context()); err == nil || calls != 1 {
		t.Errorf("error %v after %d calls, want an error after 1", err, calls)
	}
}

func TestEachRequestHasItsOwnConnection(t *testing.T) {
	seen := map[string]bool{}
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		if !r.Close {
			t.Error("the connection would be kept")
		}
		seen[r.Header.Get("Connection")] = true
		io.WriteString(w, "{}")
	})
	for range 3 {
		if _, err := c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !seen["close"] || len(seen) != 1 {
		t.Errorf("Connection headers %v, want close only", seen)
	}
}

func TestALongSocketPathIsReachedThroughItsFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "sock")
	serve(t, socket, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"version":"x"}`) })
	c, err := Dial(t.Context(), socket, os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if st, err := c.Status(t.Context()); err != nil || st.Version != "x" {
		t.Errorf("status %+v, %v", st, err)
	}
}

func TestAbsenceOfAListenerIsServiceDown(t *testing.T) {
	dir := t.TempDir()
	dead := filepath.Join(dir, "dead")
	l, err := net.Listen("unix", dead)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	for _, socket := range []string{filepath.Join(dir, "absent"), dead, filepath.Join(dir, strings.Repeat("x", 120), "s")} {
		_, err := Dial(t.Context(), socket, os.Getuid())
		e, ok := errors.AsType[*api.Error](err)
		if !ok || e.ErrCode != jobspec.CodeServiceDown || e.Exit != 69 {
			t.Errorf("%s: %v, want service_down with exit 69", socket, err)
		}
	}
}

func TestALostAnswerSaysThatTheResultIsUnknown(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close()
	})
	_, err := c.Submit(t.Context(), api.Submission{Op: []byte("{}")})
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.ErrCode != jobspec.CodeServiceDown || !strings.Contains(e.Help, "not known") {
		t.Errorf("error %#v", err)
	}
}
