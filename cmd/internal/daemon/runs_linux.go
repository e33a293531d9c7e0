package daemon

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

func (s *server) history(r *http.Request, uid int) (any, error) {
	q := r.URL.Query()
	since, err := timeParam(q.Get("since"))
	if err != nil {
		return nil, err
	}
	until, err := timeParam(q.Get("until"))
	if err != nil {
		return nil, err
	}
	limit, err := intParam(q.Get("limit"))
	if err != nil {
		return nil, err
	}
	query := api.HistoryQuery{Job: jobspec.Name(q.Get("job")), Since: since, Until: until, Limit: int(limit)}
	for _, o := range strings.FieldsFunc(q.Get("outcome"), func(c rune) bool { return c == ',' }) {
		query.Outcome = append(query.Outcome, record.Outcome(o))
	}
	if s.who.auditor(uid) {
		return s.svc.History(r.Context(), query)
	}
	query.Limit = min(query.Limit, maxRows)
	rows, err := s.svc.HistoryFor(query, s.readable(uid))
	if err != nil {
		return nil, err
	}
	if query.Job != "" && len(rows) == 0 && !s.who.mayRead(uid, s.svc.Owner(query.Job)) {
		return nil, forbidden(uid, "read the history of job "+strconv.Quote(string(query.Job)))
	}
	return rows, nil
}

// readable tells whose rows a peer may read. Rights are looked up once for each
// principal: there may be many rows.
func (s *server) readable(uid int) func(jobspec.Principal) bool {
	may := map[jobspec.Principal]bool{}
	return func(who jobspec.Principal) bool {
		if _, known := may[who]; !known {
			may[who] = s.who.mayRead(uid, who)
		}
		return may[who]
	}
}

// runOf gives one run if the peer may read, or act, about it.
func (s *server) runOf(r *http.Request, uid int, what string, wait bool, may func(int, jobspec.Principal) bool) (api.Run, error) {
	run, err := s.svc.Run(r.Context(), r.PathValue("id"), false)
	if err != nil {
		return api.Run{}, err
	}
	if !may(uid, run.Principal) {
		return api.Run{}, forbidden(uid, what+" run "+strconv.Quote(run.Run))
	}
	if !wait {
		return run, nil
	}
	return s.svc.Run(r.Context(), run.Run, true)
}

func (s *server) run(r *http.Request, uid int) (any, error) {
	return s.runOf(r, uid, "read", r.URL.Query().Get("wait") == "1", s.who.mayRead)
}

// prove is for whoever may read the run.
func (s *server) prove(r *http.Request, uid int) (any, error) {
	if _, err := s.runOf(r, uid, "prove", false, s.who.mayRead); err != nil {
		return nil, err
	}
	q := r.URL.Query()
	return s.svc.Prove(r.Context(), api.ProofQuery{Run: r.PathValue("id"), Checkpoint: q.Get("checkpoint"), Full: q.Get("full") == "1"})
}

func (s *server) start(r *http.Request, uid int) (any, error) {
	name, err := s.acting(r, uid, "run")
	if err != nil {
		return nil, err
	}
	return s.svc.StartFor(name, uid)
}

func (s *server) cancel(r *http.Request, uid int) (any, error) {
	run, err := s.runOf(r, uid, "cancel", false, s.who.mayAct)
	if err != nil {
		return nil, err
	}
	return struct{}{}, s.svc.CancelFor(run.Run, uid)
}
