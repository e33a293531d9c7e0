package scheduler

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// RunNow starts a job because somebody asks for it. It takes the same road as a
// slot; the trigger is the only difference. A refusal is a row in the ledger and
// comes through the handle. The error is a *Refusal while the service does not
// start runs, and an *AuditError when no row could be written.
func (s *Scheduler) RunNow(job jobspec.Name, by record.Requester) (*Handle, error) {
	s.mu.Lock()
	if s.broken != nil {
		defer s.mu.Unlock()
		return nil, s.broken
	}
	if s.phase != serving {
		defer s.mu.Unlock()
		return nil, refusal(map[phase]jobspec.Code{opening: jobspec.CodeServiceDown, draining: jobspec.CodeShutdown}[s.phase], "nothing is started now")
	}
	r := s.newRun(s.table.KeyOf(job), record.ByHand, s.o.Clock.Now())
	r.by = &by
	if other := s.live[job]; other != nil {
		s.mu.Unlock()
		return r.handle, s.refuseNow(r, record.Reason{Code: jobspec.CodeOverlapSkipped, Target: other.id, Detail: "the job runs"})
	}
	s.dropAhead(job)
	s.live[job] = r
	s.queue.push(r)
	s.pump()
	s.mu.Unlock()
	return r.handle, nil
}

// refuseNow ends a run that never was in the queue.
func (s *Scheduler) refuseNow(r *run, why record.Reason) error {
	row := s.rows.refused(r, Verified{}, Basis{}, why)
	if err := s.write(row); err != nil {
		r.handle.finish(nil)
		return err
	}
	r.handle.finish(row)
	return nil
}

// Handle follows one run.
type Handle struct {
	id      string
	decided chan struct{}
	done    chan struct{}
	first   *record.Leaf
	final   *record.Leaf
}

func newHandle(id string) *Handle {
	return &Handle{id: id, decided: make(chan struct{}), done: make(chan struct{})}
}

// ID names the run.
func (h *Handle) ID() string { return h.id }

// Decided waits until the run has started or was refused, and returns that row.
// The error is that of ctx, or an *AuditError when the ledger took no row.
func (h *Handle) Decided(ctx context.Context) (*record.Leaf, error) {
	return h.wait(ctx, h.decided, &h.first)
}

// Done waits for the run's final row, with the errors of Decided.
func (h *Handle) Done(ctx context.Context) (*record.Leaf, error) {
	return h.wait(ctx, h.done, &h.final)
}

func (h *Handle) wait(ctx context.Context, c <-chan struct{}, row **record.Leaf) (*record.Leaf, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c:
	}
	if *row == nil {
		return nil, &AuditError{Cause: fmt.Errorf("run %s has no row", h.id)}
	}
	return *row, nil
}

// start is called by the run's own goroutine, before finish.
func (h *Handle) start(row *record.Leaf) {
	h.first = row
	close(h.decided)
}

// finish is called once; a nil row means that none could be written.
func (h *Handle) finish(row *record.Leaf) {
	h.final = row
	select {
	case <-h.decided:
	default:
		h.start(row)
	}
	close(h.done)
}

// runID names a run. Two runs must not differ in nothing, so a name that cannot
// be drawn ends the service's turn: the reader is crypto/rand there, which does
// not fail.
func runID(now time.Time, random io.Reader) string {
	id, err := record.NewRunID(now, random)
	if err != nil {
		panic(err)
	}
	return id
}
