package schedulertest

import (
	"context"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
)

// Jobs is a list of entries that a test sets.
type Jobs struct {
	mu      sync.Mutex
	entries []scheduler.Entry
	told    map[jobspec.Name]scheduler.Entry // in force when it was asked last
	asked   int64
}

// Set replaces the list.
func (j *Jobs) Set(entries ...scheduler.Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append([]scheduler.Entry(nil), entries...)
}

// Entries implements scheduler.Jobs.
func (j *Jobs) Entries() ([]scheduler.Entry, int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told = j.inForce()
	j.asked++
	return append([]scheduler.Entry(nil), j.entries...), j.asked, nil
}

func (j *Jobs) inForce() map[jobspec.Name]scheduler.Entry {
	now := map[jobspec.Name]scheduler.Entry{}
	for _, e := range j.entries {
		if e.Until.IsZero() {
			now[e.Job] = e
		}
	}
	return now
}

// Since implements scheduler.Jobs: it tells what Set has changed since it was asked
// last. Whoever asks of another time than the last is told everything.
func (j *Jobs) Since(ops int64) (c scheduler.Changes, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.inForce()
	c.All = ops != j.asked
	for job, e := range now {
		if old, ok := j.told[job]; c.All || !ok || old != e {
			c.Entries = append(c.Entries, e)
		}
	}
	for job := range j.told {
		if _, ok := now[job]; !ok && !c.All {
			c.Gone = append(c.Gone, job)
		}
	}
	j.told = now
	j.asked++
	c.Ops = j.asked
	return c, nil
}

// Sandbox is an examiner and a backend in one, without a sandbox. The hooks may
// be nil: then everything is allowed, prepared and succeeds at once. Set them
// before the scheduler runs.
type Sandbox struct {
	Refuse  func(job jobspec.Name) []jobspec.Check
	Prepare func(ctx context.Context, job jobspec.Name) error
	Again   func(job jobspec.Name) []jobspec.Check // what a last look finds
	Fits    func(job jobspec.Name) bool            // nil: what the last look allows is what was prepared
	Fresh   func(job jobspec.Name) bool            // nil: nothing changes
	Release func(job jobspec.Name) error
	Payload func(p *Process) record.End
	Sealing func() // called when output is sealed
	Clock   scheduler.Clock

	mu                          sync.Mutex
	released                    []string // jobs, in the order of their release
	prepared, discarded, closed int
}

// Released lists the jobs whose payload was let go, in that order.
func (s *Sandbox) Released() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.released...)
}

// Leaked is how many armed sandboxes were neither released nor discarded, and
// how many examinations are open.
func (s *Sandbox) Leaked() (armed, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prepared - s.discarded - len(s.released), -s.closed
}

// Examine implements scheduler.Examiner.
func (s *Sandbox) Examine(_ context.Context, _ jobspec.Phase, v scheduler.Verified) (scheduler.Examination, error) {
	e := &examination{sandbox: s}
	if v.Signed.Valid() {
		e.job = v.Signed.Op().Job
	}
	if v.Identity != "" {
		e.refusals = append(e.refusals, jobspec.Check{Step: "identity", Verdict: "no", Code: v.Identity, Detail: v.Detail})
	}
	if s.Refuse != nil {
		e.refusals = append(e.refusals, s.Refuse(e.job)...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed--
	return e, nil
}

// Seal implements scheduler.Finisher.
func (s *Sandbox) Seal(string, record.End) (scheduler.Sealed, error) {
	if s.Sealing != nil {
		s.Sealing()
	}
	return scheduler.Sealed{}, nil
}

func (s *Sandbox) count(n *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}

type examination struct {
	sandbox  *Sandbox
	job      jobspec.Name
	refusals []jobspec.Check
}

func (e *examination) Decision() scheduler.Ruling { return e }
func (e *examination) Allowed() bool              { return len(e.refusals) == 0 }
func (e *examination) Refusals() []jobspec.Check  { return e.refusals }
func (e *examination) Basis() scheduler.Basis     { return scheduler.Basis{SameUID: true} }
func (e *examination) Close()                     { e.sandbox.count(&e.sandbox.closed) }
func (e *examination) Again(time.Time) (scheduler.Ruling, error) {
	again := *e // the first answer was yes
	if hook := e.sandbox.Again; hook != nil {
		again.refusals = hook(e.job)
	}
	return &again, nil
}
func (e *examination) Fits() bool {
	return e.sandbox.Fits == nil || e.sandbox.Fits(e.job)
}
func (e *examination) Fresh() bool {
	return e.sandbox.Fresh == nil || e.sandbox.Fresh(e.job)
}
func (e *examination) Prepare(ctx context.Context, run string, _ int) (scheduler.Armed, error) {
	if hook := e.sandbox.Prepare; hook != nil {
		if err := hook(ctx, e.job); err != nil {
			return nil, err
		}
	}
	e.sandbox.count(&e.sandbox.prepared)
	return &armed{e, run}, nil
}

type armed struct {
	*examination
	run string
}

func (a *armed) Facts() record.Facts {
	return record.Facts{Backend: "memory", Layers: []string{"none"}, Probe: "passed", UID: 1000}
}

func (a *armed) Discard() { a.sandbox.count(&a.sandbox.discarded) }

func (a *armed) Release() (scheduler.Process, error) {
	s := a.sandbox
	s.mu.Lock()
	s.released = append(s.released, string(a.job))
	s.mu.Unlock()
	if s.Release != nil {
		if err := s.Release(a.job); err != nil {
			return nil, err
		}
	}
	return &Process{Job: a.job, Run: a.run, sandbox: s, canceled: make(chan struct{}), killed: make(chan struct{})}, nil
}

// Process is a released payload.
type Process struct {
	Job     jobspec.Name
	Run     string
	sandbox *Sandbox

	mu               sync.Mutex
	why              jobspec.Code
	canceled, killed chan struct{}
}

// Canceled is closed by Cancel and by Kill.
func (p *Process) Canceled() <-chan struct{} { return p.canceled }

// Killed is closed by Kill.
func (p *Process) Killed() <-chan struct{} { return p.killed }

// Why is the first reason that was given.
func (p *Process) Why() jobspec.Code {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// Cancel implements scheduler.Process.
func (p *Process) Cancel(why jobspec.Code) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == "" {
		p.why = why
		close(p.canceled)
	}
}

// Kill implements scheduler.Process.
func (p *Process) Kill(why jobspec.Code) {
	p.Cancel(why)
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.killed:
	default:
		close(p.killed)
	}
}

// Wait implements scheduler.Process.
func (p *Process) Wait() record.End {
	if p.sandbox.Payload != nil {
		return p.sandbox.Payload(p)
	}
	return p.End(record.OutcomeSucceeded)
}

// End makes an end with this outcome, now.
func (p *Process) End(o record.Outcome, why ...jobspec.Code) record.End {
	end := record.End{Outcome: o, Exited: true}
	if p.sandbox.Clock != nil {
		end.StartedAt, end.EndedAt = p.sandbox.Clock.Now(), p.sandbox.Clock.Now()
	}
	for _, c := range why {
		end.Reasons = append(end.Reasons, record.Reason{Code: c})
	}
	return end
}
