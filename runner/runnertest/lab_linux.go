package runnertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/internal/permit"
	"github.com/sbxcron/sbxcron/runner/pin"
	"golang.org/x/sys/unix"
)

// jobID is the account of jobs in tests that run as root: in no passwd file.
const jobID = 61190

// shop is what all cases share.
type shop struct {
	attempt string // the victim program, built once
	host    runner.Host
	account runner.Account
	weaker  []string // choices without which the backend runs nothing
}

func newShop(t *testing.T) (*shop, error) {
	s := &shop{account: runner.Account{UID: os.Geteuid(), GID: os.Getegid()}}
	if os.Geteuid() == 0 {
		s.account = runner.Account{UID: jobID, GID: jobID, Drop: true}
	}
	var err error
	if s.host, err = runner.ReadHost(); err != nil {
		return nil, err
	}
	dir, err := openDir(t)
	if err != nil {
		return nil, err
	}
	s.attempt = filepath.Join(dir, "attempt")
	cmd := exec.Command("go", "build", "-o", s.attempt, "github.com/sbxcron/sbxcron/testdata/victims/attempt")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the victim: %w: %s", err, out)
	}
	return s, nil
}

// openDir is a temporary directory that every account can reach.
func openDir(t *testing.T) (string, error) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		return "", err
	}
	return dir, errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755))
}

// Lab is where one case runs its jobs.
type Lab struct {
	*shop
	Backend runner.Backend
	Dir     string // of this case; everybody can reach it
	ctx     context.Context
	runs    int
}

func (s *shop) lab(t *testing.T, b runner.Backend) (*Lab, error) {
	dir, err := openDir(t)
	if err != nil {
		return nil, err
	}
	return &Lab{shop: s, Backend: b, Dir: dir, ctx: t.Context()}, nil
}

// folder makes a directory that belongs to the job's account.
func (l *Lab) folder(name string) string {
	dir := filepath.Join(l.Dir, name)
	must(os.MkdirAll(dir, 0o755))
	must(os.Chown(dir, l.account.UID, l.account.GID))
	return dir
}

// file writes a file that belongs to the job's account.
func (l *Lab) file(path, text string, mode os.FileMode) string {
	must(os.WriteFile(path, []byte(text), mode))
	must(os.Chmod(path, mode))
	must(os.Chown(path, l.account.UID, l.account.GID))
	return path
}

// must is for the preparation of a case in its own temporary directory.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Job is what a case runs. Argv[0] is the path of a program; typed is argv[0]
// where that differs.
type Job struct {
	tier      jobspec.Tier
	cwd       string
	argv      []string
	typed     string
	body      string
	stdin     string
	env       map[string]string
	read      []string
	write     []string
	deny      []string
	mayCreate []string
	denials   jobspec.DenialRules
	result    string
	git       string
	bind      []jobspec.Bind
	state     string   // path of a folder on the host, "" for none
	files     []string // bound, relative to the cwd or absolute
	limits    func(*jobspec.Limits)
	weaker    []string

	credentials []jobspec.Credential
	values      map[string]string // of the credentials, by name

	net *Network // nil: none
}

// shell is a job of an embedded script.
func shell(body string) Job { return Job{tier: jobspec.Scratch, argv: []string{"/bin/sh"}, body: body} }

func (j Job) in(tier jobspec.Tier, cwd string) Job {
	j.tier, j.cwd = tier, cwd
	return j
}

func command(argv ...string) Job { return Job{tier: jobspec.Scratch, argv: argv} }

func (l *Lab) victim(args ...string) Job { return command(append([]string{l.attempt}, args...)...) }

