package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing/synctest"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/scheduler"
)

var simZones = []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Sydney", "Australia/Lord_Howe", "Asia/Kolkata"}

// spec draws the spec of the i-th job.
func (s *sim) spec(i int) *jobspec.Spec {
	m, h := s.r.IntN(60), s.r.IntN(24)
	sched := jobspec.Schedule{Timezone: simZones[s.r.IntN(len(simZones))], Missed: "skip", Overlap: [...]string{"skip", "queue", "replace"}[s.r.IntN(3)]}
	switch k := i % 25; {
	case i%100 == 0:
		sched.Cron = "* * * * *"
	case k < 2:
		sched.Cron = "*/10 * * * *"
	case k < 8:
		sched.Cron, sched.JitterSeconds = fmt.Sprintf("%d * * * *", m), int64(s.r.IntN(1800))
	case k < 13:
		sched.Cron = fmt.Sprintf("%d,%d 1-3 * * *", m%30, 30+m%30)
	case k < 16:
		sched.Cron, sched.JitterSeconds = fmt.Sprintf("%d %d * * *", m, h), int64(s.r.IntN(2)*s.r.IntN(7200))
	case k < 18:
		sched.Cron = fmt.Sprintf("%d %d * * 1-5", m, h)
	case k < 20:
		sched.Cron = fmt.Sprintf("%d */2 * * *", m)
	case k < 22:
		sched.Cron = fmt.Sprintf("%d,%d 2 * * 0,6", m%20, 20+m%20)
	case k == 22:
		sched.At = jobspec.InstantOf(s.clock.Now().Add(time.Duration(1+s.r.IntN(60*40)) * time.Minute))
	default:
		sched.EverySeconds = int64(60 * (7 + s.r.IntN(300)))
	}
	if s.r.IntN(2) == 0 {
		sched.Missed, sched.StartDeadlineSeconds = "once", int64(60*(2+s.r.IntN(118)))
	}
	if s.r.IntN(3) == 0 {
		sched.Retries = int64(1 + s.r.IntN(3))
	}
	return &jobspec.Spec{Argv: []string{"/bin/true"}, Schedule: sched}
}

// sign makes so many jobs of three principals and puts them in force.
func (s *sim) sign(jobs int) {
	for i := range jobs {
		name := fmt.Sprintf("%c%d", "abcd"[i%4], i)
		e := s.world.sign(name, s.spec(i))
		s.names = append(s.names, e.Job)
		s.entries = append(s.entries, s.owned(e))
	}
	s.jobs.Set(s.entries...)
}

func (s *sim) owned(e scheduler.Entry) scheduler.Entry {
	return of(e, jobspec.Principal([]string{"ann", "bob", "cid"}[len(e.Job)%3]), jobspec.Tier(1+len(e.Job)%3))
}

// replace signs another spec for a job, unless the clock was set back: what a chain
// says of time never goes back.
func (s *sim) replace() {
	if s.clock.Now().Before(s.highest) {
		return
	}
	i := s.r.IntN(len(s.names))
	for j := range s.entries {
		if e := &s.entries[j]; e.Job == s.names[i] && e.Until.IsZero() {
			e.Until = s.clock.Now()
		}
	}
	s.replaced++
	s.entries = append(s.entries, s.owned(s.world.sign(string(s.names[i]), s.spec(i+s.replaced))))
	s.jobs.Set(s.entries...)
	_ = s.s.Reload()
	synctest.Wait()
}

// boot starts the service on the simulated ledger.
func (s *sim) boot() {
	sched, err := scheduler.New(scheduler.Options{
		Jobs: s.jobs, Verifier: s.world, Examiner: s.box, Ledger: s.ledger, Finisher: s.box, History: s.ledger,
		Clock: s.clock, Alarm: s.clock.Alarm(), After: time.After, Random: s.random, MaxParallel: s.maxParallel,
		Shares: func() (scheduler.Shares, bool) {
			return scheduler.Shares{Principals: map[jobspec.Principal]int{"bob": 4}, Tiers: map[jobspec.Tier]int{jobspec.Workspace: 9}}, true
		},
		Origin: scheduler.Origin{Host: jobspec.HostID(strings.Repeat("ab", 16)), Boot: "boot", Version: "test", PID: 1},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.s, s.ended = sched, make(chan error, 1)
	go func() { s.ended <- sched.Run(context.Background()) }()
	synctest.Wait()
}

// judge recounts.
func (s *sim) judge() {
	for _, f := range s.ledger.faults {
		s.t.Error(f)
	}
	if n := len(s.ledger.open); n > 0 {
		s.t.Errorf("%d runs have no end", n)
	}
	walls := map[string]*wallMinutes{}
	for _, zone := range simZones {
		walls[zone] = lookAtWall(s.t, zone, s.start.Add(-4*time.Hour), s.clock.Now().Add(time.Minute))
	}
	seen, slots := map[slotsOf]bool{}, 0
	for _, e := range s.entries {
		due := walls[e.Schedule.Timezone].recount(e, s.clock.Now())
		slots += len(due)
		of := slotsOf{e.Job, e.Op}
		seen[of] = true
		s.compare(e, due, s.ledger.finals[of])
	}
	for of := range s.ledger.finals {
		if !seen[of] {
			s.t.Errorf("%s: rows about an op that was never in force", of.job)
		}
	}
	if slots == 0 || s.releases == 0 || s.kills == 0 {
		s.t.Errorf("nothing was tested: %d slots, %d payloads, down %d times", slots, s.releases, s.kills)
	}
}

// overtaken reports whether a slot was claimed a moment before its time, while its spec
// was in force, and the spec, or the course, ended in that moment: a claim has its end,
// and the slot was never due.
func (c coverage) overtaken(e scheduler.Entry, now time.Time) bool {
	end := now
	if !e.Until.IsZero() {
		end = e.Until
	}
	return c.count == 1 && !c.claimed.IsZero() && !c.claimed.After(end) && end.Sub(c.claimed) <= scheduler.ClaimAhead
}

// compare holds the slots that were due against the final rows.
func (s *sim) compare(e scheduler.Entry, due []dueSlot, rows []coverage) {
	type slot struct {
		civil int64
		fold  int8
	}
	place := make(map[slot]int, len(due))
	for i, d := range due {
		place[slot{d.civil, int8(d.fold)}] = i
	}
	count := make([]int, len(due))
	name := func(civil int64) string { return time.Unix(civil*60, 0).UTC().Format("01-02T15:04") }
	for _, c := range rows {
		first, ok := place[slot{c.first, c.firstF}]
		last, known := place[slot{c.last, c.lastF}]
		if !ok && c.overtaken(e, s.clock.Now()) {
			continue
		}
		if !ok || !known || int64(last-first+1) != c.count {
			s.t.Errorf("%s %q %s: a row covers %s#%d to %s#%d (%d), which was not due so", e.Job, e.Schedule.Cron, e.Schedule.Timezone, name(c.first), c.firstF, name(c.last), c.lastF, c.count)
			continue
		}
		for i := first; i <= last; i++ {
			count[i]++
		}
	}
	for i, n := range count {
		if n != 1 {
			s.t.Errorf("%s %q %s: slot %s#%d has %d final rows", e.Job, e.Schedule.Cron, e.Schedule.Timezone, name(due[i].civil), due[i].fold, n)
		}
	}
}
