package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/throwaway"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/store"
)

// ports fill what the scheduler needs from the engine and the runner.
type ports struct {
	e        *engine.Engine
	backends map[string]runner.Backend
	host     runner.Host
	outputs  *store.Outputs
	uids     *throwaway.Pool
}

// Entries lists what the chain puts in force.
func (p ports) Entries() ([]scheduler.Entry, int64, error) { return p.e.Intervals() }

func (p ports) Since(ops int64) (scheduler.Changes, error) { return p.e.IntervalsSince(ops) }

// Current verifies a job's op as it is stored now.
func (p ports) Current(job jobspec.Name) (scheduler.Verified, error) {
	v, err := p.e.Current(job)
	if err != nil {
		return scheduler.Verified{}, refusalOf(err)
	}
	return scheduler.Verified{Signed: v.Signed, Identity: v.Refused, Detail: v.Detail}, nil
}

// Mark is a sign of all that Current and Again go by.
func (p ports) Mark() (string, bool) { return p.e.Mark() }

// refusalOf makes an error with a code the reason in the record.
func refusalOf(err error) error {
	if r, ok := errors.AsType[*runner.Refusal](err); ok {
		return &scheduler.Refusal{Reason: record.Reason{Code: r.Reason, Target: r.Target, Detail: r.Detail}}
	}
	if code := jobspec.CodeOr(err, ""); code != "" {
		return &scheduler.Refusal{Reason: record.Reason{Code: code, Detail: err.Error()}}
	}
	return err
}

// Examine gathers the facts of this moment and decides.
func (p ports) Examine(ctx context.Context, phase jobspec.Phase, v scheduler.Verified) (scheduler.Examination, error) {
	if !v.Signed.Valid() {
		return unverified(v), nil
	}
	uid, release, err := p.uid(v.Signed.Op())
	if err != nil {
		return nil, err
	}
	x, err := p.e.Examine(ctx, phase, engine.Verified{Op: v.Signed.Op(), Signed: v.Signed, Refused: v.Identity, Detail: v.Detail}, uid)
	if err != nil {
		release()
		return nil, refusalOf(err)
	}
	return &examination{ports: p, x: x, signed: v.Signed, release: release}, nil
}

// uid lends a throw-away uid where the op names no account in system mode.
func (p ports) uid(op *jobspec.Op) (int, func(), error) {
	if !p.e.Site.System() || !op.Spec.RunAs.IsZero() {
		return 0, func() {}, nil
	}
	lease, err := p.uids.Take()
	if err != nil {
		return 0, nil, &scheduler.Refusal{Reason: record.Reason{Code: jobspec.CodeSbxResource, Detail: err.Error()}}
	}
	return lease.UID(), lease.Release, nil
}

// unverified is the ruling over bytes that nobody vouches for.
type unverified scheduler.Verified

func (u unverified) Allowed() bool { return false }

func (u unverified) Refusals() []jobspec.Check {
	return []jobspec.Check{engine.Unverified(u.Identity, u.Detail)}
}

func (u unverified) Decision() scheduler.Ruling { return u }

func (u unverified) Basis() scheduler.Basis {
	return scheduler.Basis{Verdicts: jobspec.Verdicts{Identity: jobspec.No}}
}

func (u unverified) Prepare(context.Context, string, int) (scheduler.Armed, error) {
	return nil, &scheduler.Refusal{Reason: record.Reason{Code: jobspec.CodeIdentityUnproven}}
}

func (u unverified) Again(time.Time) (scheduler.Ruling, error) { return u, nil }

func (u unverified) Fits() bool { return false }

func (u unverified) Fresh() bool { return false }

func (u unverified) Close() {}

// examination is one decision with its open files.
type examination struct {
	ports
	x       *examine.Examination
	signed  jobspec.Signed
	release func()
}

func (x *examination) Decision() scheduler.Ruling { return x.x.Decision }

func (x *examination) Basis() scheduler.Basis {
	b := scheduler.Basis{Verdicts: x.x.Decision.Verdicts, Weaker: x.x.Decision.Weaker, Notes: x.x.Decision.Notes,
		SameUID: !x.e.Site.System()}
	if p := x.x.Input.Policy; p != nil {
		b.Policy = p.Digest
	}
	return b
}

