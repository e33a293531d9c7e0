package daemon

import (
	"net/http"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

func (s *server) submit(r *http.Request, uid int) (any, error) {
	switch now := s.svc.Clock(); {
	case !s.meter.ops.allow(uid, now):
		return nil, api.New(jobspec.CodeRateLimited, "too many ops in a short time")
	case !s.meter.refused.left(uid, now):
		return nil, api.New(jobspec.CodeRateLimited, "too many ops of this account were refused")
	}
	var sub api.Submission
	if err := decode(r, &sub); err != nil {
		return nil, err
	}
	accepted, err := s.svc.Submit(r.Context(), sub)
	if err != nil {
		s.meter.refused.allow(uid, s.svc.Clock())
	}
	return accepted, err
}

// paced bounds how often an account that is neither root nor the service's own
// does what leaves a line in the ledger.
func (s *server) paced(h handler) handler {
	return func(r *http.Request, uid int) (any, error) {
		if !s.who.master(uid) && !s.meter.acts.allow(uid, s.svc.Clock()) {
			return nil, api.New(jobspec.CodeRateLimited, "too much was asked for in a short time")
		}
		return h(r, uid)
	}
}
