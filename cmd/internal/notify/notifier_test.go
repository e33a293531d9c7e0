package notify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/cmd/internal/engine"
	"github.com/sbxcron/sbxcron/cmd/internal/notify/send"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
)

func want(t *testing.T, w *world, n *Notifier, told string) {
	t.Helper()
	n.turn(t)
	if got := w.told(); got != told {
		t.Errorf("told %q, want %q", got, told)
	}
}

func TestOneOpenProblemAJobIsToldOnceThenRarelyAndThenClosed(t *testing.T) {
	w := newWorld(t)
	w.job("a")
	n := w.start()
	want(t, w, n, "")
	w.end("a", record.OutcomeSucceeded)
	want(t, w, n, "")
	w.end("a", record.OutcomeFailed)
	want(t, w, n, "ops:failed a")
	for range 23 {
		w.pass(time.Hour)
		w.end("a", record.OutcomeFailed)
		want(t, w, n, "")
	}
	w.pass(time.Hour)
	w.end("a", record.OutcomeTimedOut)
	want(t, w, n, "ops:failed a again, 25")
	w.append(&record.Leaf{Kind: record.Refused, Job: "a", Outcome: record.OutcomeRefused, Reasons: []record.Reason{{Code: jobspec.CodePolicyParse}}})
	want(t, w, n, "ops:refused a")
	w.end("a", record.OutcomeSucceeded)
	want(t, w, n, "ops:recovered a")
	w.end("a", record.OutcomeSucceeded)
	want(t, w, n, "")
	w.end("a", record.OutcomeFailed)
	want(t, w, n, "ops:failed a")
}

func TestEachKindOfLineHasItsEvent(t *testing.T) {
	reason := func(c jobspec.Code) []record.Reason { return []record.Reason{{Code: c}} }
	slot := &jobspec.Slot{Civil: "2026-12-01T00:00", Zone: "UTC"}
	for _, c := range []struct {
		leaf record.Leaf
		want jobspec.Event
	}{
		{record.Leaf{Kind: record.Finished, Outcome: record.OutcomeFailed}, "failed"},
		{record.Leaf{Kind: record.Finished, Outcome: record.OutcomeTimedOut}, "failed"},
		{record.Leaf{Kind: record.Finished, Outcome: record.OutcomeKilled}, "failed"},
		{record.Leaf{Kind: record.Finished, Outcome: record.OutcomeDenied}, "denied"},
		{record.Leaf{Kind: record.Finished, Outcome: record.OutcomeRefused, Reasons: reason(jobspec.CodeKeyRevoked)}, "key_revoked"},
		{record.Leaf{Kind: record.Refused, Outcome: record.OutcomeRefused, Reasons: reason(jobspec.CodeExpired)}, "refused"},
		{record.Leaf{Kind: record.Refused, Outcome: record.OutcomeRefused, Reasons: reason(jobspec.CodeKeyRevoked)}, "key_revoked"},
		{record.Leaf{Kind: record.Lost, Outcome: record.OutcomeLost}, "failed"},
		{record.Leaf{Kind: record.Missed, Outcome: record.OutcomeMissed, Slot: slot}, "missed"},
		{record.Leaf{Kind: record.Held, Reasons: reason(jobspec.CodeBreakerOpen)}, "refused"},
		{record.Leaf{Kind: record.Held}, ""}, // somebody did that
		{record.Leaf{Kind: record.Held, Outcome: record.OutcomeHeld, Slot: slot, Reasons: reason(jobspec.CodeBreakerOpen)}, ""},
		{record.Leaf{Kind: record.Skipped, Outcome: record.OutcomeSkipped, Slot: slot}, ""},
		{record.Leaf{Kind: record.Notified}, ""},
		{record.Leaf{Kind: record.Alert, Reasons: reason(jobspec.CodeDriftScript)}, ""}, // asked of the engine
		{record.Leaf{Kind: record.OpAccepted}, ""},
	} {
		c.leaf.Job = "j"
		if got := eventOf(&c.leaf); got != c.want {
			t.Errorf("%+v: %q, want %q", c.leaf, got, c.want)
		}
	}
}

func TestAJobIsToldAboutWhatItNamesAndWhatIsForAll(t *testing.T) {
	w := newWorld(t)
	w.conf.Default = []jobspec.Event{jobspec.EventMissed}
	w.conf.Always = []jobspec.Event{jobspec.EventDenied}
	w.job("names", jobspec.EventFailed)
	w.job("names-none")
	n := w.start()
	for _, job := range []jobspec.Name{"names", "names-none"} {
		w.end(job, record.OutcomeFailed)
		w.end(job, record.OutcomeDenied)
		w.append(&record.Leaf{Kind: record.Missed, Job: job, Outcome: record.OutcomeMissed})
	}
	want(t, w, n, "ops:failed names; ops:denied names; ops:denied names-none; ops:missed names-none")
}

