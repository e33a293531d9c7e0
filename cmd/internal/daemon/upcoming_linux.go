package daemon

import (
	"net/http"
	"net/url"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

func (s *server) next(r *http.Request, _ int) (any, error) {
	q := r.URL.Query()
	from, until, err := span(q)
	if err != nil {
		return nil, err
	}
	count, err := intParam(q.Get("count"))
	if err != nil {
		return nil, err
	}
	return s.svc.Next(r.Context(), api.NextQuery{Job: jobspec.Name(q.Get("job")), Expr: q.Get("expr"),
		Timezone: q.Get("timezone"), From: from, Until: until, Count: int(count)})
}

// days waits for its turn, as explain does: it may count for a second.
func (s *server) days(r *http.Request, uid int) (any, error) {
	q := r.URL.Query()
	from, until, err := span(q)
	if err != nil {
		return nil, err
	}
	leave, err := s.turns.take(r.Context(), uid)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.svc.Days(r.Context(), api.DaysQuery{Job: jobspec.Name(q.Get("job")), Timezone: q.Get("timezone"), From: from, Until: until})
}

func span(q url.Values) (from, until time.Time, err error) {
	if from, err = timeParam(q.Get("from")); err != nil {
		return from, until, err
	}
	until, err = timeParam(q.Get("until"))
	return from, until, err
}