// Prepare builds the sandbox from the very files that were looked at.
func (x *examination) Prepare(ctx context.Context, run string, attempt int) (scheduler.Armed, error) {
	plan, err := runner.NewPlan(runner.PlanInput{
		Signed: x.signed, Decision: x.x.Decision, Pins: x.x.Pins, Run: run, Account: x.account(),
		Outputs: runOutputs{x.outputs, run, attempt}, Host: x.host, Secrets: x.x.Secrets,
	})
	if err != nil {
		return nil, refusalOf(err)
	}
	backend := x.backends[x.x.Input.Sandbox.Backend]
	if backend == nil { // the decision was made over one that is not here
		return nil, refusalOf(&runner.Refusal{Reason: jobspec.CodeSbxBackendMissing, Target: x.x.Input.Sandbox.Backend, Detail: "the service has no such backend"})
	}
	armed, err := backend.Prepare(ctx, plan)
	if err != nil {
		x.outputs.Forget(run, attempt)
		return nil, refusalOf(err)
	}
	release := x.release
	x.release = func() {} // the run has the uid from here on
	return armedRun{armed, release, func() { x.outputs.Forget(run, attempt) }, x.stateCheck()}, nil
}

// Again decides once more, by the policy as it is now.
func (x *examination) Again(at time.Time) (scheduler.Ruling, error) {
	if err := x.e.Again(x.x, at); err != nil {
		return nil, refusalOf(err)
	}
	return x.x.Decision, nil
}

// Fits reports whether a sandbox that was built from x opens what Again allowed.
func (x *examination) Fits() bool { return x.x.Fits() }

// Fresh reports whether a sandbox that was built from x may still stand for one
// that would be built now.
func (x *examination) Fresh() bool { return x.e.Examiner.Fresh(context.Background(), x.x) }

// account is the kernel identity of the run: that of the opened files.
func (x *examination) account() runner.Account {
	a := runner.Account{UID: x.x.Account.UID, GID: x.x.Account.GID, Drop: x.x.Account.Drop}
	if !a.Drop {
		a.GID = os.Getgid()
	}
	if r := x.x.Op.Spec.RunAs; !r.IsZero() {
		a.User = r.User
	}
	return a
}

func (x *examination) Close() {
	x.x.Close()
	x.release()
}

// runOutputs makes the files of one run.
type runOutputs struct {
	all     *store.Outputs
	run     string
	attempt int
}

func (o runOutputs) Create(stream string) (*os.File, error) {
	return o.all.Create(o.run, record.AttemptStream(stream, o.attempt))
}

// armedRun gives the runner's process as the scheduler's, and gives the uid of
// the run back once no process of it is left.
type armedRun struct {
	runner.Armed
	release func()
	forget  func()                // removes the output files, which are empty before the release
	state   func() *record.Reason // what is wrong with the state folder afterwards
}

func (a armedRun) Discard() {
	defer a.release()
	a.Armed.Discard()
	a.forget()
}

func (a armedRun) Release() (scheduler.Process, error) {
	p, err := a.Armed.Release()
	if err != nil {
		a.release()
		return nil, refusalOf(err)
	}
	return process{p, a.release, a.state}, nil
}

type process struct {
	runner.Process
	release func()
	state   func() *record.Reason
}

// Wait also looks at what the run left in its state folder: over its limit the
// next run will not start, and the record says so already now.
func (p process) Wait() record.End {
	defer p.release()
	end := p.Process.Wait()
	if why := p.state(); why != nil {
		end.Reasons = append(end.Reasons, *why)
	}
	return end
}

// Seal binds the output of a run for the record.
func (p ports) Seal(run string, end record.End) (scheduler.Sealed, error) {
	outputs, text, err := p.outputs.Seal(run, end.Outputs, "")
	if err != nil {
		return scheduler.Sealed{}, fmt.Errorf("seal the output of run %s: %w", run, err)
	}
	return scheduler.Sealed{Outputs: outputs, Text: text}, nil
}

// Append makes rows durable.
func (p ports) Append(rows ...*record.Leaf) (int64, error) { return p.e.Append(rows...) }

// Shares is how many runs the policy allows at one time. A policy that cannot be read
// changes nothing here: every trigger is refused for it.
func (p ports) Shares() (scheduler.Shares, bool) {
	policy, err := p.e.Examiner.Policy()
	if err != nil {
		return scheduler.Shares{}, false
	}
	return sharesOf(policy), true
}

// history answers the scheduler from the index and the ledger.
type history struct{ e *engine.Engine }

func (h history) LastCovered(job jobspec.Name, op jobspec.Digest) (jobspec.Slot, time.Time, bool, error) {
	return h.e.LastCovered(job, op)
}

func (h history) Covered() (scheduler.CoveredBy, error) { return h.e.Covered() }

func (h history) OpenRuns() ([]*record.Leaf, error) { return h.e.OpenRuns() }

func (h history) Holds() (map[jobspec.Name]scheduler.Hold, error) {
	holds, err := h.e.Holds()
	if err != nil {
		return nil, err
	}
	out := make(map[jobspec.Name]scheduler.Hold, len(holds))
	for job, l := range holds {
		out[job] = scheduler.HoldOf(l)
	}
	return out, nil
}

func (h history) Breakers() (map[jobspec.Name]*scheduler.Breaker, error) { return h.e.Breakers() }
