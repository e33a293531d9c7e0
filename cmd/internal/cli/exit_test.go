package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

func TestHelpExitCodesAgreesWithTheCodes(t *testing.T) {
	b := newBench(t)
	if status := b.run("help", "exit-codes"); status != 0 {
		t.Fatalf("exit %d", status)
	}
	listed := map[int]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\d+) +(\w+) +(\S.*)$`).FindAllStringSubmatch(b.out.String(), -1) {
		n, _ := strconv.Atoi(m[1])
		if _, twice := listed[n]; !twice {
			listed[n] = m[2]
		}
	}
	for _, c := range jobspec.Classes() {
		if listed[c.Exit()] != string(c) {
			t.Errorf("%d is listed as %q, the code says %q", c.Exit(), listed[c.Exit()], c)
		}
		if classWords(c) == "" {
			t.Errorf("%s has no words", c)
		}
	}
	for _, code := range jobspec.Codes() {
		if listed[code.Class().Exit()] == "" {
			t.Errorf("%s exits with %d, which is not listed", code, code.Class().Exit())
		}
	}
	for _, n := range []int{0, exitTimedOut, exitNotStarted} {
		if listed[n] == "" {
			t.Errorf("%d is not listed", n)
		}
	}
}

func TestEveryCodeHasMessageHintAndItsOwnStatus(t *testing.T) {
	for _, code := range jobspec.Codes() {
		b := newBench(t)
		b.svc.errs["jobs"] = api.New(code, "something about "+string(code))
		status := b.run("--json", "list")
		e := b.errorDoc()
		if status != code.Class().Exit() || e.Exit != status || status == 0 || e.ErrCode != string(code) || e.Class != string(code.Class()) || e.Message == "" || e.Help == "" {
			t.Errorf("exit %d, %+v", status, e)
		}
		if b.out.Len() != 0 {
			t.Errorf("%s: standard output holds %q", code, b.out.String())
		}
	}
}

func TestAnErrorNeverLooksLikeASuccess(t *testing.T) {
	for _, err := range []error{fmt.Errorf("plain"), &api.Error{ErrCode: "moon_phase", Message: "m"}, exitStatus(3), withStatus{fmt.Errorf("x"), 125}} {
		b := newBench(t)
		b.svc.errs["jobs"] = err
		if status := b.run("list"); status == 0 {
			t.Errorf("%#v: exit 0", err)
		}
	}
}

func TestABrokenCommandLineIsAnsweredInTheFormItAsksFor(t *testing.T) {
	b := newBench(t)
	if status := b.run("--nonsense", "--json"); status != 64 || !json.Valid(b.err.Bytes()) {
		t.Errorf("exit %d, %s", status, b.err.String())
	}
	if status := b.run("run", "x", "--nonsense", "--", "--json"); status != 64 || json.Valid(b.err.Bytes()) {
		t.Errorf("exit %d, %s", status, b.err.String())
	}
}

func TestRunWaitEndsAsTheJobDid(t *testing.T) {
	started := &noon
	for name, tc := range map[string]struct {
		run  api.Run
		want int
		code string
	}{
		"succeeded":         {api.Run{Outcome: "succeeded", StartedAt: started, ExitCode: ptr(int64(0))}, 0, ""},
		"its own status":    {api.Run{Outcome: "failed", StartedAt: started, ExitCode: ptr(int64(3))}, 3, "run_ended"},
		"timed out":         {api.Run{Outcome: "timed_out", StartedAt: started, Signal: "SIGTERM", Reasons: []api.Reason{{Code: jobspec.CodeLimitTimeout}}}, 124, "limit_timeout"},
		"timed out, then 0": {api.Run{Outcome: "timed_out", StartedAt: started, ExitCode: ptr(int64(0))}, 124, "run_ended"},
		"killed":            {api.Run{Outcome: "killed", StartedAt: started, Signal: "SIGKILL", Reasons: []api.Reason{{Code: jobspec.CodeCanceled}}}, 137, "canceled"},
		"segmentation":      {api.Run{Outcome: "failed", StartedAt: started, Signal: "SEGV"}, 139, "run_ended"},
		"denied, ended 0":   {api.Run{Outcome: "denied", StartedAt: started, ExitCode: ptr(int64(0)), Reasons: []api.Reason{{Code: jobspec.CodeEscSudo}}}, 77, "esc_sudo"},
		"denied, ended 2":   {api.Run{Outcome: "denied", StartedAt: started, ExitCode: ptr(int64(2))}, 2, "run_ended"},
		"killed, ended 0":   {api.Run{Outcome: "killed", StartedAt: started, ExitCode: ptr(int64(0))}, 1, "run_ended"},
		"unknown outcome":   {api.Run{Outcome: "odd", StartedAt: started, ExitCode: ptr(int64(0))}, 1, "run_ended"},
		"refused":           {api.Run{Outcome: "refused", Reasons: []api.Reason{{Code: jobspec.CodeTierOverCeiling}}}, 125, "tier_over_ceiling"},
		"held":              {api.Run{Outcome: "held", Reasons: []api.Reason{{Code: jobspec.CodeJobHeld}}}, 125, "job_held"},
		"skipped":           {api.Run{Outcome: "skipped", Reasons: []api.Reason{{Code: jobspec.CodeOverlapSkipped}}}, 125, "overlap_skipped"},
		"lost":              {api.Run{Outcome: "lost", StartedAt: started, Reasons: []api.Reason{{Code: jobspec.CodeLostRun}}}, 125, "lost_run"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			tc.run.Run, tc.run.Job = runID, "nightly"
			b.svc.runs = []api.Run{tc.run}
			status := b.run("--json", "run", "nightly", "--wait")
			if status != tc.want {
				t.Errorf("exit %d, want %d\n%s", status, tc.want, b.err.String())
			}
			if tc.code != "" {
				if e := b.errorDoc(); e.ErrCode != tc.code || e.Exit != tc.want || e.Message == "" || e.Help == "" {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

func TestRunWithoutWaitEndsWithTheClassOfARefusal(t *testing.T) {
	b := newBench(t)
	b.svc.runs = []api.Run{{Run: runID, Job: "nightly", Outcome: "running"}}
	if status := b.run("run", "nightly"); status != 0 || b.out.String() != runID+"\n" {
		t.Errorf("accepted: exit %d, %q", status, b.out.String())
	}
	b.svc.runs = []api.Run{{Run: runID, Job: "nightly", Outcome: "refused", Reasons: []api.Reason{{Code: jobspec.CodeSbxBackendMissing}}}}
	if status := b.run("run", "nightly"); status != 14 {
		t.Errorf("refused: exit %d, want 14", status)
	}
	b.svc.errs["start"] = api.New(jobspec.CodeChainRollback, "the chain was cut back")
	for args, want := range map[string]int{"": 12, "--wait": 125} {
		line := []string{"--json", "run", "nightly"}
		if args != "" {
			line = append(line, args)
		}
		if status := b.run(line...); status != want || b.errorDoc().ErrCode != "chain_rollback" {
			t.Errorf("a broken chain, %q: exit %d, want %d", args, status, want)
		}
	}
}

func TestAuditVerifyIsNeverZeroOnNothingChecked(t *testing.T) {
	pass := api.Audit{Authentic: "pass", Intact: "pass", Complete: "pass", Runs: "not_checked", Ops: 3}
	for name, tc := range map[string]struct {
		change func(*api.Audit)
		want   int
	}{
		"all pass":           {func(*api.Audit) {}, 0},
		"no anchor":          {func(a *api.Audit) { a.Authentic = "not_checked" }, 3},
		"a failure wins":     {func(a *api.Audit) { a.Authentic, a.Complete = "not_checked", "fail" }, 20},
		"runs fail":          {func(a *api.Audit) { a.Runs = "fail" }, 20},
		"nothing there":      {func(a *api.Audit) { a.Ops = 0 }, 3},
		"an unknown verdict": {func(a *api.Audit) { a.Intact = "maybe" }, 3},
		"an empty answer":    {func(a *api.Audit) { *a = api.Audit{} }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.svc.audit = pass
			tc.change(&b.svc.audit)
			if status := b.run("audit", "verify"); status != tc.want {
				t.Errorf("exit %d, want %d", status, tc.want)
			}
		})
	}
}

func TestOtherPlatformsRefuseToRunByName(t *testing.T) {
	for _, platform := range []Platform{"darwin", "windows", ""} {
		for _, args := range [][]string{{"daemon"}, {"run", "nightly"}} {
			b := newBench(t)
			b.platform = platform
			b.svc.runs = []api.Run{{Run: runID, Outcome: "succeeded"}}
			status := b.run(append([]string{"--json"}, args...)...)
			if e := b.errorDoc(); e.ErrCode != string(jobspec.CodeSbxPlatformDisabled) || status == 0 || len(b.daemon) != 0 {
				t.Errorf("%s on %q: exit %d, %+v", args, platform, status, e)
			}
		}
	}
}

func TestTheDaemonTakesFlagsOnly(t *testing.T) {
	b := newBench(t)
	if status := b.run("--root", "/srv/x", "daemon", "--log-format", "json", "--max-parallel", "3", "--drain", "5s"); status != 0 || len(b.daemon) != 1 {
		t.Fatalf("exit %d", status)
	}
	if o := b.daemon[0]; o.Root != "/srv/x" || o.LogFormat != "json" || o.MaxParallel != 3 || o.Drain.Seconds() != 5 {
		t.Errorf("options %+v", o)
	}
}
