package daemon

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// Bounds of one request. An op and its signature travel in base64.
const (
	maxBody     = 1 << 20
	maxRows     = 1000 // of history, for those who may not read all of it
	readTimeout = 10 * time.Second
)

// server answers on the socket.
type server struct {
	svc   *Service
	who   rights
	meter meters
	turns *turns
}

type peerKey struct{}

// newHTTP makes the server of the control socket. Each connection carries the
// uid that the kernel gave at connect, and one request.
func newHTTP(s *server) *http.Server {
	h := &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: readTimeout,
		MaxHeaderBytes:    16 << 10,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			g, ok := c.(*guest)
			if !ok {
				return ctx // no uid: every route refuses
			}
			return context.WithValue(ctx, peerKey{}, g)
		},
	}
	h.SetKeepAlivesEnabled(false)
	return h
}

// handler answers one route for a known peer with a value or an error.
type handler func(r *http.Request, uid int) (any, error)

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"GET /v1/head":                 s.head,
		"POST /v1/ops":                 s.submit,
		"POST /v1/plans":               s.submitAll,
		"GET /v1/ops":                  s.ops,
		"GET /v1/jobs":                 s.jobs,
		"GET /v1/jobs/{name}":          s.job,
		"GET /v1/jobs/{name}/explain":  s.explain,
		"POST /v1/jobs/{name}/run":     s.paced(s.start),
		"POST /v1/jobs/{name}/hold":    s.paced(s.hold),
		"POST /v1/jobs/{name}/release": s.paced(s.release),
		"GET /v1/next":                 s.next,
		"GET /v1/days":                 s.days,
		"GET /v1/history":              s.history,
		"GET /v1/runs/{id}":            s.run,
		"GET /v1/runs/{id}/proof":      s.prove,
		"POST /v1/runs/{id}/cancel":    s.paced(s.cancel),
		"GET /v1/status":               s.status,
		"GET /v1/audit":                s.audit,
		"GET /v1/seal":                 s.seal,
	} {
		mux.HandleFunc(pattern, s.answer(h))
	}
	mux.HandleFunc("GET /v1/runs/{id}/output/{stream}", s.output)
	return mux
}

func (s *server) answer(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, bodyLimit(r))
		uid, err := peerOf(r)
		var v any
		if err == nil {
			v, err = h(r, uid)
		}
		if err != nil {
			writeError(w, err)
			return
		}
		writeJSON(w, http.StatusOK, v)
	}
}

// bodyLimit is larger for several ops at once. In JSON bytes are a third longer.
func bodyLimit(r *http.Request) int64 {
	if r.URL.Path == "/v1/plans" {
		return 2 * api.MaxPlanBytes
	}
	return maxBody
}

func peerOf(r *http.Request) (int, error) {
	g, ok := r.Context().Value(peerKey{}).(*guest)
	if !ok {
		return 0, api.New(jobspec.CodeRoleInsufficient, "the kernel does not say who is at the other end")
	}
	if !g.beside {
		return 0, api.New(jobspec.CodeRoleInsufficient, "the caller is in another pid namespace than the service, as jobs are; ask from outside of it")
	}
	return g.uid, nil
}

func writeError(w http.ResponseWriter, err error) {
	e := api.Wrap(err)
	writeJSON(w, e.HTTPStatus(), e)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the peer is gone: nobody is left to tell
}

func (s *server) head(r *http.Request, _ int) (any, error) { return s.svc.Head(r.Context()) }

// seal is for everybody who may connect: whoever remembers a checkpoint can find
// out whether this is still the same history. It tells of sizes and hashes alone.
func (s *server) seal(r *http.Request, _ int) (any, error) {
	epoch, err := intParam(r.URL.Query().Get("epoch"))
	if err != nil {
		return nil, err
	}
	size, err := intParam(r.URL.Query().Get("size"))
	if err != nil {
		return nil, err
	}
	return s.svc.Seal(r.Context(), api.SealQuery{Epoch: epoch, Size: size})
}

// decode reads a request body strictly.
func decode(r *http.Request, v any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return api.New(jobspec.CodeSpecMalformed, "request: "+err.Error())
	}
	return nil
}

func (s *server) jobs(r *http.Request, _ int) (any, error) {
	if name := r.URL.Query().Get("name"); name != "" {
		return s.svc.Listed(r.Context(), jobspec.Name(name))
	}
	return s.svc.Jobs(r.Context())
}

func (s *server) status(r *http.Request, _ int) (any, error) { return s.svc.Status(r.Context()) }