func TestAChannelTakesWhatItIsFor(t *testing.T) {
	w := newWorld(t,
		jobspec.Channel{Name: "all", Kind: jobspec.ChannelWebhook, Host: true},
		jobspec.Channel{Name: "bobs", Kind: jobspec.ChannelWebhook, Principals: []jobspec.Principal{"bob"}},
		jobspec.Channel{Name: "one", Kind: jobspec.ChannelWebhook, Jobs: []jobspec.Name{"b"}},
		jobspec.Channel{Name: "denied", Kind: jobspec.ChannelWebhook, Events: []jobspec.Event{jobspec.EventDenied}},
		jobspec.Channel{Name: "pings", Kind: jobspec.ChannelPing, Jobs: []jobspec.Name{"b"}})
	w.job("a")
	w.job("b")
	n := w.start()
	w.end("a", record.OutcomeFailed)
	want(t, w, n, "all:failed a")
	w.append(&record.Leaf{Kind: record.Started, Job: "b"})
	w.end("b", record.OutcomeDenied)
	n.turn(t)
	got := w.told()
	for _, s := range []string{"all:denied b", "one:denied b", "denied:denied b", "pings:started b; ", "pings:denied b"} {
		if !strings.Contains(got+"; ", s) {
			t.Errorf("%q lacks %q", got, s)
		}
	}
	if strings.Contains(got, "bobs") {
		t.Errorf("told %q", got)
	}
	w.append(&record.Leaf{Kind: record.Started, Job: "b"})
	w.end("b", record.OutcomeSucceeded)
	n.turn(t)
	if got := w.told(); !strings.Contains(got, "pings:started b; ") || !strings.Contains(got, "pings:succeeded b") || strings.Contains(got, "denied:") {
		t.Errorf("told %q", got)
	}
	w.faults = []api.Reason{{Code: jobspec.CodeChainBroken}}
	want(t, w, n, "all:audit_failed")
	want(t, w, n, "")
	w.faults = []api.Reason{{Code: jobspec.CodeChainBroken}, {Code: jobspec.CodePolicyParse}}
	want(t, w, n, "all:would_be_refused")
	w.faults = nil
	want(t, w, n, "all:recovered")
}

func TestTheNextSlotIsToldOfBeforeItComes(t *testing.T) {
	w := newWorld(t)
	w.job("a")
	w.job("b")
	w.known = false // nobody has judged anything yet
	n := w.start()
	want(t, w, n, "")
	w.known = true
	w.would["a"] = record.Reason{Code: jobspec.CodeDriftScript, Target: "/srv/x"}
	w.would["b"] = record.Reason{Code: jobspec.CodeKeyRevoked}
	n.turn(t)
	if got := w.told(); !strings.Contains(got, "ops:would_be_refused a") || !strings.Contains(got, "ops:key_revoked b") {
		t.Errorf("told %q", got)
	}
	want(t, w, n, "")
	w.end("a", record.OutcomeSucceeded) // a run that was under way
	want(t, w, n, "")
	w.known = false // a restart: not known is not mended
	n = w.start()
	want(t, w, n, "")
	w.known = true
	delete(w.would, "a")
	want(t, w, n, "ops:recovered a")
}

func TestTheEndOfAnApprovalIsToldFourTimes(t *testing.T) {
	w := newWorld(t)
	w.job("a")
	w.jobs["short"] = engine.Watched{Name: "short", Principal: "alice", Active: true, Created: w.now, Expires: w.now.Add(3 * day)}
	n := w.start()
	var days []string
	for d := range 92 {
		n.turn(t)
		if got := w.told(); got != "" {
			days = append(days, fmt.Sprintf("%d: %s", d, got))
		}
		if d == 80 {
			n = w.start()
		}
		w.pass(day)
	}
	if got := strings.Join(days, ", "); got != "2: ops:expiring short, 3: ops:expiring short, 76: ops:expiring a, 83: ops:expiring a, 89: ops:expiring a, 90: ops:expiring a" {
		t.Errorf("told on days %s", got)
	}
	w.job("a") // renewed
	want(t, w, n, "")
}

