package scheduler

import (
	"context"
	"fmt"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// Attempts of one run: a payload that failed is let go again, under the same claim of
// the slot and the same run id. Each attempt takes the whole road of a run, gate and
// sandbox included, and has a durable row before it begins. Only what ran and failed
// by itself is tried again: nothing that was refused, denied, ended by somebody or
// lost in a crash. Between two attempts the run has no seat.
const (
	// RetryFirst is the pause before the second attempt; each further one is twice as
	// long as the one before, at most RetryLongest. Nothing in it is random.
	RetryFirst   = 10 * time.Second
	RetryLongest = 10 * time.Minute
)

// RetryPause is the pause behind a number of attempts, 1 for the first.
func RetryPause(attempts int) time.Duration {
	pause := RetryFirst
	for i := 1; i < attempts && pause < RetryLongest; i++ {
		pause *= 2
	}
	return min(pause, RetryLongest)
}

// keep notes how an attempt ended.
func (r *run) keep(end record.End) {
	a := record.Attempt{Outcome: end.Outcome, StartedAt: stamp(end.StartedAt), EndedAt: stamp(end.EndedAt),
		ExitCode: int64(end.ExitCode), Exited: end.Exited, Signal: end.Signal}
	if len(end.Reasons) > 0 {
		a.Code = end.Reasons[0].Code
	}
	for _, c := range end.Outputs {
		c.Stream = record.AttemptStream(c.Stream, len(r.attempts)+1)
		r.whole.Outputs = append(r.whole.Outputs, c)
	}
	if len(r.attempts) == 0 {
		r.whole.StartedAt = end.StartedAt
	}
	r.whole.Denials = append(r.whole.Denials, end.Denials...)
	r.whole.Connections = append(r.whole.Connections, end.Connections...)
	r.whole.Resources.CPUMillis += end.Resources.CPUMillis
	r.whole.Resources.MaxRSSBytes = max(r.whole.Resources.MaxRSSBytes, end.Resources.MaxRSSBytes)
	r.attempts = append(r.attempts, a)
}

// conclude is the final row of a run that ended as its last attempt did. Its times,
// outputs and use of the machine are those of all attempts.
func (s *Scheduler) conclude(r *run, end record.End, why ...record.Reason) *record.Leaf {
	end.StartedAt, end.Outputs, end.Denials = r.whole.StartedAt, r.whole.Outputs, r.whole.Denials
	end.Connections, end.Resources = r.whole.Connections, r.whole.Resources
	end.Reasons = append(end.Reasons[:len(end.Reasons):len(end.Reasons)], why...)
	// A seal that cannot be made does not change how the run ended; the record says
	// that the output is not bound.
	sealed, err := s.o.Finisher.Seal(r.id, end)
	if err != nil {
		end.Reasons = append(end.Reasons, record.Reason{Code: jobspec.CodeAuditUnavailable, Target: "output", Detail: err.Error()})
	}
	row := s.rows.finished(r, s.haltOf(r), end, sealed)
	if len(r.attempts) > 1 {
		row.Attempts = r.attempts
	}
	return row
}

// mayTryAgain reports whether a run that ended so has another attempt, and sets its
// moment: never past the next slot of the job or the run's own start deadline. What
// the policy bounds, such as expiry and windows, is asked at the gate again.
func (s *Scheduler) mayTryAgain(r *run, end record.End) bool {
	if end.Outcome != record.OutcomeFailed && end.Outcome != record.OutcomeTimedOut {
		return false
	}
	for _, d := range end.Denials {
		if !d.Expected {
			return false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if int64(len(r.attempts)) > r.how.retries || r.halt != nil || s.phase != serving || s.waiting[r.key.Job] != nil {
		return false
	}
	pause := RetryPause(len(r.attempts))
	at := s.o.Clock.Now().Add(pause)
	r.retryUntil, _ = s.table.NextOf(r.key.Job)
	if len(r.due.Slots) > 0 && r.how.deadline > 0 {
		if last := r.due.At.Add(r.how.deadline); r.retryUntil.IsZero() || last.Before(r.retryUntil) {
			r.retryUntil = last
		}
	}
	r.notBefore = s.o.Clock.Boot() + pause
	return r.retryUntil.IsZero() || at.Before(r.retryUntil)
}

// tryAgain waits for the next attempt and makes it.
func (s *Scheduler) tryAgain(r *run, end record.End) *record.Leaf {
	n := len(r.attempts)
	ctx, stop := s.pause(r)
	defer stop()
	if until := r.retryUntil; !until.IsZero() && !s.o.Clock.Now().Before(until) {
		return s.conclude(r, end)
	}
	row := s.depart(ctx, r)
	if row == nil || len(r.attempts) > n {
		return row
	}
	for i := range row.Reasons {
		row.Reasons[i].Detail = fmt.Sprintf("attempt %d did not start: %s", n+1, row.Reasons[i].Detail)
	}
	return s.conclude(r, end, row.Reasons...)
}

// pause gives the run's seat away until its next attempt is due and has one. It ends
// early where somebody ends the run, or the service does; the road tells why then.
func (s *Scheduler) pause(r *run) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(context.Background())
	resume := make(chan struct{})
	s.mu.Lock()
	r.stage, r.abort, r.proc, r.claimed, r.early, r.resume = pausing, stop, nil, false, nil, resume
	s.rise(r)
	s.settled(r)
	if r.halt == nil && s.phase == serving {
		s.queue.push(r)
	} else {
		stop()
	}
	s.pump()
	s.mu.Unlock()
	s.nudge()
	select {
	case <-resume:
	case <-ctx.Done():
	case <-s.stop:
	}
	stop()
	ctx, stop = context.WithTimeoutCause(context.Background(), PrepareTime, errTooLong)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.remove(r)
	r.stage, r.abort, r.resume, r.notBefore = preparing, stop, nil, 0
	return ctx, stop
}
