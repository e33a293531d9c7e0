package daemon

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// Whoever sits in a pid namespace below the service's gets no answer, root neither.
func TestNoRouteAnswersAPeerFromAnotherPidNamespace(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := pacedServer(t, &now)
	for _, route := range strings.Fields(`GET/v1/head POST/v1/ops POST/v1/plans GET/v1/ops GET/v1/jobs GET/v1/jobs/j GET/v1/jobs/j/explain POST/v1/jobs/j/run
		POST/v1/jobs/j/hold POST/v1/jobs/j/release GET/v1/next GET/v1/days GET/v1/history GET/v1/runs/r GET/v1/runs/r/proof GET/v1/seal POST/v1/runs/r/cancel GET/v1/status GET/v1/audit GET/v1/seal GET/v1/runs/r/output/out`) {
		method, path, _ := strings.Cut(route, "/")
		r, w := httptest.NewRequest(method, "/"+path, strings.NewReader("{}")), httptest.NewRecorder()
		s.routes().ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), peerKey{}, &guest{uid: 0})))
		var e api.Error
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.ErrCode != jobspec.CodeRoleInsufficient || w.Code == http.StatusOK || !strings.Contains(e.Error(), "pid namespace") {
			t.Errorf("%s: %d, %s", route, w.Code, w.Body)
		}
	}
}
