package jobspec

// Further rules of the floor about commands.
var (
	ruleWrite        = floorRule{"floor.redirect", effectDeny, CodeCmdRedirect, "output goes only to what the job may write: a writable cwd, fs.write and the private places"}
	ruleLineEnd      = floorRule{"floor.line_end", effectDeny, CodeCmdTextUnusual, "the name of a command holds no line end and no tab"}
	ruleAgentFlag    = floorRule{"floor.agent_flag", effectDeny, CodeCmdAgentFlag, "an agent is started so that it fails on a question and can work inside the sandbox"}
	ruleWriteUnknown = floorRule{"floor.redirect_unknown", effectAsk, CodeCmdRedirect, "which file this writes is known only when it runs"}
	ruleFed          = floorRule{"floor.fed", effectAsk, CodeCmdStdinProgram, "the program is read from a file that a redirection names"}
	ruleYes          = floorRule{"floor.yes", effectAsk, CodeCmdStdinProgram, "the command answers yes to whatever is asked"}
	ruleSecret       = floorRule{"floor.secret", effectAsk, CodeCmdAskUnanswered, "this looks like a secret, and everybody can read it who can read the op or the list of processes"}
	ruleAgent        = floorRule{"floor.agent", effectAsk, CodeCmdAskUnanswered, "the command starts an agent, which decides by itself what it runs"}
	ruleInner        = floorRule{"floor.agent_inner", effectAsk, CodeCmdBypassFlag, "the agent's inner sandbox is off; ours stays"}
)

func commandRules() []floorRule {
	return []floorRule{ruleWrite, ruleLineEnd, ruleAgentFlag, ruleWriteUnknown, ruleFed, ruleYes, ruleSecret, ruleAgent, ruleInner}
}
