package cli

import (
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// What somebody meets who uses sbxcron for the first time.

func TestStatusCallsAServiceThatDoesNotRunAProblem(t *testing.T) {
	b := newBench(t)
	b.svc.status = api.Status{Health: "ok"}
	if code := b.run("--json", "status"); code != 3 || !strings.Contains(b.out.String(), `"health":"service_down"`) {
		t.Errorf("exit %d, %s", code, b.out.String())
	}
	b.svc.status = api.Status{Health: "ok", Service: true, PID: 7}
	if code := b.run("status"); code != 0 {
		t.Errorf("exit %d, %s", code, b.out.String())
	}
}

func TestHistoryTellsANameWithATypingErrorFromAJobThatDidNotRun(t *testing.T) {
	b := newBench(t)
	b.svc.jobs = []api.Job{{Job: "nightly"}}
	if code := b.run("history", "nightly"); code != 0 || !strings.Contains(b.err.String(), "no runs") {
		t.Errorf("exit %d, %s", code, b.err.String())
	}
	if code := b.run("history", "nihgtly"); code != 4 || !strings.Contains(b.err.String(), `no job "nihgtly"`) {
		t.Errorf("exit %d, %s", code, b.err.String())
	}
}

func TestLogsOfARunThatDidNotStartSaySo(t *testing.T) {
	b := filledBench(t)
	refused := api.Run{Run: runID, Job: "nightly", Outcome: "refused", Reasons: []api.Reason{{Code: jobspec.CodeDriftExecHash}}}
	b.svc.runs = []api.Run{refused}
	b.svc.output = nil
	if code := b.run("logs", runID); code != 0 || b.out.Len() != 0 || !strings.Contains(b.err.String(), "did not start (refused drift_exec_hash)") {
		t.Errorf("exit %d, %q, %q", code, b.out.String(), b.err.String())
	}
}

func TestLogsOfAJobWithoutAStartedRunTellItFromATypingError(t *testing.T) {
	b := newBench(t)
	b.svc.jobs = []api.Job{{Job: "nightly"}}
	b.svc.runs = []api.Run{{Run: runID, Job: "nightly", Outcome: "refused"}}
	if code := b.run("logs", "nightly"); code != 4 || !strings.Contains(b.err.String(), "no run that started") || !strings.Contains(b.err.String(), "sbxcron history nightly") {
		t.Errorf("exit %d, %s", code, b.err.String())
	}
	b.svc.runs = nil
	if code := b.run("logs", "nihgtly"); code != 4 || !strings.Contains(b.err.String(), `no job "nihgtly"`) || !strings.Contains(b.err.String(), "list prints") {
		t.Errorf("exit %d, %s", code, b.err.String())
	}
}

// What the service cannot hold is told when the job is signed, not by its first
// refused run; an owner without a service is told nothing that only it could know.
func TestAddTellsWhatTheServiceLacksForTheJob(t *testing.T) {
	for _, service := range []bool{true, false} {
		b := newBench(t)
		b.svc.status.Service = service
		b.svc.explained = api.Explanation{Checks: []jobspec.Check{{Step: "schedule", Verdict: "no", Code: jobspec.CodeJobHeld},
			{Step: "sandbox", Verdict: "no", Code: jobspec.CodeSbxFeatureMissing, Target: "limits.memory", Remedy: jobspec.CgroupRemedy}}}
		code := b.run(line(plainJob, []string{"--yes"}, command)...)
		told := strings.Contains(b.err.String(), "refused as the service is now: sbx_feature_missing: limits.memory") && strings.Contains(b.err.String(), "Delegate=yes")
		if code != 0 || len(b.svc.submitted) != 1 || told != service || strings.Contains(b.err.String(), "job_held") {
			t.Errorf("service %v: exit %d, %d submitted, %s", service, code, len(b.svc.submitted), b.err.String())
		}
	}
}

// bash expands ~ after a colon in NAME=path:~/PLACE.
func TestAPlaceThatTheShellExpandedIsToldToBeQuoted(t *testing.T) {
	b := newBench(t)
	if code := b.run(line(plainJob, []string{"--credential", "pg=path:/home/alice/.pgpass"}, command)...); code != 64 || !strings.Contains(b.err.String(), `'pg=path:~/.pgpass'`) {
		t.Errorf("exit %d, %s", code, b.err.String())
	}
}

func TestALimitThatCannotBeReadIsToldHowItIsWritten(t *testing.T) {
	for text, want := range map[string]string{
		"tmp=1G": "512MiB", "output=0": "512MiB", "pids=many": "whole number", "grace=10": "15m", "grace=0s": "15m", "cpus=x": "1.5",
	} {
		b := newBench(t)
		if code := b.run(line(plainJob, []string{"--limit", text}, command)...); code != 64 || !strings.Contains(b.err.String(), want) {
			t.Errorf("%s: exit %d, %s", text, code, b.err.String())
		}
	}
}

// A damaged ledger is no empty one.
func TestHistorySaysWhereTheLedgerCannotBeRead(t *testing.T) {
	for _, args := range [][]string{{"history"}, {"-q", "history", "nightly"}, {"--json", "history"}} {
		b := newBench(t)
		b.svc.status = api.Status{Health: "store_corrupt", Problems: []api.Reason{{Code: jobspec.CodeStoreCorrupt, Target: api.LedgerTarget, Detail: "line 7"}}}
		if code := b.run(args...); code != 3 || !strings.Contains(b.err.String(), "store_corrupt: ledger: line 7") {
			t.Errorf("%q: exit %d, %s", args, code, b.err.String())
		}
	}
}

func TestABrokenCommandLineIsToldHowTheCommandIsWritten(t *testing.T) {
	for want, args := range map[string][]string{
		"sbxcron apply FILE.json FILE.json.sig": {"apply", "one.json"},
		"sbxcron plan remove NAME":              {"plan", "remove"},
		"sbxcron list":                          {"list", "extra"},
		"sbxcron history [NAME]":                {"history", "--sinc", "7d"},
	} {
		b := newBench(t)
		if code := b.run(args...); code != 64 || !strings.Contains(b.err.String(), "write: "+want) {
			t.Errorf("%q: exit %d, %s", args, code, b.err.String())
		}
	}
}

func TestApplyingTwiceDoesNotAdviseToRunTheCommandOnceMore(t *testing.T) {
	for _, code := range []jobspec.Code{jobspec.CodeHeadMoved, jobspec.CodeSeqInvalid} {
		if e := api.Wrap(applyError(api.New(code, "seq 1 is taken"))); !strings.Contains(e.Help, "in force already") || e.ErrCode != code {
			t.Errorf("%+v", e)
		}
	}
}

func TestALostRunWasLetRunAndAKilledOneShowsItsStatusAsSuch(t *testing.T) {
	b := filledBench(t)
	nine := int64(9)
	b.svc.runs = []api.Run{{Run: runID, Job: "nightly", Outcome: "lost"}}
	if code := b.run("explain", runID); code != 0 || !strings.Contains(b.out.String(), "decision: allow") {
		t.Errorf("exit %d, %s", code, b.out.String())
	}
	if got := outcomeWords(api.Run{Outcome: "killed", ExitCode: &nine}); got != "killed, exit 9" {
		t.Error(got)
	}
	if got := outcomeWords(api.Run{Outcome: "failed", ExitCode: &nine}); got != "failed 9" {
		t.Error(got)
	}
}
