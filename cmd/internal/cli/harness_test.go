package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/doctor"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/cmd/internal/ui"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/keysource"
	"github.com/sbxcron/sbxcron/signing/signingtest"
	"github.com/sbxcron/sbxcron/store"
	"golang.org/x/crypto/ssh"
)

const testHost = jobspec.HostID("9c1f00000000000000000000000000ab")

// testAuditKey is the verifier key of its ledger.
const testAuditKey = "sbxcron-9c1f00000000000000000000000000ab+0203b279+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// bench is a command line with everything around it replaced.
type bench struct {
	t        *testing.T
	app      *App
	svc      *fakeService
	site     *fakeSite
	key      *fakeSigner
	out, err bytes.Buffer
	asked    []string // what was shown on the terminal
	answers  []string // what is typed there; nil: there is no terminal
	typed    string   // standard input
	platform Platform
	daemon   []DaemonOptions
}

func newBench(t *testing.T) *bench {
	t.Helper()
	namespaces := append([]string{jobspec.ManageNamespace, jobspec.RootNamespace}, jobspec.JobNamespaces()...)
	key := signingtest.FixedKey(t, "alice", "alice", namespaces...)
	head := api.Head{Host: testHost, Seq: 7, Prev: jobspec.DigestOf([]byte("head")), Created: jobspec.InstantOf(noon.Add(-time.Hour)), Now: noon}
	return &bench{t: t, platform: "linux",
		svc:  &fakeService{head: head, errs: map[string]error{}},
		site: &fakeSite{t: t, trust: signingtest.Trust(t, key), pin: store.Pin{Host: testHost, Seq: 6, Digest: head.Prev}, key: key.KeyID()},
		key:  &fakeSigner{key: key, t: t},
	}
}

// run executes one command line and returns its exit status.
func (b *bench) run(args ...string) int {
	b.t.Helper()
	b.out.Reset()
	b.err.Reset()
	streams := &ui.Streams{In: strings.NewReader(b.typed), Out: &b.out, Err: &b.err}
	if b.answers != nil {
		streams.Asks = true
		streams.OpenTTY = func() (ui.Terminal, error) { return &typist{b}, nil }
	}
	b.app = &App{UI: streams, Now: func() time.Time { return noon }, Getenv: func(string) string { return "" }, Version: "1.0", Platform: b.platform,
		Ports: Ports{
			Service:  func(context.Context, string) (api.Service, error) { return b.svc, b.svc.errs["open"] },
			Site:     func(string) (Site, error) { return b.site, nil },
			Folders:  func(root string) (store.Dirs, error) { return store.RootDirs(root, os.Getuid()) },
			Key:      func(context.Context, keysource.Source) (keysource.Signer, error) { return b.key, nil },
			Backends: func(context.Context) []jobspec.Sandbox { return b.site.backends },
			Probes:   func(context.Context, string) (doctor.Facts, error) { return b.site.facts, nil },
			Zone:     func() string { return "Europe/Berlin" },
			Daemon:   func(_ context.Context, o DaemonOptions) error { b.daemon = append(b.daemon, o); return nil },
		}}
	return b.app.Run(b.t.Context(), args)
}

// typist answers on the terminal, one line a question.
type typist struct{ b *bench }

func (p *typist) Line(prompt string) (string, error) {
	p.b.asked = append(p.b.asked, prompt)
	if len(p.b.answers) == 0 {
		return "", errors.New("nothing more is typed")
	}
	line := p.b.answers[0]
	p.b.answers = p.b.answers[1:]
	return line, nil
}

func (p *typist) Secret(prompt string) ([]byte, error) {
	line, err := p.Line(prompt)
	return []byte(line), err
}

func (p *typist) Close() error { return nil }

// fakeSigner counts how often the key was used.
type fakeSigner struct {
	t    *testing.T
	key  *signingtest.Key
	used int
}

func (s *fakeSigner) Public() ssh.PublicKey { return s.key.Public() }
func (s *fakeSigner) KeyID() string         { return s.key.KeyID() }
func (s *fakeSigner) Sign(_ context.Context, namespace string, msg []byte) ([]byte, error) {
	s.used++
	return s.key.Sign(s.t, namespace, msg), nil
}

// fakeSite is a CONF and the facts of a machine on which everything is right.
type fakeSite struct {
	t        *testing.T
	trust    *signing.Trust
	pin      store.Pin
	key      string
	facts    doctor.Facts
	backends []jobspec.Sandbox
	change   func(*jobspec.Input)
	policy   *config.PolicySet // nil: the least one
	problems []config.PolicyProblem
	drafts   []*jobspec.Draft
	bases    []string
	seen     string // folder
	dirs     store.Dirs
}

func (s *fakeSite) SeenDir() (string, error) {
	if s.seen == "" {
		s.seen = s.t.TempDir()
	}
	return s.seen, nil
}

