package scheduler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/scheduler"
	"github.com/sbxcron/sbxcron/scheduler/schedulertest"
)

// Days of many jobs, with everything that goes wrong with a machine at random: the
// service is killed in the middle of a row, the machine is down for hours, clocks are
// set ahead and back, jobs are held, replaced, run by hand and canceled, gates refuse,
// sandboxes fail, payloads fail, are denied or run for too long. At the end a recount
// that shares no code with the scheduler says which slots were due, and each must have
// exactly one final row.
//
// SBXCRON_SIM_DAYS sets another length, SBXCRON_SIM_SEED repeats one course.
func TestSimulatedDaysCoverEachDueSlotWithExactlyOneFinalRow(t *testing.T) {
	days, jobs := 2, 150
	if os.Getenv("SBXCRON_TEST_SOAK") != "" {
		days, jobs = 30, 1000
	}
	if n := number(os.Getenv("SBXCRON_SIM_DAYS")); n > 0 {
		days = int(n)
	}
	seed := number(os.Getenv("SBXCRON_SIM_SEED"))
	if seed == 0 {
		seed = rand.Uint64()
	}
	// Thirty days from here see Sydney and Lord Howe go ahead, Berlin and New York back.
	start := "2026-10-03T00:00:10Z"
	if days < 10 {
		start = [...]string{"2026-10-03T09:00:10Z", "2026-10-24T09:00:10Z", "2026-10-31T09:00:10Z"}[seed%3]
	}
	t.Logf("seed %d, %d days from %s, %d jobs", seed, days, start, jobs)
	inWorld(t, start, func(w *world) {
		s := newSim(w, seed)
		w.maxParallel = max(16, jobs/10)
		s.sign(jobs)
		s.live(w.clock.Now().Add(time.Duration(days) * 24 * time.Hour))
		s.judge()
		t.Log(s.told())
	})
}

func number(s string) (n uint64) {
	_, _ = fmt.Sscan(s, &n)
	return n
}

// sim is a machine on which things go wrong.
type sim struct {
	*world
	r       *rand.Rand
	ledger  *simLedger
	start   time.Time
	highest time.Time
	names   []jobspec.Name
	entries []scheduler.Entry // every one, ended ones included

	mu       sync.Mutex
	pr       *rand.Rand // for payloads and gates, which work side by side
	releases int
	attempts map[string]int
	kills, steps, acts,
	replaced int
}

func newSim(w *world, seed uint64) *sim {
	s := &sim{world: w, r: rand.New(rand.NewPCG(1, seed)), pr: rand.New(rand.NewPCG(2, seed)), start: w.clock.Now(), highest: w.clock.Now(), attempts: map[string]int{}}
	s.ledger = newSimLedger(rand.New(rand.NewPCG(3, seed)))
	w.random = rand.NewChaCha8([32]byte{byte(seed)})
	w.box.Payload, w.box.Prepare, w.box.Refuse = s.payload, s.prepare, s.refuse
	return s
}

func (s *sim) chance(of int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pr.IntN(of) == 0
}

func (s *sim) refuse(jobspec.Name) []jobspec.Check {
	if s.chance(60) {
		return []jobspec.Check{{Code: jobspec.CodeKeyRevoked}}
	}
	return nil
}

func (s *sim) prepare(context.Context, jobspec.Name) error {
	switch {
	case s.chance(80):
		return errTest
	case s.chance(2000):
		panic("a defect")
	}
	return nil
}

// payload runs for a while and ends in some way.
func (s *sim) payload(p *schedulertest.Process) record.End {
	s.mu.Lock()
	s.releases++
	s.attempts[p.Run]++
	n := s.attempts[p.Run]
	long, how := time.Duration(s.pr.IntN(8))*15*time.Second, s.pr.IntN(20)
	if how == 0 {
		long = time.Duration(s.pr.IntN(90)) * time.Minute
	}
	s.mu.Unlock()
	if !s.ledger.mayRelease(p.Run, n) {
		s.t.Errorf("attempt %d of run %s of %s was let go without a durable row", n, p.Run, p.Job)
	}
	end := s.lasting(constant(long))(p)
	switch {
	case end.Outcome == record.OutcomeKilled:
	case how < 5:
		end.Outcome, end.ExitCode = record.OutcomeFailed, 1
	case how == 5:
		end.Outcome = record.OutcomeTimedOut
	case how == 6 && p.Job[0] == 'd':
		end.Outcome, end.Denials = record.OutcomeDenied, []record.Denial{{Code: jobspec.CodeEscSudo, Certainty: "observed", Count: 1}}
	}
	return end
}

