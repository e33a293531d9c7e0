package notify

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/notify/send"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

// A clock that was years ahead for a minute leaves times behind that would keep
// everything silent for years.
func TestAClockThatWasAheadSilencesNothing(t *testing.T) {
	w := newWorld(t)
	w.job("a")
	w.job("b")
	w.would["b"] = record.Reason{Code: jobspec.CodeDriftScript}
	failing := func(send.Task) send.Result { return send.Result{Class: send.Delayed, Text: "503"} }
	n := w.start()
	w.pass(365 * day)
	w.end("a", record.OutcomeFailed)
	n.turn(t)
	if got := w.told(); !strings.HasPrefix(got, "ops:failed a; ops:would_be_refused b; ") || strings.Count(got, "expiring") != 2 {
		t.Errorf("told %q", got)
	}
	w.answers = failing
	w.end("a", record.OutcomeDenied)
	want(t, w, n, "ops:denied a")
	w.answers = nil
	w.pass(-365 * day)
	want(t, w, n, "ops:denied a; ops:would_be_refused b again, 0")
	w.end("a", record.OutcomeFailed)
	want(t, w, n, "ops:failed a again, 3")
	w.end("a", record.OutcomeFailed)
	want(t, w, n, "")
	w.pass(77 * day)
	w.would = map[jobspec.Name]record.Reason{}
	n.turn(t)
	if got := w.told(); strings.Count(got, "expiring") != 2 {
		t.Errorf("of two approvals that end in 13 days was told %q", got)
	}
}

// Who can write the state can only make it tell too much or a reminder too late.
func TestAForgedStateNeitherSilencesForLongNorEndsTheService(t *testing.T) {
	for name, forge := range map[string]func(*state){
		"told in the future": func(s *state) {
			s.Desk.Problems["a"] = &problem{Told: map[jobspec.Event]time.Time{jobspec.EventFailed: time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)}}
		},
		"lines that are not there":    func(s *state) { s.Next = math.MaxInt64 },
		"an attempt in the future":    func(s *state) { forgeItem(s, time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC), 0) },
		"an attempt that never comes": func(s *state) { forgeItem(s, time.Time{}, 0) },
		"tries below zero":            func(s *state) { forgeItem(s, time.Unix(1, 0), -7) },
		"tries that overflow":         func(s *state) { forgeItem(s, time.Unix(1, 0), math.MaxInt) },
		"paced in the future": func(s *state) {
			s.Boxes["ops"] = &outbox{Sent: []time.Time{time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.job("a")
			n := w.start()
			n.turn(t)
			forge(n.state)
			text, err := json.Marshal(n.state)
			if err != nil {
				t.Fatal(err)
			}
			n.dirty = true
			n.save()
			if err := os.WriteFile(statePath(w.dirs), text, 0o600); err != nil {
				t.Fatal(err)
			}
			w.answers = func(send.Task) send.Result { return send.Result{Class: send.Delayed, Text: "503"} }
			n = w.start()
			n.turn(t)
			w.answers = nil
			w.watcher = nil
			w.end("a", record.OutcomeFailed) // by a service that was killed before it looked
			n.dirty = true
			n.look()
			n.save()
			n = w.start()
			w.pass(longWait)
			n.turn(t)
			if got := w.told(); !strings.Contains(got, "ops:failed a") {
				t.Errorf("told %q", got)
			}
		})
	}
}

func forgeItem(s *state, next time.Time, tries int) {
	s.Boxes["ops"] = &outbox{Items: []item{{Notice: send.Notice{Event: "failed", Job: "b"}, Since: next, Next: next, Tries: tries}}}
}

// What waits is written to the disk that runs wait for. A job chooses its last
// lines, and gets no more of the state than what would be sent of them.
func TestTheOutputOfAJobDoesNotFillTheState(t *testing.T) {
	w := newWorld(t, jobspec.Channel{Name: "watch", Kind: jobspec.ChannelPing, OutputLines: 100})
	w.job("a")
	w.outputs["r.out"] = strings.Repeat("\x01", 1<<20)
	w.outputs["r.err"] = strings.Repeat("\xff", 1<<20)
	w.answers = func(send.Task) send.Result { return send.Result{Class: send.Delayed, Text: "503"} }
	n := w.start()
	for range maxPings {
		w.end("a", record.OutcomeFailed)
	}
	n.turn(t)
	info, err := os.Stat(statePath(w.dirs))
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(maxPings * 8 << 10); info.Size() > most {
		t.Errorf("the state has %d bytes, more than %d", info.Size(), most)
	}
}