func TestNothingThatAJobCanMakeUpLeavesUnlessItIsConfigured(t *testing.T) {
	w := newWorld(t, jobspec.Channel{Name: "bare", Kind: jobspec.ChannelWebhook},
		jobspec.Channel{Name: "open", Kind: jobspec.ChannelWebhook, Details: true, OutputLines: 2})
	w.job("a")
	w.outputs["r.out"] = "one\ntwo\nthree\n"
	n := w.start()
	w.append(&record.Leaf{Kind: record.Finished, Job: "a", Run: "r", Outcome: record.OutcomeDenied, Exited: true, ExitCode: 4,
		Denials: []record.Denial{{Code: jobspec.CodeEscSudo, Expected: true}, {Code: jobspec.CodeNetDeniedDomain, Target: "secret-bits.example.org:443"}}})
	n.turn(t)
	for _, task := range w.tasks {
		got := task.Notice
		open := task.Channel.Name == "open"
		if got.Code != string(jobspec.CodeNetDeniedDomain) || (got.Target != "") != open || len(got.Output) != map[bool]int{true: 2}[open] || *got.ExitCode != 4 {
			t.Errorf("%s: %+v", task.Channel.Name, got)
		}
	}
	if len(w.tasks) != 2 {
		t.Errorf("%d tasks", len(w.tasks))
	}
}

func TestADeliveryIsTriedAgainRecordedAndShown(t *testing.T) {
	w := newWorld(t)
	w.job("a")
	w.answers = func(send.Task) send.Result { return send.Result{Class: send.Delayed, Text: "503 busy"} }
	n := w.start()
	w.end("a", record.OutcomeFailed)
	want(t, w, n, "ops:failed a")
	first := w.leaves[len(w.leaves)-1]
	if first.Kind != record.Notified || first.Channel != "ops" || first.Event != "failed" || first.Reasons[0].Code != jobspec.CodeNoticeUndelivered || first.Notes == nil {
		t.Errorf("recorded %+v", first)
	}
	if p := n.Problems(); len(p) != 1 || p[0].Code != jobspec.CodeNoticeUndelivered || p[0].Target != "ops" || !strings.Contains(p[0].Detail, "503 busy") {
		t.Errorf("problems %+v", p)
	}
	before := len(w.leaves)
	tries := 0
	for range 60 * 10 {
		w.pass(time.Minute)
		n.turn(t)
		if w.told() != "" {
			tries++
		}
	}
	if tries < 12 || tries > 16 || len(w.leaves) != before {
		t.Errorf("%d attempts in ten hours, %d new lines", tries, len(w.leaves)-before)
	}
	n = w.start() // the state outlives a restart
	w.answers = nil
	w.pass(time.Hour)
	want(t, w, n, "ops:failed a")
	last := w.leaves[len(w.leaves)-1]
	if last.Kind != record.Notified || len(last.Reasons) != 0 || last.Count != 1 || len(n.Problems()) != 0 {
		t.Errorf("recorded %+v, problems %+v", last, n.Problems())
	}
}

func TestANoticeIsGivenUpAfterDaysAndTheNextSaysSo(t *testing.T) {
	w := newWorld(t)
	w.job("a")
	w.job("b")
	w.answers = func(send.Task) send.Result { return send.Result{Class: send.Refused, Text: "550 no"} }
	n := w.start()
	w.end("a", record.OutcomeFailed)
	for range 24*3 + 2 {
		n.turn(t)
		w.pass(time.Hour)
	}
	last := w.leaves[len(w.leaves)-1]
	if last.Kind != record.Notified || last.Notes != nil || len(last.Reasons) != 1 || n.state.Boxes["ops"].Dropped != 1 {
		t.Errorf("recorded %+v", last)
	}
	w.told()
	w.answers = nil
	w.end("b", record.OutcomeFailed)
	n.turn(t)
	if len(w.tasks) != 1 || w.tasks[0].Notice.Dropped != 1 {
		t.Errorf("%+v", w.tasks)
	}
}

// Ten thousand jobs that are refused at once are a few notices.
func TestAStormBecomesDigests(t *testing.T) {
	w := newWorld(t)
	const jobs = 10_000
	for i := range jobs {
		w.job(jobspec.Name(fmt.Sprintf("j%05d", i)))
	}
	n := w.start()
	for name := range w.jobs {
		w.append(&record.Leaf{Kind: record.Refused, Job: name, Outcome: record.OutcomeRefused, Reasons: []record.Reason{{Code: jobspec.CodePolicyParse}}})
	}
	sent, counted := 0, int64(0)
	for range 6 {
		n.turn(t)
		for _, task := range w.tasks {
			sent++
			counted++
			for _, m := range task.Notice.More {
				counted += m.Count
			}
			if len(task.Notice.More) > maxFurther {
				t.Errorf("%d lines", len(task.Notice.More))
			}
		}
		w.told()
		w.pass(time.Hour)
	}
	if sent > 45 || counted != jobs {
		t.Errorf("%d notices about %d jobs", sent, counted)
	}
}