func (s *fakeSite) Trust() (*signing.Trust, error) { return s.trust, nil }
func (s *fakeSite) Dirs() store.Dirs               { return s.dirs }
func (s *fakeSite) Pin() (store.Pin, error)        { return s.pin, nil }
func (s *fakeSite) DefaultKey() (string, error)    { return s.key, nil }

func (s *fakeSite) Policy() (*config.PolicySet, error) {
	if s.policy != nil {
		return s.policy, nil
	}
	text := []byte("serial = 3\n")
	p := &jobspec.Policy{Serial: 3, Digest: jobspec.DigestOf(text)}
	return &config.PolicySet{Policy: p, Files: []config.PolicyFile{{Name: config.PolicyName, Text: text, Policy: p}}}, nil
}

func (s *fakeSite) CheckPolicy() []config.PolicyProblem { return s.problems }
func (s *fakeSite) SelfImposed() bool                   { return true }

func (s *fakeSite) Replay(op *jobspec.Op, p *jobspec.Policy, at time.Time) (jobspec.Decision, error) {
	in, err := s.Examine(context.Background(), op, "", "", nil)
	in.Policy, in.Host.Now = p, at
	return jobspec.Decide(jobspec.PhaseExplain, in), err
}

func (s *fakeSite) Rebound(_ context.Context, old *jobspec.Op, at examine.Position) (*jobspec.Op, error) {
	op := *old
	spec := *old.Spec
	spec.Bound = slices.Clone(spec.Bound)
	spec.Bound[0].SHA256 = jobspec.DigestOf([]byte("after an update"))
	op.Spec = &spec
	op.Action, op.Seq, op.Prev, op.Revision, op.Created = jobspec.Replace, at.Seq, at.Prev, at.Revision, jobspec.InstantOf(at.Now)
	return &op, nil
}

func (s *fakeSite) Candidate(_ context.Context, d *jobspec.Draft, at examine.Position, base string) (*jobspec.Op, error) {
	s.drafts, s.bases = append(s.drafts, d), append(s.bases, base)
	f := jobspec.Facts{Host: at.Host, Seq: at.Seq, Prev: at.Prev, Action: at.Action, Revision: at.Revision, Principal: at.Principal, Now: at.Now,
		Words:  "every day at 02:30",
		Policy: jobspec.PolicyDigests{Floor: jobspec.FloorDigest(), Managed: jobspec.DigestOf([]byte("policy")), Serial: 3}}
	for _, target := range jobspec.PlanBinding(d.Command, d.Script, d.Files).Targets {
		f.Bound = append(f.Bound, jobspec.Bound{Role: target.Role, Typed: target.Typed, Real: "/usr/bin/" + strings.TrimPrefix(target.Typed, "/usr/bin/"),
			Size: 812, SHA256: jobspec.DigestOf([]byte(target.Typed)), Mode: "0755"})
	}
	return jobspec.Resolve(d, f)
}

func (s *fakeSite) Examine(_ context.Context, op *jobspec.Op, identity jobspec.Code, detail string, _ []string) (jobspec.Input, error) {
	in := jobspec.Input{Op: op, Identity: identity, IdentityDetail: detail,
		Policy: &jobspec.Policy{Serial: 3, EnabledPlatforms: []string{"linux"},
			Principals: map[jobspec.Principal]jobspec.Ceiling{"alice": {MaxTier: jobspec.Workspace, MaxNet: jobspec.NetNone}}},
		Host:    jobspec.Host{ID: testHost, Platform: "linux", Now: noon, UID: 1000},
		Sandbox: jobspec.Sandbox{Backend: "bwrap", Usable: true, Capabilities: []string{"userns", "netns", "seccomp"}},
		Gap:     86400,
		// Somewhere there must be places that no job gets.
		Sensitive: []jobspec.Sensitive{{What: "CONF", Path: "/etc/sbxcron", Reach: jobspec.Itself | jobspec.Contains | jobspec.Below,
			Where: jobspec.Location{Self: jobspec.FileID{Dev: 8, Ino: 50}, Device: "8:1:/etc/sbxcron"}}},
	}
	for i, b := range op.Spec.Bound {
		in.Paths = append(in.Paths, jobspec.Observation{Use: jobspec.UseBound, Role: b.Role, Typed: b.Typed, Real: b.Real,
			Kind: jobspec.KindRegular, Mode: 0o755, Size: b.Size, SHA256: b.SHA256,
			Places: jobspec.Location{Self: jobspec.FileID{Dev: 8, Ino: uint64(1000 + i)}, Device: "8:1:" + b.Real}})
	}
	if s.change != nil {
		s.change(&in)
	}
	return in, nil
}

// fakeService answers what it is told to.
type fakeService struct {
	seal      api.Seal
	head      api.Head
	errs      map[string]error // by method
	submitted []api.Submission
	jobs      []api.Job
	detail    map[jobspec.Name]api.JobDetail
	next      []api.Next
	month     []api.Day
	days      []api.DaysQuery
	nexts     []api.NextQuery
	runs      []api.Run
	queries   []api.HistoryQuery
	explained api.Explanation
	output    map[string]string
	status    api.Status
	audit     api.Audit
	ops       []api.OpFile
	done      []string
}

