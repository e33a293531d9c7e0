package scheduler

import (
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// A clock that cannot be believed starts nothing and covers nothing: what comes due
// by it waits, and is accounted for once the clock is right. A clock that shows a
// day years ahead would otherwise cover the slots of all those years, and the jobs
// would stay silent until they come.

// ClockDoubt says why the wall clock is not believed at this moment: clock_hold
// where it lies far before the highest time seen, clock_untrusted where it lies
// further ahead than anything vouches for. An empty code means that it is.
type ClockDoubt func() (code jobspec.Code, detail string)

// watchHold asks for the doubt, and gives a row when it begins, changes or ends.
// The caller holds mu.
func (s *Scheduler) watchHold() []*record.Leaf {
	if s.o.ClockDoubt == nil || s.phase != serving {
		return nil
	}
	code, detail := s.o.ClockDoubt()
	was := s.doubt
	s.doubt = code
	switch {
	case code == was:
		return nil
	case code == "":
		return []*record.Leaf{s.rows.clock(jobspec.CodeClockStepped, "the clock is believed again")}
	}
	s.o.Log.Error("the clock is not believed; nothing starts by it", "code", string(code), "cause", detail)
	return []*record.Leaf{s.rows.clock(code, detail)}
}

// ClockDoubt is why nothing comes due at the moment, "" where the clock is believed.
func (s *Scheduler) ClockDoubt() jobspec.Code {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doubt
}