// plan opens and plans a job. done closes what was opened.
func (l *Lab) plan(j Job) (p *runner.Plan, out *kept, done func(), err error) {
	real, err := filepath.EvalSymlinks(j.argv[0])
	if err != nil {
		return nil, nil, nil, &Missing{j.argv[0]}
	}
	typed, role := j.argv[0], jobspec.RoleExecutable
	if j.typed != "" {
		typed = j.typed
	}
	bound, err := j.bound(jobspec.Bound{Role: role, Typed: typed, Real: real})
	if err != nil {
		return nil, nil, nil, err
	}
	requests := j.requests(bound)
	set, err := pin.Open(l.ctx, pin.Account{UID: l.account.UID, GID: l.account.GID, Drop: l.account.Drop}, requests, pin.Options{})
	if err != nil {
		return nil, nil, nil, err
	}
	for i := range bound {
		bound[i].Size, bound[i].SHA256 = set.Observation(i).Size, set.Observation(i).SHA256
	}
	spec := &jobspec.Spec{
		Bound: bound,
		Cwd:   jobspec.Place{Path: j.cwd}, Read: j.read, Write: j.write, Deny: j.deny, Env: j.env, Stdin: j.stdin, MayCreate: j.mayCreate, Denials: j.denials, Result: j.result,
		Git: j.git, Bind: j.bind, StateDir: j.state != "", Weaker: append(slices.Clone(l.weaker), j.weaker...), Credentials: j.credentials,
		Schedule: jobspec.Schedule{Timezone: "Europe/Berlin"},
		Limits: jobspec.Limits{TimeoutSeconds: 30, GraceSeconds: 1, FileSizeBytes: 64 << 20, OpenFiles: 256, PIDs: 128, TmpBytes: 16 << 20,
			OutputBytes: 64 << 10},
	}
	spec.Argv = append([]string{typed}, j.argv[1:]...)
	if j.body != "" {
		spec.Script, spec.Argv = jobspec.Script{Interpreter: typed, Body: j.body}, j.argv[1:]
	}
	j.net.into(spec)
	if j.limits != nil {
		j.limits(&spec.Limits)
	}
	for i, b := range j.boundBinds() {
		o := set.Observation(len(requests) - len(j.boundBinds()) + i)
		spec.Bound = append(spec.Bound, jobspec.Bound{Role: jobspec.RoleBind, Typed: b.Source, Real: o.Real, Size: o.Size, SHA256: o.SHA256})
	}
	if j.state != "" {
		l.adopt(set, j.state)
	}
	l.runs++
	out = &kept{dir: filepath.Join(l.Dir, fmt.Sprintf("output%d", l.runs))}
	must(os.Mkdir(out.dir, 0o700))
	p, err = runner.PlanUnsigned(permit.New(), runner.Order{Job: "case", Tier: j.tier, Net: j.net.mode(), Grant: j.net.grant(), Spec: spec, Pins: set,
		Run: fmt.Sprintf("run%d", l.runs), Account: l.account, Outputs: out, Host: l.host, Secrets: j.secrets()})
	if err != nil {
		set.Close()
		return nil, nil, nil, err
	}
	return p, out, func() { set.Close() }, nil
}

// bound lists what is bound: the command, the interpreters that #! lines name,
// and the files of the job.
func (j Job) bound(first jobspec.Bound) ([]jobspec.Bound, error) {
	all := []jobspec.Bound{first}
	for i := 0; i < len(all); i++ {
		text, err := os.ReadFile(all[i].Real)
		if err != nil {
			return nil, err
		}
		more, err := jobspec.ParseShebang(text)
		if err != nil {
			return nil, err
		}
		for _, t := range more {
			real, err := interpreter(t.Typed)
			if err != nil {
				return nil, err
			}
			all = append(all, jobspec.Bound{Role: t.Role, Typed: t.Typed, Real: real})
		}
	}
	for _, f := range j.files {
		path := f
		if !filepath.IsAbs(f) {
			path = filepath.Join(j.cwd, f)
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, err
		}
		all = append(all, jobspec.Bound{Role: jobspec.RoleFile, Typed: f, Real: real})
	}
	return all, nil
}

// interpreter finds what a #! line names.
func interpreter(typed string) (string, error) {
	path := typed
	if !strings.Contains(typed, "/") {
		var err error
		if path, err = tool(typed); err != nil {
			return "", err
		}
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", &Missing{path}
	}
	return real, nil
}

