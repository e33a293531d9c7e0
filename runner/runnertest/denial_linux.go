package runnertest

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/jobspec/record"
	"github.com/sbxcron/sbxcron/runner"
	"github.com/sbxcron/sbxcron/runner/shim"
)

// denialCases say what becomes of a job that asks or wants more rights.
func denialCases() []Case {
	return []Case{
		{"every name of the table is refused and told", true, everyShim},
		{"a program of the table is covered at its real path", true, coveredPaths},
		{"helpers that ask are shims", true, askingHelpers},
		{"a denial makes a run that ends with 0 denied", true, deniedRun},
		{"an expected denial only changes its label", true, expectedDenial},
		{"the first denial ends a run that asks for that", true, endedAtFirst},
		{"trying the same again and again ends a run", true, endedByLoop},
		{"many different denials end a run", true, endedByNumber},
		{"the pipe for events cannot be read", true, pipeIsOneWay},
		{"bytes without an end before an attempt do not hide it", true, gluedAttempt},
		{"a link of another name to a program of the table is told", true, linkedShim},
		{"a job that floods the pipe harms only itself", false, floodedPipe},
		{"a flood of attempts is counted and harms nobody", true, floodOfAttempts},
		{"a quiet run has no denials", false, quietRun},
		{"an agent's own denials are told", false, agentDenials},
		{"an agent's result that cannot be understood is a failure", false, agentGibberish},
		{"an agent's result that was cut is a failure", false, agentCut},
	}
}

