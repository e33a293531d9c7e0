package jobspec

import (
	"slices"
	"strings"
	"testing"
)

func withInnerOff(p *Policy) { p.AgentInnerSandbox = innerOff }

func noAgents(p *Policy) { p.AgentCLI = "deny" }

// good are command lines that fail on a question and can work in the sandbox:
// each asks once and is refused for nothing.
func TestAgentsThatFailOnAQuestionAreAskedAboutOnly(t *testing.T) {
	for _, c := range []struct {
		argv string
		env  map[string]string
		ask  string
	}{
		{"claude -p --permission-mode dontAsk prompt", nil, "floor.agent"},
		{"claude --print --permission-mode=dontAsk --output-format json prompt", nil, "floor.agent"},
		{"claude -p --permission-prompts none prompt", nil, "floor.agent"},
		{"/usr/local/bin/claude -p --permission-mode dontAsk x", nil, "floor.agent"},
		{"claude -p --permission-mode dontAsk --settings settings.json x", nil, "floor.agent"},
		{"codex -a never exec -s danger-full-access prompt", nil, "floor.agent_inner"},
		{"codex exec --sandbox=danger-full-access prompt", nil, "floor.agent_inner"},
		{"codex exec -c sandbox_mode=danger-full-access prompt", nil, "floor.agent_inner"},
		{"gemini -p prompt --approval-mode default", nil, "floor.agent"},
		{"gemini -p prompt --approval-mode default --sandbox=false", nil, "floor.agent_inner"},
		{"openclaw agent --session-id nightly --message hi", nil, "floor.agent"},
		{"hermes chat -q hi", nil, "floor.agent"},
		{"aider --message hi", nil, "floor.agent"},
		{"opencode run hi", nil, "floor.agent"},
		{"goose run -t hi", map[string]string{"GOOSE_MODE": "approve"}, "floor.agent"},
		{"env GOOSE_MODE=chat goose run -t hi", nil, "floor.agent"},
		{"cursor-agent -p hi", nil, "floor.agent"},
		{"amp -x hi", nil, "floor.agent"},
		{"q chat --no-interactive hi", nil, "floor.agent"},
		{"copilot -p hi", nil, "floor.agent"},
		{"env A=b timeout 5m claude -p --permission-mode dontAsk x", nil, "floor.agent"},
	} {
		v := judgeTrial(t, trial{argv: words(c.argv), env: c.env, policy: withInnerOff})
		if len(v.no) > 0 || !slices.Contains(v.asks, c.ask) {
			t.Errorf("%s: noes %v, asks %v: %+v", c.argv, v.no, v.asks, v.d.Refusals())
		}
	}
}