func (f *fakeService) Head(context.Context) (api.Head, error) { return f.head, f.errs["head"] }

func (f *fakeService) Submit(_ context.Context, s api.Submission) (api.Accepted, error) {
	f.submitted = append(f.submitted, s)
	if err := f.errs["submit"]; err != nil {
		return api.Accepted{}, err
	}
	op, err := jobspec.DecodeOp(s.Op)
	if err != nil {
		return api.Accepted{}, err
	}
	next := noon.Add(14 * time.Hour)
	return api.Accepted{Job: op.Job, Op: jobspec.DigestOf(s.Op), Seq: op.Seq, Revision: op.Revision, Next: &next}, nil
}

func (f *fakeService) SubmitAll(ctx context.Context, all []api.Submission) (out []api.Accepted, err error) {
	if err := f.errs["submit"]; err != nil {
		return nil, err
	}
	for _, s := range all {
		done, err := f.Submit(ctx, s)
		if err != nil {
			return nil, err
		}
		out = append(out, done)
	}
	return out, nil
}

func (f *fakeService) Jobs(context.Context) ([]api.Job, error) { return f.jobs, f.errs["jobs"] }
func (f *fakeService) Listed(_ context.Context, name jobspec.Name) (api.Job, error) {
	for _, j := range f.jobs {
		if j.Job == name {
			return j, f.errs["jobs"]
		}
	}
	return api.Job{}, cmp.Or(f.errs["jobs"], error(api.New(jobspec.CodeJobUnknown, "no such job")))
}

func (f *fakeService) Job(_ context.Context, name jobspec.Name) (api.JobDetail, error) {
	if err := f.errs["job"]; err != nil {
		return api.JobDetail{}, err
	}
	d, ok := f.detail[name]
	if !ok {
		return d, api.New(jobspec.CodeJobUnknown, "no job \""+string(name)+"\"")
	}
	return d, nil
}

func (f *fakeService) Next(_ context.Context, q api.NextQuery) ([]api.Next, error) {
	f.nexts = append(f.nexts, q)
	return f.next, f.errs["next"]
}

func (f *fakeService) Days(_ context.Context, q api.DaysQuery) ([]api.Day, error) {
	f.days = append(f.days, q)
	return f.month, f.errs["next"]
}

func (f *fakeService) History(_ context.Context, q api.HistoryQuery) ([]api.Run, error) {
	f.queries = append(f.queries, q)
	return f.runs, f.errs["history"]
}

func (f *fakeService) Run(_ context.Context, id string, _ bool) (api.Run, error) {
	for _, r := range f.runs {
		if r.Run == id {
			return r, nil
		}
	}
	return api.Run{}, api.New(jobspec.CodeJobUnknown, "no run")
}

func (f *fakeService) Explain(context.Context, jobspec.Name) (api.Explanation, error) {
	return f.explained, f.errs["explain"]
}

func (f *fakeService) Output(_ context.Context, run, stream string, offset int64) (io.ReadCloser, error) {
	text, ok := f.output[run+"/"+stream]
	if !ok {
		return nil, api.New(jobspec.CodeOutputPruned, "nothing is kept")
	}
	return io.NopCloser(strings.NewReader(text[offset:])), nil
}

func (f *fakeService) Status(context.Context) (api.Status, error) { return f.status, f.errs["status"] }

func (f *fakeService) Start(context.Context, jobspec.Name) (api.Run, error) {
	if err := f.errs["start"]; err != nil {
		return api.Run{}, err
	}
	return f.runs[0], nil
}

func (f *fakeService) act(what string) error {
	f.done = append(f.done, what)
	return f.errs["act"]
}

func (f *fakeService) Cancel(_ context.Context, run string) error { return f.act("cancel " + run) }
func (f *fakeService) Hold(_ context.Context, name jobspec.Name, reason string, _ time.Time) error {
	return f.act("hold " + string(name) + " " + reason)
}
func (f *fakeService) Release(_ context.Context, name jobspec.Name) error {
	return f.act("release " + string(name))
}
func (f *fakeService) Prove(context.Context, api.ProofQuery) (api.Proof, error) {
	return api.Proof{}, nil
}

func (f *fakeService) Seal(context.Context, api.SealQuery) (api.Seal, error) {
	out := f.seal
	if out.Genesis == nil {
		op := &jobspec.Op{Type: jobspec.OpType, Host: testHost, Action: jobspec.Genesis, Root: &jobspec.GenesisBody{AuditKey: testAuditKey}}
		out.Genesis, _ = op.Encode()
	}
	return out, f.errs["seal"]
}

func (f *fakeService) Verify(context.Context) (api.Audit, error) { return f.audit, f.errs["audit"] }
func (f *fakeService) Ops(context.Context) ([]api.OpFile, error) { return f.ops, f.errs["ops"] }
func (f *fakeService) Close() error                              { return nil }
