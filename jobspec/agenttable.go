package jobspec

// everyAgent are switches whose words mean the same to all of them.
var everyAgent = []agentSwitch{
	{flag: "--dangerously-skip-permissions"},
	{flag: "--allow-dangerously-skip-permissions"},
	{flag: "--dangerously-bypass-approvals-and-sandbox"},
	{flag: "--dangerously-bypass-hook-trust"},
	{flag: "--dangerously-allow-all"},
	{flag: "--yolo"},
	{flag: "--yes-always"},
	{flag: "--skip-trust"},
	{flag: "--accept-hooks"},
}

// agentTable is what is known of each agent, in its versions of November 2026.
// It is read only. A row that is out of date makes a question too many or leaves
// out a hint; what the agent can reach is what the sandbox opens.
var agentTable = []agentCLI{
	{
		name: "claude", packages: []string{"@anthropic-ai/claude-code", "claude-code"},
		bypass: []agentSwitch{{flag: "--permission-mode", values: []string{"bypasspermissions", "auto", "acceptedits"}}, {flag: "--permission-prompt-tool"}},
		needs: []agentNeed{
			{any: []agentSwitch{{flag: "-p"}, {flag: "--print"}}, say: "write -p, so that it prints its answer and ends"},
			{any: []agentSwitch{{flag: "--permission-mode", values: []string{"dontask"}}, {flag: "--permission-prompts", values: []string{"none"}}},
				say: "write --permission-mode dontAsk, so that a question is a no"},
		},
		instead: "leave sandbox.enabled out of its settings", files: []string{"--settings", "--mcp-config", "--system-prompt-file", "--append-system-prompt-file"},
	},
	{
		name: "codex", packages: []string{"@openai/codex"},
		bypass: []agentSwitch{{flag: "--not-so-yolo"}, {flag: "--full-auto"}, {flag: "--ignore-rules"}, {flag: "--ignore-user-config"},
			{flag: "--ask-for-approval", values: []string{"untrusted", "on-failure", "on-request"}}, {flag: "-a", values: []string{"untrusted", "on-failure", "on-request"}}},
		inner: []agentSwitch{{flag: "--sandbox", values: []string{"danger-full-access"}}, {flag: "-s", values: []string{"danger-full-access"}}},
		clash: []agentSwitch{{flag: "--sandbox", values: []string{"read-only", "workspace-write"}}, {flag: "-s", values: []string{"read-only", "workspace-write"}}},
		needs: []agentNeed{{any: []agentSwitch{{words: []string{"exec"}}, {words: []string{"e"}}}, say: "write exec, so that it works without a terminal"}},
		config: []agentSetting{
			{key: "approval_policy", allow: []string{"never"}},
			{key: "sandbox_mode", inner: []string{"danger-full-access"}, allow: []string{"read-only", "workspace-write"}},
		},
		mustOff: true, instead: "write -s danger-full-access, and -a never before exec",
	},
	{
		name: "gemini", packages: []string{"@google/gemini-cli"},
		bypass:  []agentSwitch{{flag: "-y"}, {flag: "--approval-mode", values: []string{"yolo", "auto_edit", "autoedit"}}, {flag: "--admin-policy"}},
		inner:   []agentSwitch{{flag: "--no-sandbox"}, {flag: "--sandbox", values: []string{"false", "no", "0"}}, {flag: "-s", values: []string{"false", "no", "0"}}},
		clash:   []agentSwitch{{flag: "--sandbox"}, {flag: "-s"}},
		instead: "write --sandbox=false",
		needs: []agentNeed{
			{any: []agentSwitch{{flag: "-p"}, {flag: "--prompt"}}, say: "write -p and the prompt, so that it works without a terminal"},
			{any: []agentSwitch{{flag: "--approval-mode", values: []string{"default", "plan"}}}, say: "write --approval-mode default, so that a question is a no"},
		},
		files: []string{"--policy"},
	},
	{
		name: "openclaw", packages: []string{"openclaw", "clawdbot", "moltbot"},
		bypass: []agentSwitch{{words: []string{"/elevated", "full"}, prompt: true}, {words: []string{"/elevated", "on"}, prompt: true}, {words: []string{"exec-policy"}}, {words: []string{"approvals", "allowlist", "add"}},
			{words: []string{"config", "set"}}, {words: []string{"cron", "add"}}, {flag: "--local"}, {flag: "--elevated"}},
		needs: []agentNeed{
			{any: []agentSwitch{{words: []string{"agent"}}}, say: "write agent, so that it takes one turn and ends"},
			{any: []agentSwitch{{flag: "--session-id"}, {flag: "--session-key"}, {flag: "--session"}}, say: "write --session-id, so that no other conversation answers"},
		},
	},
	{
		name: "hermes", packages: []string{"hermes-agent"},
		bypass: []agentSwitch{{words: []string{"cronjob"}}, {words: []string{"cron"}}, {words: []string{"config", "set"}}},
		needs:  []agentNeed{{any: []agentSwitch{{flag: "-q"}, {flag: "--query"}, {flag: "-z"}, {flag: "--oneshot"}}, say: "write -q and the query, so that it answers once and ends"}},
		files:  []string{"--config"},
	},
	{
		name: "aider", packages: []string{"aider-chat", "aider-install"},
		bypass: []agentSwitch{{flag: "--yes"}, {flag: "--yes-always"}},
		needs:  []agentNeed{{any: []agentSwitch{{flag: "-m"}, {flag: "--message"}, {flag: "-f"}, {flag: "--message-file"}}, say: "write --message and the text, so that it ends after it"}},
		files:  []string{"--config", "--message-file"},
	},
	{
		name: "opencode", packages: []string{"opencode-ai"},
		bypass: []agentSwitch{{flag: "--auto"}},
		needs:  []agentNeed{{any: []agentSwitch{{words: []string{"run"}}}, say: "write run, so that it works without a terminal"}},
	},
	{
		name: "goose", packages: []string{"goose-ai"},
		needs: []agentNeed{
			{any: []agentSwitch{{words: []string{"run"}}}, say: "write run, so that it works without a terminal"},
			{env: []string{"GOOSE_MODE=approve", "GOOSE_MODE=smart_approve", "GOOSE_MODE=chat"}, say: "set GOOSE_MODE = \"approve\" in env: left alone it approves everything"},
		},
		files: []string{"--recipe", "--instructions"},
	},
	{
		name: "cursor-agent", packages: []string{"cursor-agent"},
		bypass: []agentSwitch{{flag: "--force"}, {flag: "-f"}, {flag: "--approve-mcps"}, {flag: "--trust"}},
		inner:  []agentSwitch{{flag: "--sandbox", values: []string{"disabled"}}},
		clash:  []agentSwitch{{flag: "--sandbox", values: []string{"enabled"}}}, instead: "write --sandbox disabled",
		needs: []agentNeed{{any: []agentSwitch{{flag: "-p"}, {flag: "--print"}}, say: "write -p, so that it prints its answer and ends"}},
	},
	{
		name: "amp", packages: []string{"@sourcegraph/amp"},
		needs: []agentNeed{{any: []agentSwitch{{flag: "-x"}, {flag: "--execute"}}, say: "write -x, so that it answers once and ends"}},
		files: []string{"--settings-file", "--mcp-config"},
	},
	{
		name: "q", bypass: []agentSwitch{{flag: "--trust-all-tools"}, {flag: "-a"}, {flag: "--trust-tools"}},
		needs: []agentNeed{{any: []agentSwitch{{flag: "--no-interactive"}}, say: "write --no-interactive, so that it works without a terminal"}},
	},
	{
		name: "copilot", packages: []string{"@github/copilot"},
		bypass: []agentSwitch{{flag: "--allow-all-tools"}, {flag: "--allow-all-paths"}, {flag: "--allow-all-urls"}, {flag: "--allow-all"}},
		needs:  []agentNeed{{any: []agentSwitch{{flag: "-p"}, {flag: "--prompt"}}, say: "write -p and the prompt, so that it works without a terminal"}},
	},
}