func TestFlagsThatAnswerQuestionsAreRefused(t *testing.T) {
	for _, argv := range []string{
		"claude -p --dangerously-skip-permissions x", "claude -p --dangerously-skip-perm x", "claude -p --allow-dangerously-skip-permissions x",
		"claude -p --permission-mode bypassPermissions x", "claude -p --permission-mode=acceptEdits x", "claude -p --permissionMode auto x",
		"claude -p --permission-mode dontAsk --permission-prompt-tool mcp__x__y x",
		`claude -p --permission-mode dontAsk --settings {"permissions":{"defaultMode":"bypassPermissions"}} x`,
		`claude -p --permission-mode dontAsk --settings={"skipDangerousModePermissionPrompt":true} x`,
		`claude -p --permission-mode dontAsk --settings {broken x`, `claude -p --permission-mode dontAsk --settings {"permissions":{"defaultMode":7}} x`,
		`claude -p --permission-mode dontAsk --settings {"permissions":{"defaultMode":"bypassPermissions","DefaultMode":"plan"}} x`,
		`claude -p --permission-mode dontAsk --settings {"permissions":{"defaultMode":"bypassPermissions"},"Permissions":{"defaultMode":"plan"}} x`,
		`claude -p --permission-mode dontAsk --settings {"skipDangerousModePermissionPrompt":true,"SkipDangerousModePermissionPrompt":false} x`,
		"codex exec --dangerously-bypass-approvals-and-sandbox x", "codex exec --yolo x", "codex exec -s danger-full-access --full-auto x",
		"codex -a on-request exec -s danger-full-access x", "codex -aon-request exec -s danger-full-access x", "codex --ask-for-approval=untrusted exec x",
		"codex exec -s danger-full-access -c approval_policy=on-failure x", `codex exec -s danger-full-access -c approval_policy="on-request" x`,
		"codex exec -s danger-full-access --config=profiles.x.approval_policy=untrusted x", "codex exec -s danger-full-access --ignore-rules x",
		"gemini -y -p x", "gemini -yp x", "gemini --yolo -p x", "gemini -p x --approval-mode yolo", "gemini -p x --approval-mode=auto_edit", "gemini -p x --approvalMode yolo", "gemini -p x --skip-trust",
		"openclaw agent --session-id a --message /elevated\\ full", "openclaw exec-policy preset yolo", "openclaw approvals allowlist add x", "openclaw cron add x", "openclaw agent --local --session-id a",
		"hermes --yolo -q x", "hermes cron add", "hermes config set approvals.mode off",
		"aider --yes-always --message x", "aider --yes --message x", "opencode run --auto x", "opencode run --dangerously-skip-permissions x",
		"cursor-agent -p -f x", "cursor-agent -p --force x", "amp -x hi --dangerously-allow-all", "q chat --no-interactive --trust-all-tools x", "copilot -p x --allow-all-tools",
		"npx @anthropic-ai/claude-code --dangerously-skip-permissions -p x", "npx -y @openai/codex@latest exec --yolo x", "bunx @google/gemini-cli --yolo", "uvx --from=hermes-agent hermes --yolo",
		"pnpx @anthropic-ai/claude-code --dangerously-skip-permissions", "corepack pnpm dlx @anthropic-ai/claude-code --dangerously-skip-permissions",
		"volta run claude --dangerously-skip-permissions", "mise exec -- codex exec --yolo x", "asdf exec gemini --yolo", "tsx /x/@anthropic-ai/claude-code/cli.js --dangerously-skip-permissions",
		"pipx run aider-chat --yes-always", "node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js --dangerously-skip-permissions", "python3 -m aider --yes-always",
		"env nice claude -p --dangerously-skip-permissions x", "sh -c 'claude -p --dangerously-skip-permissions x'",
	} {
		line := words(argv)
		for i := range line {
			if line[i] == "/elevated\\" {
				line = slices.Replace(line, i, i+2, "/elevated full")
				break
			}
		}
		v := judgeTrial(t, trial{argv: line, policy: withInnerOff})
		if !slices.Contains(v.no, CodeCmdBypassFlag) {
			t.Errorf("%s: noes %v, asks %v", argv, v.no, v.asks)
		}
	}
}

func TestAgentsThatWouldWaitOrCannotWorkAreRefusedWithTheFlagToUse(t *testing.T) {
	for _, c := range []struct{ argv, say string }{
		{"claude --permission-mode dontAsk x", "-p"},
		{"claude -p x", "--permission-mode dontAsk"},
		{"codex -s danger-full-access x", "exec"},
		{"codex exec x", "-s danger-full-access"},
		{"codex exec -s workspace-write x", "-s danger-full-access"},
		{"codex exec --sandbox read-only x", "-s danger-full-access"},
		{"gemini --approval-mode default", "-p"},
		{"gemini -p x", "--approval-mode default"},
		{"gemini -p x --approval-mode default --sandbox", "--sandbox=false"},
		{"gemini -p x --approval-mode default -s", "--sandbox=false"},
		{"openclaw agent --message x", "--session-id"},
		{"openclaw gateway", "agent"},
		{"hermes", "-q"},
		{"aider", "--message"},
		{"opencode", "run"},
		{"goose run -t x", "GOOSE_MODE"},
		{"cursor-agent x", "-p"},
		{"cursor-agent -p x --sandbox enabled", "--sandbox disabled"},
		{"amp x", "-x"},
		{"q chat x", "--no-interactive"},
		{"copilot", "-p"},
		{`claude -p --permission-mode dontAsk --settings {"sandbox":{"enabled":true}} x`, "sandbox.enabled"},
		{"sh -c 'claude -p x'", "--permission-mode dontAsk"},
	} {
		v := judgeTrial(t, trial{argv: words(c.argv), policy: withInnerOff})
		ok := slices.ContainsFunc(v.d.Refusals(), func(no Check) bool {
			return no.Code == CodeCmdAgentFlag && strings.Contains(no.Detail, c.say) && strings.Contains(no.Remedy, c.say)
		})
		if !ok {
			t.Errorf("%s: want a refusal that names %s: %+v", c.argv, c.say, v.d.Refusals())
		}
	}
}

