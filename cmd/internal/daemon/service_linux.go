package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/cmd/internal/notify"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
)

// Service is the engine with a scheduler around it. Where the chain cannot be
// proven there is no scheduler: nothing runs, and everything that reads works.
type Service struct {
	*engine.Engine
	since time.Time
	sched *scheduler.Scheduler // nil where nothing may run; set before anybody is answered
	why   error                // why there is none

	notices *notify.Notifier // nil where nobody is told

	chainChanged chan struct{} // holds at most one word: look at the chain again
}

func (s *Service) scheduler() (*scheduler.Scheduler, error) {
	if s.sched == nil {
		return nil, s.why
	}
	return s.sched, nil
}

// IsRunning reports whether a run is alive.
func (s *Service) IsRunning(run string) bool {
	sched, err := s.scheduler()
	if err != nil {
		return false
	}
	for _, r := range sched.Running() {
		if r.Run == run {
			return true
		}
	}
	return false
}

// ReleasedAt is when the payload of a living run was let go, zero before.
func (s *Service) ReleasedAt(run string) time.Time {
	sched, err := s.scheduler()
	if err != nil {
		return time.Time{}
	}
	for _, r := range sched.Running() {
		if r.Run == run {
			return r.ReleasedAt.UTC()
		}
	}
	return time.Time{}
}

// Soonest are the jobs that start next.
func (s *Service) Soonest(n int) []jobspec.Name {
	sched, err := s.scheduler()
	if err != nil {
		return nil
	}
	return sched.Soonest(n)
}

// IsHeld reports whether an operator holds a job.
func (s *Service) IsHeld(job jobspec.Name) bool {
	_, held := s.heldBy(job)
	return held
}

// HeldFor is the reason that the triggers of a held job get, "" for none.
func (s *Service) HeldFor(job jobspec.Name) jobspec.Code {
	sched, err := s.scheduler()
	if err == nil {
		if h, held := sched.Holds()[job]; held {
			return h.CauseCode()
		}
		return ""
	}
	holds, _ := s.Holds() // damage is told of by Problems
	if l := holds[job]; l != nil {
		return scheduler.HoldOf(l).CauseCode()
	}
	return ""
}

// heldBy says whose hold is on a job.
func (s *Service) heldBy(job jobspec.Name) (uid int, held bool) {
	sched, err := s.scheduler()
	if err != nil {
		holds, _ := s.Holds() // damage is told of by Problems
		l := holds[job]
		if l == nil || l.RequestedBy == nil {
			return 0, l != nil
		}
		return int(l.RequestedBy.UID), true
	}
	h, held := sched.Holds()[job]
	return int(h.By.UID), held
}

// Changed takes a new chain over.
func (s *Service) Changed() {
	select {
	case s.chainChanged <- struct{}{}:
	default: // it waits to be taken already
	}
	if sched, err := s.scheduler(); err == nil {
		_ = sched.Reload() // an error stops the scheduler and is told of by Broken
	}
}

func requester(uid int) record.Requester { return record.Requester{UID: int64(uid), Root: uid == 0} }

// Status adds what only the service knows.
func (s *Service) Status(ctx context.Context) (out api.Status, err error) {
	out, err = s.Engine.Status(ctx)
	if err != nil {
		return out, err
	}
	out.Service, out.PID, out.Since = true, os.Getpid(), &s.since
	defer func() {
		if out.Health == "ok" && len(out.Problems) > 0 {
			out.Health = string(out.Problems[0].Code)
		}
	}()
	if s.notices != nil {
		out.Problems = append(out.Problems, s.notices.Problems()...)
	}
	sched, err := s.scheduler()
	if err != nil {
		return out, nil // the engine's problems say why
	}
	if err := sched.Broken(); err != nil {
		out.Problems = append(out.Problems, api.Reason{Code: jobspec.CodeAuditUnavailable, Detail: err.Error(), Remedy: jobspec.CodeAuditUnavailable.Remedy()})
	}
	for _, p := range sched.Problems() {
		out.Problems = append(out.Problems, api.Reason{Code: p.Code, Target: string(p.Job), Detail: p.Detail, Remedy: p.Code.Remedy()})
	}
	return out, nil
}

