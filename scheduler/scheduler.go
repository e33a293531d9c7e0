package scheduler

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// DefaultDrain is how long running jobs may go on after a shutdown began.
const DefaultDrain = 60 * time.Second

// Options are what a Scheduler is made of. All ports are required.
type Options struct {
	Jobs     Jobs
	Verifier Verifier
	Examiner Examiner
	Ledger   Ledger
	Finisher Finisher
	History  History

	Clock Clock
	Alarm Alarm
	// After is time.After, for the drain time.
	After func(time.Duration) <-chan time.Time
	// Random names runs; it need not be secret.
	Random io.Reader
	Origin Origin
	// MaxParallel bounds the runs that are prepared or going on, and how many
	// sandboxes are built before their slots; 0 is twice the number of CPUs.
	MaxParallel int
	// Shares bounds the runs of principals and tiers; false: it cannot be told now,
	// and what was told before stays. nil bounds none.
	Shares     func() (Shares, bool)
	Drain      time.Duration // 0 is DefaultDrain
	Log        *slog.Logger  // nil is silence
	ClockDoubt ClockDoubt    // nil where the clock is always believed
}

// phase is where the scheduler's life stands. The zero value starts nothing.
type phase uint8

const (
	opening phase = iota
	serving
	draining
)

// Scheduler runs jobs at their time. New makes one, Run is its life.
type Scheduler struct {
	o    Options
	rows rows

	// turn orders whole turns: ticks and reloads, each with the rows it writes.
	turn   sync.Mutex
	reload sync.Mutex
	ops    int64         // of the chain that the table comes from; guarded by reload
	stop   chan struct{} // closed when the shutdown begins
	kill   chan struct{} // closed when it must end at once
	opened chan struct{} // closed when runs can start
	runs   sync.WaitGroup

	builders chan struct{} // holds one word for each sandbox that is built ahead right now

	mu        sync.Mutex // guards all below; never held across a port
	began     time.Time  // by the wall clock; what was due before was nobody's to take
	phase     phase
	asked     bool  // somebody asked for the shutdown
	killed    bool  // the shutdown must end at once
	broken    error // why no more rows can be written
	table     Timetable
	holds     map[jobspec.Name]Hold
	breakers  map[jobspec.Name]*Breaker
	live      map[jobspec.Name]*run // from due, or claimed, until the final row is durable
	waiting   map[jobspec.Name]*run // for the end of the living run of their job
	ahead     map[jobspec.Name]*run // built before their slot, which is still the table's
	queue     queue
	seats     seats
	ending    int // runs that gave their seats back and are being put on record
	problems  map[jobspec.Name]Problem
	lastLooks looks        // the clocks at the last tick
	moved     string       // what they did before it, where that is worth a word
	doubt     jobspec.Code // why the wall clock is not believed
}

// New checks the options and makes a scheduler that does nothing yet.
func New(o Options) (*Scheduler, error) {
	if o.Jobs == nil || o.Verifier == nil || o.Examiner == nil || o.Ledger == nil || o.Finisher == nil || o.History == nil {
		return nil, errors.New("make scheduler: a port is missing")
	}
	if o.Clock == nil || o.Alarm == nil || o.After == nil || o.Random == nil {
		return nil, errors.New("make scheduler: clock, alarm, after and random are required")
	}
	if o.MaxParallel <= 0 {
		o.MaxParallel = 2 * runtime.NumCPU()
	}
	if o.Drain <= 0 {
		o.Drain = DefaultDrain
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Scheduler{
		o: o, rows: rows{origin: o.Origin, now: o.Clock.Now},
		stop: make(chan struct{}), kill: make(chan struct{}), opened: make(chan struct{}),
		builders: make(chan struct{}, max(2, runtime.NumCPU())),
		holds:    map[jobspec.Name]Hold{}, breakers: map[jobspec.Name]*Breaker{}, live: map[jobspec.Name]*run{}, ahead: map[jobspec.Name]*run{}, problems: map[jobspec.Name]Problem{},
		waiting: map[jobspec.Name]*run{}, seats: newSeats(o.MaxParallel),
	}, nil
}

// Run accounts for what happened while the service was off, then runs jobs until
// ctx ends, Shutdown is called or the ledger fails; then it drains. It returns
// when every goroutine and every run has ended. Its error is nil after a clean
// shutdown. It may be called once.
func (s *Scheduler) Run(ctx context.Context) error {
	defer s.o.Alarm.Stop()
	if err := s.open(); err != nil {
		return err
	}
	close(s.opened)
	s.serve(ctx)
	s.drain()
	return s.Broken()
}

// Opened is closed once Run has accounted for the past. Before that RunNow starts
// nothing.
func (s *Scheduler) Opened() <-chan struct{} { return s.opened }

// serve is the one loop: wait, take what is due, hand it over.
func (s *Scheduler) serve(ctx context.Context) {
	defer context.AfterFunc(ctx, s.nudge)()
	for ctx.Err() == nil && !s.ends() {
		s.tick()
		s.o.Alarm.Arm(s.nextAt())
		s.o.Alarm.Wait()
	}
}

// ends reports whether the shutdown has begun.
func (s *Scheduler) ends() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase == draining
}

// nextAt is the earliest instant at which something is to be done, or the zero
// time.
func (s *Scheduler) nextAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doubt != "" { // what is due waits
		return s.o.Clock.Now().Add(longestSleep)
	}
	at, _ := s.table.NextAt()
	if s.phase != serving {
		return at
	}
	now := s.o.Clock.Now()
	for _, t := range []time.Time{s.wakeAhead(now), s.wakeLater(now, s.o.Clock.Boot())} {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	return at
}

// nudge makes the loop look again.
func (s *Scheduler) nudge() { s.o.Alarm.Ring() }

// write makes rows durable. The first error is the end of all writing: the
// ledger's state is unknown then, and only a restart that reads it again can
// tell what it holds.
func (s *Scheduler) write(rows ...*record.Leaf) error {
	const batch = 256
	for len(rows) > 0 {
		if err := s.Broken(); err != nil {
			return err
		}
		n := min(batch, len(rows))
		if _, err := s.o.Ledger.Append(rows[:n]...); err != nil {
			s.fail(err)
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// fail ends the service's work: nothing runs that cannot be recorded.
func (s *Scheduler) fail(err error) {
	s.mu.Lock()
	if s.broken == nil {
		s.broken = &AuditError{Cause: err}
		s.o.Log.Error("the ledger cannot be written; nothing more starts", "cause", err.Error())
	}
	s.mu.Unlock()
	s.begin()
}

// Broken is why no rows can be written any more, nil while they can. The error
// is an *AuditError.
func (s *Scheduler) Broken() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// AuditError says that the ledger did not take a row.
type AuditError struct{ Cause error }

func (e *AuditError) Error() string { return "write ledger: " + e.Cause.Error() }

// Unwrap gives the cause.
func (e *AuditError) Unwrap() error { return e.Cause }

// Code is audit_unavailable.
func (e *AuditError) Code() string { return string(jobspec.CodeAuditUnavailable) }
