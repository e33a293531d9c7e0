//go:build linux

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// Bug reports of other programs about work that runs while nobody is there.
func TestUnattendedCases(t *testing.T) {
	h := newHouse(t)
	h.permit(nil)
	// Variables that make other services believe that somebody is there, or that
	// nobody minds.
	h.start("HERMES_EXEC_ASK=1", "HERMES_INTERACTIVE=1", "HERMES_YOLO_MODE=1", "CI=", "TERM=xterm", "SBXCRON_INTERACTIVE=1", "DEBIAN_FRONTEND=dialog")
	showAll(t, h, []control{
		{"102 explain says what the trigger does", explainSaysWhatTheTriggerDoes},
		{"103 the same no again and again", theSameNoAgain},
		{"105b one rule for every separator, one judgement for every run", judgedAlone},
		{"105d silence is a no", silenceIsANo},
		{"106 a word is refused at add, not at night", wordIsRefusedAtAdd},
		{"107b surroundings do not make it attended", surroundingsDoNotCount},
		{"108 a no that is no setting", noThatIsNoSetting},
		{"111 114 115 a denial is no success and is told by the observer", denialIsNoSuccess},
		{"112 an open standard input", openStandardInput},
		{"117 118 a prompt that nobody sees", promptThatNobodySees},
		{"120 121 helpers that ask, at any depth", helpersThatAsk},
		{"124 a folder below another that is open", folderBelowAnother},
	})
}

func explainSaysWhatTheTriggerDoes(h *house) {
	dir := h.script("u102", canary)
	h.add("u102", dir, "workspace", "./job.sh")
	h.allowed("u102")
	h.row("u102", "succeeded", "")
	for code, change := range map[jobspec.Code]func(top, alice map[string]any){
		jobspec.CodeCmdDeniedRule:       func(top, _ map[string]any) { top["rules"] = rules([3]string{"deny", "no", "job.sh"}) },
		jobspec.CodeAskAtTrigger:        func(top, _ map[string]any) { top["rules"] = rules([3]string{"ask", "asks", "job.sh"}) },
		jobspec.CodeCmdNotAllowed:       func(top, _ map[string]any) { top["managed_only"] = map[string]any{"commands": true} },
		jobspec.CodeTierOverCeiling:     func(_, alice map[string]any) { alice["max_tier"] = "scratch" },
		jobspec.CodeLimitOverCeiling:    func(_, alice map[string]any) { alice["limits"] = map[string]any{"timeout": "1m"} },
		jobspec.CodeTTLOverCeiling:      func(_, alice map[string]any) { alice["max_ttl"] = "1d" },
		jobspec.CodePrincipalDisabled:   func(_, alice map[string]any) { alice["disabled"] = true },
		jobspec.CodePrincipalUnknown:    func(top, _ map[string]any) { top["principals"] = map[string]any{} },
		jobspec.CodeSbxPlatformDisabled: func(top, _ map[string]any) { top["enabled_platforms"] = []any{} },
		jobspec.CodePolicySchema:        func(top, _ map[string]any) { top["serial"] = 0 },
	} {
		h.permit(change)
		h.refused("u102", code)
	}
	if n := h.starts(dir); n != 1 {
		h.t.Errorf("the payload began %d times, want once", n)
	}
}

// A program that does not understand a no is ended, long before it has filled a
// disk with its tries.
func theSameNoAgain(h *house) {
	dir := h.script("u103", "i=0; while [ $i -lt 100000 ]; do sudo id; i=$((i+1)); done 2>/dev/null; echo over")
	h.add("u103", dir, "read-only", "./job.sh")
	begin := time.Now()
	r := h.row("u103", "denied", "")
	if took := time.Since(begin); took > 20*time.Second || strings.Contains(h.text(r), "over") {
		h.t.Errorf("it took %s and says %q", took, h.text(r))
	}
	if len(r.Denials) != 1 || r.Denials[0].Code != jobspec.CodeEscSudo || r.Denials[0].Count < 5 || r.Denials[0].Count > 10000 {
		h.t.Errorf("denials: %+v", r.Denials)
	}
}