// Turning only the agent's own sandbox off needs the policy's word, is asked
// about, and stands in each record.
func TestOnlyThePolicyLetsAnInnerSandboxBeOff(t *testing.T) {
	for _, argv := range []string{"codex exec -s danger-full-access x", "gemini -p x --approval-mode default --sandbox=false", "gemini -p x --approval-mode default --no-sandbox",
		"cursor-agent -p x --sandbox disabled", `claude -p --permission-mode dontAsk --settings {"sandbox":{"enabled":false}} x`} {
		v := judgeTrial(t, trial{argv: words(argv)})
		if !slices.Contains(v.no, CodeCmdBypassFlag) || len(v.d.Notes) != 0 {
			t.Errorf("%s without the policy's word: %v, notes %v", argv, v.no, v.d.Notes)
		}
		v = judgeTrial(t, trial{argv: words(argv), policy: withInnerOff})
		if len(v.no) != 0 || !slices.Contains(v.asks, "floor.agent_inner") || !slices.Equal(v.d.Notes, []string{"agent_inner_sandbox_off"}) {
			t.Errorf("%s with it: %v, asks %v, notes %v", argv, v.no, v.asks, v.d.Notes)
		}
	}
	v := judgeTrial(t, trial{argv: words("gemini -p x --approval-mode default"), env: map[string]string{"GEMINI_SANDBOX": "false"}, policy: withInnerOff})
	if !slices.Contains(v.asks, "floor.agent_inner") {
		t.Errorf("by a variable: %v", v.asks)
	}
}

func TestThePolicyCanDenyAllAgents(t *testing.T) {
	for _, argv := range []string{"claude -p --permission-mode dontAsk x", "npx @openai/codex exec x", "sh -c 'aider --message x'"} {
		v := judgeTrial(t, trial{argv: words(argv), policy: noAgents})
		if !slices.Contains(v.no, CodeCmdDeniedRule) {
			t.Errorf("%s: %v", argv, v.no)
		}
	}
	script := Script{Interpreter: "/bin/sh", Body: "set -eu\nclaude -p --permission-mode dontAsk x\n"}
	if v := judgeTrial(t, trial{script: script, policy: noAgents}); !slices.Contains(v.no, CodeCmdDeniedRule) {
		t.Errorf("in an embedded script: %v", v.no)
	}
	if v := judgeTrial(t, trial{script: script}); len(v.no) > 0 || !slices.Contains(v.asks, "floor.agent") {
		t.Errorf("in an embedded script: %v, asks %v", v.no, v.asks)
	}
}

// A file that decides what an agent may do is part of what is approved.
func TestSettingsFilesOfAgentsAreBound(t *testing.T) {
	p := PlanBinding(words("claude -p --permission-mode dontAsk --settings s.json --mcp-config=m.json x"), Script{}, nil)
	for _, want := range []BindTarget{{RoleScript, "s.json"}, {RoleScript, "m.json"}} {
		if !slices.Contains(p.Targets, want) {
			t.Errorf("%v is not bound: %v", want, p.Targets)
		}
	}
}

// An agent behind another name is found by the real path of what is bound.
func TestAnAgentBehindALinkIsFound(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.Op.Spec.Bound[0].Real = "/usr/lib/node_modules/@openai/codex/bin/start.js"
	in.Op.Spec.Argv = []string{"./backup.sh", "exec", "--yolo"}
	in.Paths = observations(in.Op.Spec)
	if codes := codesOf(Decide(PhaseTrigger, in)); !slices.Contains(codes, CodeCmdBypassFlag) {
		t.Errorf("%v", codes)
	}
}

// Programs that only share a word with an agent are left alone.
func TestOtherProgramsAreNoAgents(t *testing.T) {
	for _, argv := range []string{"./claude-report.sh --yes", "gemini-backup -y", "report --agent claude", "codex --version", "npx --version", "node /srv/codex/app.js", "git log --author claude", "qemu-img info x"} {
		v := judgeTrial(t, trial{argv: words(argv)})
		if slices.Contains(v.asks, "floor.agent") || slices.Contains(v.no, CodeCmdAgentFlag) || slices.Contains(v.no, CodeCmdBypassFlag) {
			t.Errorf("%s: %v, asks %v", argv, v.no, v.asks)
		}
	}
}