// reading returns the named job's name if the peer may read about it.
func (s *server) reading(r *http.Request, uid int, what string) (jobspec.Name, error) {
	return s.permitted(r, uid, what, s.who.mayRead)
}

func (s *server) acting(r *http.Request, uid int, what string) (jobspec.Name, error) {
	return s.permitted(r, uid, what, s.who.mayAct)
}

// permitted asks for the rights. Whether a job exists is no secret: whoever may
// connect may list.
func (s *server) permitted(r *http.Request, uid int, what string, may func(int, jobspec.Principal) bool) (jobspec.Name, error) {
	name, err := jobspec.ParseName(r.PathValue("name"))
	if err != nil {
		return "", api.New(jobspec.CodeSpecMalformed, err.Error())
	}
	owner, broken := s.svc.Owner(name), s.svc.Proven()
	switch {
	case owner == "" && broken != nil:
		return "", broken // nobody can tell whether there is such a job
	case owner == "":
		return "", api.New(jobspec.CodeJobUnknown, "no job "+strconv.Quote(string(name)))
	case !may(uid, owner):
		return "", forbidden(uid, what+" job "+strconv.Quote(string(name)))
	}
	return name, nil
}

// job shows one job to whoever may read it. Of a removed one everybody learns
// what list would have told and the revision: whoever adds the name again goes on
// from it.
func (s *server) job(r *http.Request, uid int) (any, error) {
	name, err := s.reading(r, uid, "show")
	if err != nil {
		if d, gone := s.svc.Tombstone(jobspec.Name(r.PathValue("name"))); gone {
			return d, nil
		}
		return nil, err
	}
	return s.svc.Job(r.Context(), name)
}

func (s *server) explain(r *http.Request, uid int) (any, error) {
	name, err := s.reading(r, uid, "explain")
	if err != nil {
		return nil, err
	}
	return s.explained(r.Context(), uid, name)
}

func (s *server) explained(ctx context.Context, uid int, name jobspec.Name) (any, error) {
	leave, err := s.turns.take(ctx, uid)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.svc.Explain(ctx, name)
}

func (s *server) hold(r *http.Request, uid int) (any, error) {
	name, err := s.acting(r, uid, "hold")
	if err != nil {
		return nil, err
	}
	var body api.HoldRequest
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	var until time.Time
	if body.Until != nil {
		until = *body.Until
	}
	return struct{}{}, s.svc.HoldFor(name, uid, body.Reason, until)
}

// release is for operators and for whoever held. The scheduler asks once more
// whose hold it is: the service may have put its own in the place of a user's.
func (s *server) release(r *http.Request, uid int) (any, error) {
	name, err := jobspec.ParseName(r.PathValue("name"))
	if err != nil {
		return nil, api.New(jobspec.CodeSpecMalformed, err.Error())
	}
	if s.who.operator(uid) {
		return struct{}{}, s.svc.ReleaseFor(name, uid)
	}
	if by, held := s.svc.heldBy(name); !held || by != uid {
		return nil, forbidden(uid, "release job "+strconv.Quote(string(name)))
	}
	return struct{}{}, s.svc.ReleaseOwnFor(name, uid)
}

func (s *server) audit(r *http.Request, uid int) (any, error) {
	if !s.who.auditor(uid) {
		return nil, forbidden(uid, "audit")
	}
	return s.svc.Verify(r.Context())
}

func (s *server) ops(r *http.Request, uid int) (any, error) {
	if !s.who.auditor(uid) {
		return nil, forbidden(uid, "export ops")
	}
	return s.svc.Ops(r.Context())
}

func (s *server) output(w http.ResponseWriter, r *http.Request) {
	if err := s.copyOutput(w, r); err != nil {
		writeError(w, err)
	}
}

func (s *server) copyOutput(w http.ResponseWriter, r *http.Request) error {
	uid, err := peerOf(r)
	if err != nil {
		return err
	}
	run, err := s.runOf(r, uid, "read the output of", false, s.who.mayRead)
	if err != nil {
		return err
	}
	offset, err := intParam(r.URL.Query().Get("offset"))
	if err != nil {
		return err
	}
	f, err := s.svc.Output(r.Context(), run.Run, r.PathValue("stream"), offset)
	if err != nil {
		return err
	}
	defer f.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = io.Copy(w, f) // the peer is gone: nobody is left to tell
	return nil
}

func timeParam(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, api.New(jobspec.CodeSpecMalformed, "time "+strconv.Quote(s)+": want RFC 3339")
	}
	return t, nil
}

func intParam(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, api.New(jobspec.CodeSpecMalformed, "number "+strconv.Quote(s)+": want one that is not negative")
	}
	return n, nil
}
