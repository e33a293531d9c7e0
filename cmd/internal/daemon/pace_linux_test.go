package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
)

// pacedServer has an empty folder and no chain: every op that is judged is refused.
func pacedServer(t *testing.T, now *time.Time) *server {
	t.Helper()
	dirs, err := store.RootDirs(t.TempDir(), os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	o := engine.Options{Site: config.Site{Dirs: dirs}, Clock: func() time.Time { return *now }}
	svc := &Service{Engine: &engine.Engine{Options: o}, why: errors.New("no scheduler")}
	return &server{svc: svc, who: testRights(nil), meter: newMeters(), turns: newTurns()}
}

func ask(t *testing.T, s *server, uid int, path, body string) jobspec.Code {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	w := httptest.NewRecorder()
	s.routes().ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), peerKey{}, &guest{uid: uid, beside: true})))
	var e api.Error
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		t.Fatal(err)
	}
	return e.ErrCode
}

// Each refused op, run, hold and release is a line in the ledger: no account
// fills the disk with them.
func TestWhatLeavesALineInTheLedgerIsPaced(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := pacedServer(t, &now)
	for _, path := range []string{"/v1/jobs/j/run", "/v1/jobs/j/hold", "/v1/jobs/j/release", "/v1/runs/r/cancel"} {
		s.meter = newMeters()
		for range int(actPace.burst) {
			s.meter.acts.allow(other, now)
		}
		if code := ask(t, s, other, path, "{}"); code != jobspec.CodeRateLimited {
			t.Errorf("%s: %s", path, code)
		}
		if code := ask(t, s, jobUser, "/v1/jobs/-/release", "{}"); code == jobspec.CodeRateLimited {
			t.Error("one uid used up another's")
		}
		for range int(actPace.burst) {
			s.meter.acts.allow(service, now)
		}
		if code := ask(t, s, service, "/v1/jobs/-/release", "{}"); code == jobspec.CodeRateLimited {
			t.Error("the service's own account is held up")
		}
	}
}

func TestRefusedOpsAreFewInTheLongRun(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := pacedServer(t, &now)
	ask(t, s, other, "/v1/ops", `{"op":"e30=","sig":"e30="}`)
	if b := s.meter.refused.filled(other, now); b.tokens != refusedPace.burst-1 {
		t.Errorf("a refused op leaves %v of %v", b.tokens, refusedPace.burst)
	}
	judged := 0
	const day = 24 * 60 * 60
	for range day / 10 {
		now = now.Add(10 * time.Second) // as the pace of ops alone would allow: many
		for range 3 {
			if s.meter.ops.allow(other, now) && s.meter.refused.left(other, now) {
				s.meter.refused.allow(other, now)
				judged++
			}
		}
	}
	if most := int(refusedPace.burst) + int(refusedPace.rate*day) + 1; judged > most || judged < most/2 {
		t.Errorf("%d in a day, at most %d", judged, most)
	}
	if code := ask(t, s, other, "/v1/ops", `{"op":"e30=","sig":"e30="}`); code != jobspec.CodeRateLimited {
		t.Errorf("one more: %s", code)
	}
}