func TestWhatIsWrittenWhileTheQueueIsFullOrNobodyLooksIsToldAll(t *testing.T) {
	w := newWorld(t)
	w.conf.Reminder = time.Hour
	n := w.start()
	n.turn(t)
	const jobs = maxQueue + 500
	for i := range jobs {
		name := jobspec.Name(fmt.Sprintf("j%05d", i))
		w.job(name)
		w.end(name, record.OutcomeFailed)
	}
	if n.queue.dropped != 500 {
		t.Errorf("%d did not fit", n.queue.dropped)
	}
	n.look()
	if got := len(n.state.Desk.Problems); got != jobs {
		t.Errorf("%d problems, want %d", got, jobs)
	}
	for name, p := range n.state.Desk.Problems {
		if p.Count != 1 {
			t.Fatalf("%s counted %d times", name, p.Count)
		}
	}
	n.save()
	w.watcher = nil // the service is killed between the line and the notice
	w.job("late")
	w.end("late", record.OutcomeFailed)
	n = w.start()
	n.look()
	if n.state.Desk.Problems["late"] == nil || len(n.state.Desk.Problems) != jobs+1 || n.state.Next != w.LedgerLen() {
		t.Errorf("%d problems, next %d of %d", len(n.state.Desk.Problems), n.state.Next, w.LedgerLen())
	}
}

func TestAFaultInTheFileLeavesTheLastGoodOneInForce(t *testing.T) {
	w := newWorld(t)
	w.job("a")
	n := w.start()
	n.turn(t)
	w.confErr = errors.New("line 3: unknown key")
	w.end("a", record.OutcomeFailed)
	want(t, w, n, "ops:failed a")
	if p := n.Problems(); len(p) != 1 || p[0].Code != jobspec.CodeNoticeConfig || !strings.Contains(p[0].Detail, "line 3") {
		t.Errorf("%+v", p)
	}
}

func TestAMissingCredentialIsToldByNameAndNothingIsSent(t *testing.T) {
	w := newWorld(t, jobspec.Channel{Name: "ops", Kind: jobspec.ChannelWebhook, Secret: "gone"})
	w.job("a")
	n := w.start()
	w.end("a", record.OutcomeFailed)
	want(t, w, n, "")
	if p := n.Problems(); len(p) != 1 || !strings.Contains(p[0].Detail, "credential gone") {
		t.Errorf("%+v", p)
	}
}

func TestDamagedStateBeginsAnew(t *testing.T) {
	w := newWorld(t)
	w.job("a")
	n := w.start()
	w.end("a", record.OutcomeFailed)
	want(t, w, n, "ops:failed a")
	for _, text := range []string{"", "{", `{"schema":"sbxcron.notify/v1"}`, `{"schema":"x"}`} {
		if err := os.WriteFile(statePath(w.dirs), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		n = w.start()
		want(t, w, n, "")
	}
	w.end("a", record.OutcomeFailed)
	want(t, w, n, "ops:failed a")
}

// A server that hangs, a ledger that fills, a service that ends: the road of a run
// waits for none of it.
func TestAServerThatHangsHoldsNobodyUp(t *testing.T) {
	w := newWorld(t, jobspec.Channel{Name: "hangs", Kind: jobspec.ChannelWebhook}, jobspec.Channel{Name: "works", Kind: jobspec.ChannelNtfy})
	w.job("a")
	ctx, stop := context.WithCancel(t.Context())
	works := make(chan struct{}, 1)
	w.answers = func(task send.Task) send.Result {
		if task.Channel.Name == "hangs" {
			<-ctx.Done()
			return send.Result{Class: send.Delayed, Text: "cut short"}
		}
		works <- struct{}{}
		return send.Result{Class: send.Delivered}
	}
	n := w.start()
	ended := make(chan struct{})
	go func() { n.Run(ctx); close(ended) }()
	began := time.Now()
	var slowest time.Duration
	for range 20_000 {
		one := time.Now()
		w.end("a", record.OutcomeFailed)
		slowest = max(slowest, time.Since(one))
	}
	t.Logf("20,000 lines in %s, the slowest %s", time.Since(began), slowest)
	if slowest > time.Second {
		t.Errorf("a line waited %s", slowest)
	}
	select {
	case <-works:
	case <-time.After(10 * time.Second):
		t.Error("the other channel waits for the one that hangs")
	}
	stop()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
	if p := n.state.Desk.Problems["a"]; p == nil || p.Count != 20_000 || n.state.Next < 20_000 {
		t.Errorf("%+v, next %d", p, n.state.Next)
	}
	if o := n.state.Boxes["hangs"]; len(o.Items) != 1 || !o.Failing.IsZero() {
		t.Errorf("what was cut short: %+v", o)
	}
}
