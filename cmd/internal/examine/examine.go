package examine

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/distro"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/statedir"
	"github.com/sbxcron/sbxcron/scheduler/calendar"
	"github.com/sbxcron/sbxcron/store"
)

// Prober says whether jobs can be confined on this machine.
type Prober interface {
	Probe(ctx context.Context) jobspec.Sandbox
}

// Examiner looks at one installation. Its fields are set once.
type Examiner struct {
	Site    config.Site
	Sandbox Prober // bwrap
	// Landlock is the backend of that name, nil where there is none.
	Landlock Prober
	Packages *distro.Lists // nil: those of the machine
	Cache    *pin.Cache
	Openers  *pin.Openers // keeps the processes that open paths; nil starts one a look
	// Guest stands in for the throw-away uids of system mode where paths are opened:
	// none of them owns anything, so all have the same rights. It is lent to no run.
	// 0: each opens for itself.
	Guest  int
	Recent *config.Recent   // remembers the policy; nil reads it each time
	Places *pin.Places      // remembers where sensitive places lie; nil remembers nothing
	Bwrap  string           // the sandbox program, a place that no job gets
	Binary string           // our own
	Now    func() time.Time // effective time
}

// Examination is what was found about one op, and the decision. Close releases
// every file that it holds open.
type Examination struct {
	Op       *jobspec.Op
	Account  pin.Account
	Pins     *pin.Set
	Input    jobspec.Input
	Decision jobspec.Decision
	State    string // name of the state folder among Pins, "" for none
	// Secrets are the values of the credentials that the op names, where they are
	// all there; only a trigger has a use for them.
	Secrets []*runner.Secret

	at time.Time // when it was decided

	// What Fresh and Fits compare with, while Again may renew Input and Decision.
	places  []jobspec.Sensitive
	program jobspec.Sandbox
	net     jobspec.NetGrant
}

// Fits reports whether a sandbox that was built over the first decision opens what
// the decision of now does. The policy can give a host less than it did, and still
// allow the job.
func (e *Examination) Fits() bool { return reflect.DeepEqual(e.net, e.Decision.Net) }

// Close closes what the examination holds open.
func (e *Examination) Close() {
	if e.Pins != nil {
		_ = e.Pins.Close() // read-only descriptors: nothing can be lost
	}
	for _, s := range e.Secrets {
		s.Clear()
	}
}

// Subject is an op and what the verifier said of it.
type Subject struct {
	Op             *jobspec.Op
	Signed         jobspec.Signed // zero at add
	Identity       jobspec.Code   // why the signature does not count, "" if it does
	IdentityDetail string
	Jobs           int64 // the principal's other jobs in force
	Held           bool
	HeldFor        jobspec.Code
	At             time.Time // when the run would start; zero: now
	Hold           bool      // clock_hold
	State          string    // name of the job's state folder, "" before it was added
	Audit          error     // why nothing can be recorded, nil if it can
	Credentials    []string  // at add: those that the service has a value for
}

// Examine gathers everything about an op and decides. The uid is the throw-away
// one that the run would get in system mode where no account is named.
func (x *Examiner) Examine(ctx context.Context, phase jobspec.Phase, s Subject, uid int) (*Examination, error) {
	e := &Examination{Op: s.Op, Account: x.account(s.Op, uid)}
	e.Input = x.common(phase, s)
	if phase != jobspec.PhaseApply && s.Op.Spec != nil {
		if err := x.open(ctx, e, phase, s.State); err != nil {
			return nil, err
		}
		x.readCredentials(e, phase, s.Credentials)
		e.Input.Sandbox = x.probe(ctx, s.Op.Spec)
	}
	e.places, e.program = e.Input.Sensitive, e.Input.Sandbox
	e.Decision, e.at = jobspec.Decide(phase, e.Input), e.Input.Host.Now
	e.net = e.Decision.Net
	return e, nil
}

// common is everything but files and sandbox.
func (x *Examiner) common(phase jobspec.Phase, s Subject) jobspec.Input {
	in := jobspec.Input{
		Op: s.Op, Signed: s.Signed, Identity: s.Identity, IdentityDetail: s.IdentityDetail,
		Host: x.host(s.Hold), Held: s.Held, HeldFor: s.HeldFor, At: s.At, Audit: s.Audit, Jobs: s.Jobs,
	}
	x.readPolicy(&in)
	if s.Op.Spec != nil {
		in.Gap, in.Schedule = judgeSchedule(s.Op.Spec.Schedule, s.Op.Created.Time())
	}
	return in
}

func (x *Examiner) readPolicy(in *jobspec.Input) {
	p, err := x.policy()
	if err != nil {
		in.PolicyErr, in.PolicyMsg = jobspec.CodeOr(err, jobspec.CodePolicyEvalError), err.Error()
		return
	}
	in.Policy = p
}