// denialsOf writes what a run was denied, one a line.
func denialsOf(r Result) string {
	var b strings.Builder
	for _, d := range r.End.Denials {
		fmt.Fprintf(&b, "%s %s x%d", d.Code, d.Target, d.Count)
		if d.Expected {
			b.WriteString(" expected")
		}
		if d.Certainty != "observed" || record.ParseStamp(d.FirstAt).IsZero() {
			b.WriteString(" ill-formed")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// wantDenied runs a job that must end denied, with exactly these denials.
func (l *Lab) wantDenied(j Job, want ...string) (Result, error) {
	r, err := l.run(j)
	if err != nil {
		return r, err
	}
	if r.End.Outcome != record.OutcomeDenied {
		return r, fmt.Errorf("ended as %s, %v, with %q; %s%s", r.End.Outcome, r.End.Reasons, denialsOf(r), r.Out, r.Err)
	}
	return r, wantText("list of denials", denialsOf(r), strings.Join(want, "\n")+"\n")
}

func everyShim(l *Lab) error {
	for _, t := range shim.Tools() {
		for _, name := range t.Names {
			if strings.HasSuffix(name, "-") {
				continue // real paths only
			}
			began := time.Now()
			j := shell(fmt.Sprintf("%s -n 'two words'; echo status $? > $TMPDIR/s; cat $TMPDIR/s", name))
			r, err := l.wantDenied(j, fmt.Sprintf(`%s %s -n "two words" x1`, t.Code, name))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if err := wantText(name, r.Out, fmt.Sprintf("status %d\n", t.Exit)); err != nil {
				return err
			}
			if took := time.Since(began); took > 5*time.Second {
				return fmt.Errorf("%s took %s", name, took)
			}
		}
	}
	return nil
}

func coveredPaths(l *Lab) error {
	real := shim.NewPlaces().Now()
	if len(real) == 0 {
		return &Missing{"any program of the table, such as su,"}
	}
	for _, path := range real {
		r, err := l.run(shell(path + " --version; echo $?"))
		if err != nil {
			return err
		}
		if r.End.Outcome != record.OutcomeDenied || len(r.End.Denials) != 1 || r.End.Denials[0].Target != filepath.Base(path)+" --version" {
			return fmt.Errorf("%s: %s, %q; %s%s", path, r.End.Outcome, denialsOf(r), r.Out, r.Err)
		}
	}
	return nil
}

func askingHelpers(l *Lab) error {
	_, err := l.wantDenied(shell(`"$SSH_ASKPASS" 'Enter passphrase: '; "$GIT_ASKPASS" 'Password: '; "$SUDO_ASKPASS"; "$EDITOR" f; "$GIT_EDITOR" g; "$BROWSER" http://x; exit 0`),
		`ask_askpass_ssh askpass-ssh "Enter passphrase: " x1`, `ask_askpass_git askpass-git "Password: " x1`, `ask_askpass_sudo askpass-sudo x1`,
		`ask_editor editor f x1`, `ask_editor editor g x1`, `ask_browser browser http://x x1`)
	return err
}

func deniedRun(l *Lab) error {
	r, err := l.wantDenied(shell("sudo id; sudo id; exit 0"), "esc_sudo sudo id x2")
	if err == nil && (!r.End.Exited || r.End.ExitCode != 0) {
		err = fmt.Errorf("the job's own status is %+v", r.End)
	}
	if err != nil {
		return err
	}
	r, err = l.wantDenied(shell("sudo id || exit 9"), "esc_sudo sudo id x1")
	if err == nil && r.End.ExitCode != 9 {
		err = fmt.Errorf("the job's own status is %+v", r.End)
	}
	return err
}

func expectedDenial(l *Lab) error {
	j := shell("for i in 1 2 3 4 5 6 7 8 9; do sudo id; done; exit 0")
	j.denials = jobspec.DenialRules{Expected: []jobspec.ExpectedDenial{{Code: jobspec.CodeEscSudo, Target: "sudo id"}}, Max: 2, OnDenial: "kill"}
	r, err := l.run(j)
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeSucceeded {
		return fmt.Errorf("ended as %s, %v", r.End.Outcome, r.End.Reasons)
	}
	if err := wantText("list of denials", denialsOf(r), "esc_sudo sudo id x9 expected\n"); err != nil {
		return err
	}
	j.body = "sudo ip; exit 0"
	_, err = l.wantDenied(j, "esc_sudo sudo ip x1") // another target is not expected
	return err
}

// wantEnded runs a job that would go on for long and must be ended early, for code.
func (l *Lab) wantEnded(j Job, code jobspec.Code) error {
	began := time.Now()
	r, err := l.run(j)
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeDenied || len(r.End.Reasons) != 1 || r.End.Reasons[0].Code != code || r.End.Reasons[0].Target == "" {
		return fmt.Errorf("ended as %s, %+v, with %q", r.End.Outcome, r.End.Reasons, denialsOf(r))
	}
	if took := time.Since(began); took > 5*time.Second || strings.Contains(r.Out, "went on") {
		return fmt.Errorf("ended after %s, said %q", took, r.Out)
	}
	if late := record.ParseStamp(r.End.Denials[0].FirstAt).Sub(r.End.StartedAt); late > time.Second {
		return fmt.Errorf("the first denial arrived %s after the start", late)
	}
	return nil
}

func endedAtFirst(l *Lab) error {
	j := shell("sudo id; sleep 3; echo went on")
	j.denials = jobspec.DenialRules{OnDenial: "kill"}
	return l.wantEnded(j, jobspec.CodeDenialKilled)
}

func endedByLoop(l *Lab) error {
	if err := l.wantEnded(shell("i=0; while [ $i -lt 300 ]; do i=$((i+1)); sudo id; done; echo went on"), jobspec.CodeDenialLoop); err != nil {
		return err
	}
	_, err := l.wantDenied(shell("for i in 1 2 3 4 5; do sudo id; done; sleep 0.3"), "esc_sudo sudo id x5")
	return err
}

func endedByNumber(l *Lab) error {
	j := shell("i=0; while [ $i -lt 4 ]; do i=$((i+1)); sudo id $i; done; sleep 3; echo went on")
	j.denials = jobspec.DenialRules{OnDenial: "fail", Max: 3}
	return l.wantEnded(j, jobspec.CodeDenialLoop)
}

func pipeIsOneWay(l *Lab) error {
	r, err := l.run(shell("[ -p " + runner.ChannelPath + " ]; echo $?; cat " + runner.ChannelPath + "; echo $?; echo x > /.sbxcron/bin/new; echo $?; echo x >> " + runner.ShimPath + "; echo $?; mv /.sbxcron/bin/sudo /tmp/sudo; echo $?"))
	if err != nil {
		return err
	}
	return wantText("answers", r.Out, "0\n1\n2\n2\n1\n")
}

func gluedAttempt(l *Lab) error {
	_, err := l.wantDenied(shell("printf x >> "+runner.ChannelPath+"; sudo id; exit 0"), "esc_sudo sudo id x1")
	return err
}

func linkedShim(l *Lab) error {
	real := shim.NewPlaces().Now()
	if len(real) == 0 {
		return &Missing{"any program of the table, such as su,"}
	}
	r, err := l.run(shell("ln -s " + real[0] + " $TMPDIR/innocent; $TMPDIR/innocent x; exit 0"))
	if err == nil && (r.End.Outcome != record.OutcomeDenied || len(r.End.Denials) != 1 || r.End.Denials[0].Target != "innocent x") {
		err = fmt.Errorf("ended as %s with %q", r.End.Outcome, denialsOf(r))
	}
	return err
}

func floodedPipe(l *Lab) error {
	began := time.Now()
	r, err := l.run(shell("timeout 2 cat /dev/zero >> " + runner.ChannelPath + "; sudo id; exit 0"))
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeDenied || denialsOf(r) != "esc_sudo sudo id x1\n" || time.Since(began) > 15*time.Second {
		return fmt.Errorf("ended as %s, %v, with %q, after %s", r.End.Outcome, r.End.Reasons, denialsOf(r), time.Since(began))
	}
	return nil
}

func floodOfAttempts(l *Lab) error {
	const forged = `printf 'sbxcron-attempt\0esc_sudo\0sudo\0sbxcron-attempt-end\0' >> ` + runner.ChannelPath
	j := shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); " + forged + "; done; exit 0")
	j.denials.Expected = []jobspec.ExpectedDenial{{Code: jobspec.CodeEscSudo, Target: "sudo"}}
	r, err := l.run(j)
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeSucceeded || denialsOf(r) != "esc_sudo sudo x20000 expected\n" {
		return fmt.Errorf("ended as %s, %v, with %q", r.End.Outcome, r.End.Reasons, denialsOf(r))
	}
	return nil
}

func quietRun(l *Lab) error {
	r, err := l.run(shell("command -v sudo > /dev/null; exit 3"))
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeFailed || len(r.End.Denials) != 0 {
		return fmt.Errorf("ended as %s with %q", r.End.Outcome, denialsOf(r))
	}
	return nil
}

// agent is a job that prints a result as an agent would.
func (l *Lab) agent(kind, result string) Job {
	dir := l.folder("agent")
	l.file(filepath.Join(dir, "result"), result, 0o644)
	j := shell("cat result").in(jobspec.ReadOnly, dir)
	j.result = kind
	return j
}

func agentDenials(l *Lab) error {
	for kind, result := range map[string]string{
		jobspec.ResultClaude: `{"type":"result","subtype":"success","is_error":false,"result":"done","permission_denials":[{"tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"git push"}}]}`,
		jobspec.ResultCodex: `{"type":"thread.started","thread_id":"1"}` + "\n" +
			`{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"git push","aggregated_output":"","exit_code":null,"status":"declined"}}` + "\n" +
			`{"type":"turn.completed","usage":{"input_tokens":1}}` + "\n",
		jobspec.ResultGemini: `{"session_id":"1","response":"done","stats":{"tools":{"byName":{"run_shell_command":{"count":1,"decisions":{"accept":0,"reject":1}}}}}}`,
	} {
		want := map[string]string{jobspec.ResultClaude: `Bash "git push"`, jobspec.ResultCodex: `command_execution "git push"`, jobspec.ResultGemini: "run_shell_command"}[kind]
		if _, err := l.wantDenied(l.agent(kind, result), "ask_agent_denied "+want+" x1"); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	r, err := l.run(l.agent(jobspec.ResultClaude, `{"type":"result","result":"done","permission_denials":[]}`))
	if err == nil && r.End.Outcome != record.OutcomeSucceeded {
		err = fmt.Errorf("a result without denials ended as %s, %v", r.End.Outcome, r.End.Reasons)
	}
	return err
}

func (l *Lab) wantUnreadable(j Job, why string) error {
	r, err := l.run(j)
	if err != nil {
		return err
	}
	if r.End.Outcome != record.OutcomeFailed || len(r.End.Reasons) != 1 || r.End.Reasons[0].Code != jobspec.CodeResultUnreadable || !strings.Contains(r.End.Reasons[0].Detail, why) {
		return fmt.Errorf("ended as %s, %+v", r.End.Outcome, r.End.Reasons)
	}
	return nil
}

func agentGibberish(l *Lab) error {
	for text, why := range map[string]string{"": "empty", "I am done.": "not JSON", `{"type":"result"}`: "permission_denials"} {
		if err := l.wantUnreadable(l.agent(jobspec.ResultClaude, text), why); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
	}
	return nil
}

func agentCut(l *Lab) error {
	text := `{"type":"result","permission_denials":[],"result":"` + strings.Repeat("x", 200<<10) + `"}`
	return l.wantUnreadable(l.agent(jobspec.ResultClaude, text), "were kept")
}
