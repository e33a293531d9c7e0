package jobspec

import (
	"fmt"
	"maps"
	"slices"
)

// agents judges the agents that the command starts: whether they may run at all,
// whether they fail on a question, and whether they can work in the sandbox.
func (j *judge) agents() {
	j.hiddenAgents()
	for _, run := range j.read.agents {
		if j.in.Policy != nil && j.in.Policy.AgentCLI == string(effectDeny) {
			j.finding(Check{Code: CodeCmdDeniedRule, Layer: LayerManaged, Rule: "agent_cli", Target: QuoteAll(run.words),
				Detail: "the policy lets no job start an agent"})
			continue
		}
		j.agentFlags(run)
		if !j.innerSandbox(run) {
			j.asking(ruleAgent, run.words)
		}
	}
}

// hiddenAgents finds agents by the real path of what is bound, where the typed
// name says nothing.
func (j *judge) hiddenAgents() {
	for _, s := range j.read.segments {
		cli, ok := agentPath(s.real)
		if !ok || onlyAsks(s.words[1:]) || slices.ContainsFunc(j.read.agents, func(a agentRun) bool { return slices.Equal(a.words, s.words) }) {
			continue
		}
		before := len(j.read.findings)
		j.read.agentFound(cli, s.words[1:], s.words)
		for _, f := range j.read.findings[before:] {
			j.rule(f)
		}
	}
}

func (j *judge) agentFlags(run agentRun) {
	env := map[string]string{}
	maps.Copy(env, j.spec.Env)
	for _, a := range j.read.assigns {
		if !a.dynamic {
			env[a.name] = a.value
		}
	}
	if why := run.cli.missing(run.args, env); why != "" {
		j.agentRefused(run, why)
	}
	for _, name := range agentVariables(run.cli.name) {
		if value, ok := j.spec.Env[name]; ok && value != "" {
			j.rule(finding{effect: effectAsk, code: ruleEnvAsk.code, layer: LayerFloor, rule: ruleEnvAsk.id, text: ruleEnvAsk.text, words: []string{name + "=" + value}})
		}
	}
}

func (j *judge) agentRefused(run agentRun, why string) {
	j.finding(Check{Code: CodeCmdAgentFlag, Layer: LayerFloor, Rule: ruleAgentFlag.id, Target: QuoteAll(run.words),
		Detail: fmt.Sprintf("%s: %s", run.cli.name, why), Remedy: why})
}

// agentVariables name the folders and files that decide what an agent may do and
// that nothing binds.
func agentVariables(name string) []string {
	switch name {
	case "codex":
		return []string{"CODEX_HOME"}
	case "claude":
		return []string{"CLAUDE_CONFIG_DIR"}
	case "opencode":
		return []string{"OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "OPENCODE_CONFIG_DIR"}
	case "openclaw":
		return []string{"OPENCLAW_CONFIG_PATH", "OPENCLAW_STATE_DIR", "OPENCLAW_HOME"}
	case "hermes":
		return []string{"HERMES_HOME"}
	}
	return nil
}

// innerSandbox judges an agent's own sandbox, which needs user namespaces that a
// job does not have. Turning only that one off is an ask where the policy allows
// it, and each record repeats it. It reports whether it asked.
func (j *judge) innerSandbox(run agentRun) bool {
	off := run.cli.innerIsOff(run.args)
	if run.cli.name == "gemini" && slices.Contains([]string{"false", "0", "no"}, j.spec.Env["GEMINI_SANDBOX"]) {
		off = orElse(off, "GEMINI_SANDBOX="+j.spec.Env["GEMINI_SANDBOX"])
	}
	on := run.cli.innerIsOn(run.args)
	switch {
	case off == "" && (on != "" || run.cli.mustOff):
		j.agentRefused(run, "its inner sandbox cannot start inside ours, which has no user namespaces: "+run.cli.instead)
		return false
	case off == "":
		return false
	case j.in.Policy == nil || j.in.Policy.AgentInnerSandbox != innerOff:
		j.finding(Check{Code: CodeCmdBypassFlag, Layer: LayerManaged, Rule: "agent_inner_sandbox", Target: QuoteAll(run.words),
			Detail: off + " turns the agent's inner sandbox off, and the policy does not allow that",
			Remedy: "have agent_inner_sandbox = \"off\" written in policy.toml; our sandbox stays in any case"})
		return false
	}
	j.asking(ruleInner, run.words)
	j.notes = append(j.notes, noteInnerOff)
	return true
}

// noteInnerOff is what each record of such a run says.
const noteInnerOff = "agent_inner_sandbox_off"

// asking collects a question of the floor.
func (j *judge) asking(r floorRule, words []string) {
	j.ask(finding{effect: effectAsk, code: r.code, layer: LayerFloor, rule: r.id, text: r.text, words: words})
}
