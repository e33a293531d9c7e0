package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// clockRows prints what the ledger says of the clock.
func (w *world) clockRows() string {
	var lines []string
	for _, l := range w.ledger.Rows() {
		if l.Kind == record.Alert && l.Job == "" {
			lines = append(lines, string(l.Reasons[0].Code)+": "+l.Reasons[0].Detail)
		}
	}
	return strings.Join(lines, "\n")
}

func (w *world) wantClock(lines ...string) {
	w.t.Helper()
	if got, want := w.clockRows(), strings.Join(lines, "\n"); got != want {
		w.t.Errorf("of the clock:\n%s\nwant:\n%s", got, want)
	}
}

// starts counts the runs of a job.
func (w *world) starts(job jobspec.Name) (n int) {
	for _, l := range w.ledger.Rows() {
		if l.Job == job && (l.Kind == record.Started || l.Kind == record.Claimed) {
			n++
		}
	}
	return n
}

// Case T2: the wall clock goes on by four minutes.
func TestAClockSetAheadByMinutesRunsAJobOnceAndAccountsForEachSlot(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		m := w.job("m", "* * * * *", "UTC")
		w.jobs.Set(m)
		w.box.Payload = w.lasting(constant(time.Second))
		w.boot()
		w.clock.Set(w.clock.Now().Add(4 * time.Minute)) // 12:04:30
		w.pass(10 * time.Second)
		if n := w.starts("m"); n != 1 {
			t.Errorf("%d runs: %q", n, w.rows())
		}
		if n := w.covered(m, w.clock.Now()); n != 4 {
			t.Errorf("%d slots were due", n)
		}
		w.wantClock("clock_stepped: the clock was set ahead by 4m0s")
		for _, l := range w.ledger.Rows() {
			if l.Kind == record.Missed && l.Reasons[0].Detail != "the clock was set ahead by 4m0s" {
				t.Errorf("the row does not say why: %+v", l.Reasons)
			}
		}
	})
}

// Case T5: the wall clock goes back behind a slot that ran.
func TestAClockSetBackRunsNoSlotTwice(t *testing.T) {
	inWorld(t, "2026-11-30T02:29:30Z", func(w *world) {
		fixed, minutely := w.job("fixed", "30 2 * * *", "UTC"), w.job("m", "* * * * *", "UTC")
		w.jobs.Set(fixed, minutely)
		w.boot()
		w.pass(time.Minute) // 02:30:30
		w.clock.Set(w.clock.Now().Add(-40 * time.Minute))
		for range 45 {
			w.pass(time.Minute)
		}
		if n := w.starts("fixed"); n != 1 {
			t.Errorf("%d runs: %q", n, w.rows())
		}
		w.covered(fixed, w.clock.Now())
		w.covered(minutely, w.clock.Now())
		w.wantClock("clock_stepped: the clock was set back by 40m0s")
	})
}

// Case T6: the clock is not believed, as after a snapshot was put back.
func TestNothingComesDueByAClockThatIsNotBelieved(t *testing.T) {
	inWorld(t, "2026-11-30T12:00:30Z", func(w *world) {
		var code jobspec.Code
		w.doubt = func() (jobspec.Code, string) { return code, "it lies behind" }
		m := w.job("m", "* * * * *", "UTC")
		w.jobs.Set(m)
		w.boot()
		w.pass(time.Minute) // runs 12:01
		code = jobspec.CodeClockUntrusted
		w.clock.Set(w.clock.Now().Add(3 * 365 * 24 * time.Hour))
		for range 5 {
			w.pass(time.Minute)
		}
		if got := w.s.ClockDoubt(); got != code {
			t.Errorf("the doubt is %q", got)
		}
		w.want("started m 30T12:01", "finished m 30T12:01 succeeded") // the three years cover nothing

		code = ""
		w.clock.Set(parse(t, "2026-11-30T12:06:30Z"))
		w.pass(time.Minute)
		w.covered(m, w.clock.Now())
		if last := w.rows()[len(w.rows())-1]; last != "finished m 30T12:07 succeeded" {
			t.Errorf("it ends with %q", last)
		}
		if got := w.clockRows(); !strings.Contains(got, "clock_untrusted: it lies behind") || !strings.Contains(got, "clock_stepped: the clock is believed again") {
			t.Errorf("of the clock:\n%s", got)
		}
	})
}
