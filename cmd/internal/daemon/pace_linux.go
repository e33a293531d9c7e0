package daemon

import (
	"context"
	"net/http"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

func (s *server) submit(r *http.Request, uid int) (any, error) {
	return submitted(s, r, uid, s.svc.Submit)
}

// submitAll counts as one op: nothing of it stays where one is refused, so that
// it leaves no more in the ledger than a single one that is.
func (s *server) submitAll(r *http.Request, uid int) (any, error) {
	return submitted(s, r, uid, s.svc.SubmitAll)
}

func submitted[S, A any](s *server, r *http.Request, uid int, submit func(context.Context, S) (A, error)) (any, error) {
	switch now := s.svc.Clock(); {
	case !s.meter.ops.allow(uid, now):
		return nil, api.New(jobspec.CodeRateLimited, "too many ops in a short time")
	case !s.meter.refused.left(uid, now):
		return nil, api.New(jobspec.CodeRateLimited, "too many ops of this account were refused")
	}
	var sub S
	if err := decode(r, &sub); err != nil {
		return nil, err
	}
	accepted, err := submit(r.Context(), sub)
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