func judgeSchedule(s jobspec.Schedule, anchor time.Time) (gap int64, refused error) {
	c, err := calendar.FromSpec(s, anchor)
	if err != nil {
		return 0, err
	}
	return c.Gap(), c.CheckJitter(s)
}

func (x *Examiner) host(hold bool) jobspec.Host {
	id, err := x.hostID()
	if err != nil {
		id = "" // equals no op's host, so that structure refuses
	}
	return jobspec.Host{
		ID: id, Platform: runtime.GOOS, Now: x.Now(), Hold: hold,
		UID: x.Site.UID, System: x.Site.System(), LookupUser: LookupUser, Zone: calendar.Location,
	}
}

// LookupUser finds an account of the passwd database by its name.
func LookupUser(name string) (jobspec.RunAs, bool) {
	u, err := user.Lookup(name)
	if err != nil {
		return jobspec.RunAs{}, false
	}
	uid, uerr := strconv.Atoi(u.Uid)
	gid, gerr := strconv.Atoi(u.Gid)
	if uerr != nil || gerr != nil {
		return jobspec.RunAs{}, false
	}
	return jobspec.RunAs{User: u.Username, UID: uid, GID: gid}, true
}

// account is whose rights open the spec's paths: our own where we are not root,
// else never root's. An owner who is not root adds a job with what that owner
// can see; the service looks again at each trigger, with the job's account.
func (x *Examiner) account(op *jobspec.Op, uid int) pin.Account {
	if own := os.Geteuid(); own != 0 {
		return pin.Account{UID: own}
	}
	if op.Spec != nil && !op.Spec.RunAs.IsZero() {
		return pin.Account{UID: op.Spec.RunAs.UID, GID: op.Spec.RunAs.GID, Drop: true}
	}
	return pin.Account{UID: uid, GID: uid, Drop: true}
}

// open opens what the spec names and finds out where the sensitive places lie.
func (x *Examiner) open(ctx context.Context, e *Examination, phase jobspec.Phase, state string) error {
	var err error
	if e.Account.Drop && e.Account.UID == 0 {
		e.Input.Paths = unreachable(e.Op.Spec) // Decide refuses run_as 0; nothing is opened for it
		return nil
	}
	if e.Pins, err = pin.Open(ctx, x.opening(e), Requests(e.Op.Spec), pin.Options{Cache: x.Cache, Openers: x.Openers}); err != nil {
		return fmt.Errorf("open the paths of job %q: %w", e.Op.Job, err)
	}
	if err := x.openState(e, phase, state); err != nil {
		e.Close()
		return err
	}
	if err := x.lookUpPackages(e); err != nil {
		e.Close()
		return err
	}
	e.Input.Paths = e.Pins.Observations()
	if e.Input.Sensitive, err = x.sensitive(); err != nil {
		e.Close()
		return err
	}
	return nil
}

// opening is whose rights open the paths: the account's, or those of the guest
// where the run has a uid of its own.
func (x *Examiner) opening(e *Examination) pin.Account {
	if x.Guest > 0 && e.Account.Drop && e.Op.Spec.RunAs.IsZero() {
		return pin.Account{UID: x.Guest, GID: x.Guest, Drop: true}
	}
	return e.Account
}

func unreachable(s *jobspec.Spec) []jobspec.Observation {
	var all []jobspec.Observation
	for _, r := range Requests(s) {
		all = append(all, jobspec.Observation{Use: r.Use, Role: r.Role, Typed: r.Path,
			Problem: jobspec.CodePathUnreachable, Detail: "not opened: the account may not run jobs"})
	}
	return all
}

// Requests lists the paths of a spec in a fixed order: what is bound, the cwd,
// then read, write and deny.
func Requests(s *jobspec.Spec) []pin.Request {
	var all []pin.Request
	for _, b := range s.Bound {
		all = append(all, pin.Request{Use: jobspec.UseBound, Role: b.Role, Path: b.Real})
	}
	if s.Cwd.Path != "" {
		all = append(all, pin.Request{Use: jobspec.UseCwd, Path: s.Cwd.Path})
	}
	for _, u := range []struct {
		use   jobspec.Use
		paths []string
	}{{jobspec.UseRead, s.Read}, {jobspec.UseWrite, s.Write}, {jobspec.UseDeny, s.Deny}} {
		for _, p := range u.paths {
			all = append(all, pin.Request{Use: u.use, Path: p})
		}
	}
	for _, b := range s.Bind {
		if b.Live() { // else it is bound
			all = append(all, pin.Request{Use: b.Use(), Path: b.Source})
		}
	}
	for _, p := range s.Sockets {
		all = append(all, pin.Request{Use: jobspec.UseSocket, Path: p})
	}
	return all
}

// openState adds the job's state folder. Only a trigger makes a missing one.
func (x *Examiner) openState(e *Examination, phase jobspec.Phase, name string) error {
	if !e.Op.Spec.StateDir || phase == jobspec.PhaseAdd || name == "" {
		return nil
	}
	seen, file, err := x.StateFolder(name, e.Account).Look(phase == jobspec.PhaseTrigger)
	if err != nil {
		return fmt.Errorf("open the state folder of job %q: %w", e.Op.Job, err)
	}
	e.State = name
	e.Pins.Adopt(seen, file)
	return nil
}