// startWait bounds how long a request waits until its run has started: the time
// that a sandbox may take to build, and some more.
const startWait = time.Minute

// StartFor runs a job because a peer asks for it, by the same road as a slot.
func (s *Service) StartFor(name jobspec.Name, uid int) (api.Run, error) {
	sched, err := s.scheduler()
	if err != nil {
		return api.Run{}, err
	}
	if s.Owner(name) == "" {
		return api.Run{}, api.New(jobspec.CodeJobUnknown, fmt.Sprintf("no job %q", name))
	}
	h, err := sched.RunNow(name, requester(uid))
	if err != nil {
		return api.Run{}, schedulerError(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	if _, err := h.Decided(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return api.Run{}, schedulerError(err)
	}
	return s.Engine.Run(ctx, h.ID(), false)
}

// pollEvery is how often a waiting request looks whether its run has ended.
const pollEvery = 50 * time.Millisecond

// Run gives one run; with wait, once it has ended or the peer has gone.
func (s *Service) Run(ctx context.Context, id string, wait bool) (api.Run, error) {
	for {
		run, err := s.Engine.Run(ctx, id, false)
		if err != nil || !wait || run.Outcome != api.Running {
			return run, err
		}
		select {
		case <-ctx.Done():
			return run, nil
		case <-time.After(pollEvery):
		}
	}
}

// CancelFor ends a run.
func (s *Service) CancelFor(run string, uid int) error {
	return s.act(func(sched *scheduler.Scheduler) error { return sched.Cancel(run, requester(uid)) })
}

// maxReason bounds the text of a hold, in bytes.
const maxReason = 4 << 10

// HoldFor keeps a job from starting, until a time where that is not zero. The reason is kept beside the outputs, and
// the record holds a commitment to it.
func (s *Service) HoldFor(name jobspec.Name, uid int, reason string, until time.Time) error {
	if s.Owner(name) == "" {
		return api.New(jobspec.CodeJobUnknown, fmt.Sprintf("no job %q", name))
	}
	if len(reason) > maxReason {
		return api.New(jobspec.CodeSpecTooLarge, fmt.Sprintf("a reason of %d bytes, at most %d are kept", len(reason), maxReason))
	}
	why, err := s.remark(reason)
	if err != nil {
		return err
	}
	return s.act(func(sched *scheduler.Scheduler) error {
		if until.IsZero() {
			return sched.Hold(name, requester(uid), why)
		}
		return sched.HoldUntil(name, requester(uid), why, until)
	})
}

func (s *Service) remark(text string) (scheduler.Remark, error) {
	if text == "" {
		return scheduler.Remark{}, nil
	}
	id, err := record.NewRunID(s.Now(), rand.Reader)
	if err != nil {
		return scheduler.Remark{}, err
	}
	_, commitment, err := s.Outputs.Seal(id, nil, text)
	return scheduler.Remark{ID: id, Text: commitment}, err
}

// ReleaseFor ends a hold.
func (s *Service) ReleaseFor(name jobspec.Name, uid int) error {
	return s.act(func(sched *scheduler.Scheduler) error { return sched.Release(name, requester(uid)) })
}

// ReleaseOwnFor ends a hold that the same uid has taken, and no other.
func (s *Service) ReleaseOwnFor(name jobspec.Name, uid int) error {
	return s.act(func(sched *scheduler.Scheduler) error { return sched.ReleaseOwn(name, requester(uid)) })
}

func (s *Service) act(do func(*scheduler.Scheduler) error) error {
	sched, err := s.scheduler()
	if err != nil {
		return err
	}
	return schedulerError(do(sched))
}

// schedulerError gives a refusal of the scheduler its code.
func schedulerError(err error) error {
	if r, ok := errors.AsType[*scheduler.Refusal](err); ok {
		return api.New(r.Reason.Code, r.Error())
	}
	if err == nil {
		return nil
	}
	return api.New(jobspec.CodeAuditUnavailable, err.Error())
}