// Each spelling of a chain meets the same rule, and a refusal of one run says
// nothing of the runs beside it.
func judgedAlone(h *house) {
	h.permit(func(top, _ map[string]any) { top["rules"] = rules([3]string{"deny", "no-id", "id"}) })
	for _, text := range []string{"true && id", "true ; id", "true | id", "true\nid"} {
		d := h.dryRun("u105x", "--schedule", never, "--", "/bin/sh", "-c", text)
		if !slices.Contains(d.codes(), jobspec.CodeCmdDeniedRule) {
			h.t.Errorf("%q: %+v", text, d)
		}
	}
	h.permit(nil)
	h.add("u105no", h.script("u105no", "true"), "workspace", "./job.sh")
	h.add("u105yes", h.script("u105yes", "true"), "workspace", "./job.sh")
	h.put(filepath.Join(h.work, "u105no", "job.sh"), "#!/bin/sh\nfalse\n", 0o755)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { h.row("u105no", "refused", jobspec.CodeDriftExecHash) })
		all.Go(func() { h.row("u105yes", "succeeded", "") })
		all.Wait()
	}
}

// Words on a pipe are no answer: whoever answers sits at a terminal, or says the
// id of the question.
func silenceIsANo(h *house) {
	for _, says := range []string{"", strings.Repeat("y\nallow\n", 100)} {
		cmd := h.command(nil, "add", "u105d", "--schedule", never, "--yes", "--", "/bin/sh", "-c", "echo hello")
		cmd.Stdin = strings.NewReader(says)
		begin := time.Now()
		out, err := cmd.CombinedOutput()
		if exitCode(err) != 13 || !strings.Contains(string(out), string(jobspec.CodeCmdAskUnanswered)) && !strings.Contains(string(out), "--answer") {
			h.t.Errorf("%.20q: exit %d\n%s", says, exitCode(err), out)
		}
		if took := time.Since(begin); took > 15*time.Second {
			h.t.Errorf("%.20q: it took %s", says, took)
		}
	}
}

func wordIsRefusedAtAdd(h *house) {
	h.refusedFile(jobspec.CodeSpecUnknownField, plain("u106")+"elevated = true\n")
	h.refusesToAdd(jobspec.CodeTierForbidden, "u106", "--schedule", never, "--yes", "--tier", "elevated", "--", "/bin/true")
	h.refusesToAdd(jobspec.CodeCmdPrivilege, "u106", "--schedule", never, "--yes", "--", "/usr/bin/nice", "su")
}

func surroundingsDoNotCount(h *house) {
	dir := h.script("u107", canary)
	h.add("u107", dir, "workspace", "./job.sh")
	h.permit(func(top, _ map[string]any) { top["rules"] = rules([3]string{"ask", "asks", "job.sh"}) })
	h.row("u107", "refused", jobspec.CodeAskAtTrigger)
	r := h.runEnv([]string{"HERMES_INTERACTIVE=1", "TERM=xterm", "SBXCRON_ANSWER=allow"}, "run", "u107", "--wait")
	if r.code != 125 || !strings.Contains(r.err, string(jobspec.CodeAskAtTrigger)) || h.starts(dir) != 0 {
		h.t.Errorf("run by hand: exit %d, %d starts\n%s", r.code, h.starts(dir), r.err)
	}
}

func noThatIsNoSetting(h *house) {
	h.add("u108", h.script("u108", "true"), "workspace", "./job.sh")
	for i, key := range []string{"cron_mode", "approvals", "ask_timeout", "default_decision", "headless", "on_missing_answer", "fail_open"} {
		h.permit(func(top, _ map[string]any) { top[key] = "approve" })
		h.row("u108", "refused", jobspec.CodePolicySchema)
		if i > 1 {
			continue // the reader of jobs is the same for all
		}
		h.refusedFile(jobspec.CodeSpecUnknownField, plain("u108x")+key+" = \"approve\"\n")
	}
}

// The job ends with 0 and says that nothing was denied. The record is written by
// who saw the denial.
func denialIsNoSuccess(h *house) {
	dir := h.script("u111", "mkdir .codex; echo '{\"denials\":[],\"outcome\":\"succeeded\"}'; exit 0")
	h.add("u111", dir, "workspace", "./job.sh")
	if r := h.run("run", "u111", "--wait"); r.code != 77 {
		h.t.Errorf("run --wait: exit %d, want 77\n%s", r.code, r.err)
	}
	r := h.last("u111")
	if r.Outcome != "denied" || r.ExitCode == nil || *r.ExitCode != 0 || len(r.Denials) != 1 || r.Denials[0].Certainty != "observed" {
		h.t.Errorf("the row: %+v", r)
	}
}

func openStandardInput(h *house) {
	dir := h.script("u112", "read x && echo got; cat; python3 -c 'input()' 2>/dev/null; echo over")
	h.add("u112", dir, "read-only", "./job.sh")
	begin := time.Now()
	if says := h.text(h.row("u112", "succeeded", "")); says != "over\n" {
		h.t.Errorf("it says %q", says)
	}
	if took := time.Since(begin); took > 20*time.Second {
		h.t.Errorf("it took %s", took)
	}
}