// StateFolder is the state folder of that name for an account.
func (x *Examiner) StateFolder(name string, a pin.Account) statedir.Folder {
	return statedir.Folder{Root: x.Site.JobsState(), Name: name, Account: a}
}

// sensitive lists the places that no job gets: this installation's, the default
// ones of the system, and the host's.
func (x *Examiner) sensitive() ([]jobspec.Sensitive, error) {
	system := config.System()
	return x.Places.Sensitive(pin.SensitiveOptions{
		Conf:     []string{x.Site.Conf, system.Conf},
		State:    []string{x.Site.State, system.State, x.Site.JobsState(), system.JobsState()},
		Run:      []string{x.Site.Run, system.Run},
		KeyFiles: []string{x.Site.DefaultKeyFile()},
		Binary:   x.Binary, Bwrap: x.Bwrap,
	})
}

// absolute makes a typed path absolute beside base.
func absolute(typed, base string) string {
	if filepath.IsAbs(typed) {
		return filepath.Clean(typed)
	}
	return filepath.Join(base, typed)
}

// policy reads the managed policy, which must not be older than the newest seen.
// Policy is the one that is in force now.
func (x *Examiner) Policy() (*jobspec.Policy, error) { return x.policy() }

func (x *Examiner) policy() (*jobspec.Policy, error) {
	return x.Recent.Policy(x.Site)
}

// Again reads the policy once more and decides anew over what e holds open, where
// any of its files changed or the decision is not of this second: now, or that of
// the start where it is yet to come. It reports whether it did. hold says whether
// the clock can be relied on.
func (x *Examiner) Again(e *Examination, at time.Time, hold bool) bool {
	in := e.Input
	in.Policy, in.PolicyErr, in.PolicyMsg = nil, "", ""
	x.readPolicy(&in)
	same := in.Policy != nil && e.Input.Policy != nil && in.Policy.Digest == e.Input.Policy.Digest && sameOwner(in.Policy, e.Input.Policy, e.Op.Principal)
	now := x.Now()
	if at.After(now) {
		now = at
	}
	// Approvals end and windows close at whole seconds: within one, time decides
	// nothing anew. Before a slot and at it are never the same second.
	if same && hold == e.Input.Host.Hold && now.Unix() == e.at.Unix() {
		return false
	}
	in.Host = x.host(hold)
	in.Host.Now = now
	e.Input, e.at = in, now
	e.Decision = jobspec.Decide(jobspec.PhaseTrigger, in)
	return true
}

// Fresh reports whether what e was decided over, beside policy and time, is what
// would be found now: the files and folders, the credentials, the places that no job
// gets, and the sandbox.
func (x *Examiner) Fresh(ctx context.Context, e *Examination) bool {
	if e.Pins == nil || !e.Pins.Unchanged() || !x.sameCredentials(e) {
		return false
	}
	places, err := x.sensitive()
	if err != nil || !reflect.DeepEqual(places, e.places) {
		return false
	}
	now, then := x.probe(ctx, e.Op.Spec), e.program
	return now.Usable && now.Backend == then.Backend && now.Digest == then.Digest && slices.Equal(now.Needs, then.Needs)
}

// probe finds the backend of a run among those that the owner accepts, by trying.
func (x *Examiner) probe(ctx context.Context, s *jobspec.Spec) jobspec.Sandbox {
	return jobspec.ChooseBackend(s, func(name string) jobspec.Sandbox {
		switch {
		case name == jobspec.BackendBwrap:
			return x.Sandbox.Probe(ctx)
		case name == jobspec.BackendLandlock && x.Landlock != nil:
			return x.Landlock.Probe(ctx)
		}
		return jobspec.Sandbox{Backend: name, Problem: jobspec.CodeSbxBackendMissing, Detail: "there is no such backend here", Lasting: true}
	})
}

// sameOwner reports whether the file that a principal keeps is the same in both.
func sameOwner(a, b *jobspec.Policy, who jobspec.Principal) bool {
	x, y := a.Owners[who], b.Owners[who]
	return x.Digest == y.Digest && x.Reason == y.Reason
}

// Replay judges an op under another policy, or at another time, by what the
// policy says alone: files, sandbox and record are not looked at.
func (x *Examiner) Replay(op *jobspec.Op, p *jobspec.Policy, at time.Time) jobspec.Decision {
	in := x.common(jobspec.PhaseExplain, Subject{Op: op})
	in.Policy, in.PolicyErr, in.PolicyMsg = p, "", ""
	in.Host.Now = at
	return jobspec.Decide(jobspec.PhaseExplain, in)
}

func (x *Examiner) hostID() (jobspec.HostID, error) { return store.ReadHost(x.Site.Dirs) }