func (j Job) requests(bound []jobspec.Bound) []pin.Request {
	var all []pin.Request
	for _, b := range bound {
		all = append(all, pin.Request{Use: jobspec.UseBound, Role: b.Role, Path: b.Real})
	}
	if j.cwd != "" {
		all = append(all, pin.Request{Use: jobspec.UseCwd, Path: j.cwd})
	}
	for _, more := range []struct {
		use   jobspec.Use
		paths []string
	}{{jobspec.UseRead, j.read}, {jobspec.UseWrite, j.write}, {jobspec.UseDeny, j.deny}} {
		for _, p := range more.paths {
			all = append(all, pin.Request{Use: more.use, Path: p})
		}
	}
	for _, b := range j.bind {
		if b.Live() {
			all = append(all, pin.Request{Use: b.Use(), Path: b.Source})
		}
	}
	for _, s := range j.net.sockets() {
		all = append(all, pin.Request{Use: jobspec.UseSocket, Path: s})
	}
	for _, b := range j.boundBinds() { // last: plan finds them there
		all = append(all, pin.Request{Use: jobspec.UseBound, Role: jobspec.RoleBind, Path: b.Source})
	}
	return all
}

// boundBinds are the binds whose bytes are approved.
func (j Job) boundBinds() []jobspec.Bind {
	return slices.DeleteFunc(slices.Clone(j.bind), jobspec.Bind.Live)
}

// adopt adds a state folder, which the service opens itself, to the pins.
func (l *Lab) adopt(set *pin.Set, path string) {
	f, err := os.OpenFile(path, unix.O_PATH|unix.O_DIRECTORY, 0)
	must(err)
	set.Adopt(jobspec.Observation{Use: jobspec.UseState, Typed: jobspec.StatePlace, Real: path, Kind: jobspec.KindDir, UID: l.account.UID}, f)
}

// kept is the store of outputs of one run.
type kept struct{ dir string }

// Create makes the file of a stream.
func (k *kept) Create(stream string) (*os.File, error) {
	return os.Create(filepath.Join(k.dir, stream))
}

func (k *kept) text(stream string) string {
	b, err := os.ReadFile(filepath.Join(k.dir, stream))
	if !errors.Is(err, fs.ErrNotExist) { // nothing was written
		must(err)
	}
	return string(b)
}

// Result is a run that is over.
type Result struct {
	End      record.End
	Facts    record.Facts
	Out, Err string
}

// start prepares and releases a job.
func (l *Lab) start(j Job) (runner.Process, *kept, record.Facts, error) {
	p, out, done, err := l.plan(j)
	if err != nil {
		return nil, nil, record.Facts{}, err
	}
	defer done()
	armed, err := l.Backend.Prepare(l.ctx, p)
	if err != nil {
		return nil, nil, record.Facts{}, err
	}
	proc, err := armed.Release()
	return proc, out, armed.Facts(), err
}

// run runs a job to its end.
func (l *Lab) run(j Job) (Result, error) {
	proc, out, facts, err := l.start(j)
	if err != nil {
		return Result{}, err
	}
	return Result{End: proc.Wait(), Facts: facts, Out: out.text("out"), Err: out.text("err")}, nil
}

// succeed runs a job that must end with 0 and returns its output.
func (l *Lab) succeed(j Job) (string, error) {
	r, err := l.run(j)
	if err != nil {
		return "", err
	}
	if r.End.Outcome != record.OutcomeSucceeded {
		return "", fmt.Errorf("ended as %s, exit code %d, signal %q, %v, with %q; %s%s", r.End.Outcome, r.End.ExitCode, r.End.Signal, r.End.Reasons, denialsOf(r), r.Out, r.Err)
	}
	return r.Out, nil
}

// tried runs a job that may be denied what it tries and must end with 0 all the
// same, and returns its output.
func (l *Lab) tried(j Job) (string, error) {
	r, err := l.run(j)
	if err == nil && (r.End.Outcome != record.OutcomeDenied || !r.End.Exited || r.End.ExitCode != 0) && r.End.Outcome != record.OutcomeSucceeded {
		err = fmt.Errorf("ended as %s, exit code %d, signal %q, %v, with %q; %s%s", r.End.Outcome, r.End.ExitCode, r.End.Signal, r.End.Reasons, denialsOf(r), r.Out, r.Err)
	}
	return r.Out, err
}

// answers runs the victim and returns what the kernel answered, by name.
func (l *Lab) answers(j Job) (map[string]string, error) {
	out, err := l.tried(j)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range strings.Lines(out) {
		name, answer, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[name] = answer
	}
	return all, nil
}

// refused reports whether a run that must not succeed was refused or failed.
func refused(err error) bool {
	var no *runner.Refusal
	return errors.As(err, &no)
}