// An agent's dialog: one that looks for a terminal ends, and one that waits for
// ever meets the timeout.
func promptThatNobodySees(h *house) {
	dir := h.mkdir("u117")
	h.put(filepath.Join(dir, "dialog.sh"), "#!/bin/sh\nread -r answer </dev/tty || exit 3\necho \"$answer\"\n", 0o755)
	h.put(filepath.Join(dir, "waits.sh"), "#!/bin/sh\necho 'Do you trust this folder? [y/N]'\nwhile :; do sleep 0.1; done\n", 0o755)
	h.add("u117", dir, "read-only", "./dialog.sh")
	h.must(append([]string{"add"}, yearly("u118", dir, "read-only", "--timeout", "1s", "--limit", "grace=1s", "--", "./waits.sh")...)...)
	begin := time.Now()
	r := h.trigger("u117")
	if r.Outcome == "succeeded" || time.Since(begin) > 15*time.Second {
		h.t.Errorf("a dialog without a terminal: %s after %s", r.Outcome, time.Since(begin))
	}
	h.row("u118", "timed_out", "")
}

// Programs that start others hand their surroundings on, so what asks is a no
// however deep it lies, and no terminal is tried after it.
func helpersThatAsk(h *house) {
	dir := h.script("u120", `[ "$GIT_TERMINAL_PROMPT" = 0 ] && echo "no terminal"
sh -c 'env nice "$GIT_ASKPASS" "Password for https://example.org:"' || echo "git: $?"
sh -c 'env nice "$SSH_ASKPASS" "Enter passphrase:"' || echo "ssh: $?"
su -c id </dev/null || echo "su: $?"`)
	h.add("u120", dir, "read-only", "./job.sh")
	begin := time.Now()
	r := h.row("u120", "denied", "")
	if took := time.Since(begin); took > 15*time.Second {
		h.t.Errorf("it took %s", took)
	}
	says := h.text(r)
	for _, want := range []string{"no terminal", "git: ", "ssh: ", "su: "} {
		if !strings.Contains(says, want) {
			h.t.Errorf("it says %q, which lacks %q", says, want)
		}
	}
	var codes []jobspec.Code
	for _, d := range r.Denials {
		codes = append(codes, d.Code)
	}
	if !slices.Equal(codes, []jobspec.Code{jobspec.CodeAskAskpassGit, jobspec.CodeAskAskpassSSH, jobspec.CodeEscSu}) {
		h.t.Errorf("denials: %+v", r.Denials)
	}
}

// The folder that a job works in and the paths that it names are found by one
// resolver: what is open by one is usable by the other.
func folderBelowAnother(h *house) {
	outer := h.mkdir("u124")
	inner := h.script("u124/inner", "cat ../beside; pwd")
	h.put(filepath.Join(outer, "beside"), "seen\n", 0o644)
	h.permit(func(_, alice map[string]any) { alice["read"] = []any{outer} })
	h.must(append([]string{"add"}, yearly("u124", inner, "workspace", "--read", outer, "--", "./job.sh")...)...)
	if says := h.text(h.row("u124", "succeeded", "")); says != "seen\n"+inner+"\n" {
		h.t.Errorf("it says %q", says)
	}
}

// A slot is judged by the rules of its moment, with no command, no terminal and
// no person anywhere near.
func TestUnattendedSlot(t *testing.T) {
	h := newHouse(t)
	dir := h.script("u100", canary)
	h.must("add", "u100", "--schedule", "* * * * *", "--yes", "--cwd", dir, "--tier", "workspace", "--", "./job.sh")
	h.permit(func(top, _ map[string]any) { top["managed_only"] = map[string]any{"commands": true} })
	h.start(soon())
	t.Run("100 a slot is judged by the rules of its moment", func(t *testing.T) {
		at := h.under(t)
		var rows []api.Run
		for deadline := time.Now().Add(30 * time.Second); len(rows) == 0 && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			rows = items[api.Run](at, "history", "u100")
		}
		if len(rows) == 0 {
			t.Fatal("the slot has no row")
		}
		r := rows[len(rows)-1]
		if r.Outcome != "refused" || r.Trigger != "schedule" || r.Reasons[0].Code != jobspec.CodeCmdNotAllowed || at.starts(dir) != 0 {
			t.Errorf("the row of the slot: %+v; %d starts", r, at.starts(dir))
		}
	})
}