// live lets time pass until an instant.
func (s *sim) live(end time.Time) {
	s.boot()
	for s.clock.Now().Before(end) {
		s.pass(s.step())
		s.see()
		s.happen()
		if s.s.Broken() != nil {
			s.down()
		}
		s.see()
	}
	s.see()
	// Whatever the clocks showed, it comes; and what runs ends.
	s.clock.Set(s.highest)
	s.passBy(20*time.Second, 3)
	s.end()
	s.ledger.restart()
	s.boot()
	s.passBy(20*time.Second, 3)
	s.end()
}

// see keeps the highest time that any clock has shown.
func (s *sim) see() {
	if t := s.clock.Now(); t.After(s.highest) {
		s.highest = t
	}
}

// step is to the next alarm, or past it.
func (s *sim) step() time.Duration {
	now := s.clock.Now()
	if at := s.clock.Next(); s.r.IntN(2) == 0 && at.After(now) {
		return min(at.Sub(now), time.Minute)
	}
	return time.Duration(s.r.IntN(45)) * time.Second
}

// down is a service that does not run for a while.
func (s *sim) down() {
	s.kills++
	s.end()
	s.ledger.restart()
	s.mu.Lock()
	clear(s.attempts)
	s.mu.Unlock()
	away := time.Duration(s.r.IntN(300)) * time.Second
	if s.r.IntN(12) == 0 {
		away = time.Duration(s.r.IntN(9*60)) * time.Minute
	}
	s.clock.Advance(away)
	s.boot()
}

// happen lets something happen, now and then.
func (s *sim) happen() {
	switch k := s.r.IntN(3000); {
	case k < 6:
		s.ledger.stopAfter(s.r.IntN(8))
	case k < 8:
		s.steps++
		s.clock.Set(s.clock.Now().Add(time.Duration(s.r.IntN(4*60)-2*60) * time.Minute))
		synctest.Wait()
	case k < 60:
		s.acts++
		s.act(s.names[s.r.IntN(len(s.names))])
	case k < 63:
		s.replace()
	case k < 65:
		s.down()
	}
}

// act is something that an operator does. Whether it is refused does not matter.
func (s *sim) act(job jobspec.Name) {
	by := record.Requester{UID: 7}
	switch s.r.IntN(6) {
	case 0:
		_ = s.s.Hold(job, by, scheduler.Remark{})
	case 1:
		_ = s.s.HoldUntil(job, by, scheduler.Remark{}, s.clock.Now().Add(time.Duration(s.r.IntN(6*60))*time.Minute))
	case 2:
		_, _ = s.s.RunNow(job, by)
	case 3:
		if runs := s.s.Running(); len(runs) > 0 {
			_ = s.s.Cancel(runs[s.r.IntN(len(runs))].Run, by)
		}
	default:
		for held := range s.s.Holds() {
			_ = s.s.Release(held, by)
		}
	}
	synctest.Wait()
}

// told are the figures of a course.
func (s *sim) told() string {
	slots := 0
	for _, n := range s.ledger.outcomes {
		slots += n
	}
	return fmt.Sprintf("simulation: %d jobs, %s, %d slots due, %d rows, %d payloads let go, service down %d times, %d clock steps, %d acts, %d replaced; outcomes %v",
		len(s.names), s.clock.Now().Sub(s.start).Round(time.Hour), slots, s.ledger.rows, s.releases, s.kills, s.steps, s.acts, s.replaced, s.ledger.outcomes)
}
