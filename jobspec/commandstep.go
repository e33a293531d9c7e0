package jobspec

import "strings"

// command: the floor's rules and the policy's judge what would run, as far as
// it can be read. An ask is collected here and judged in the next step.
func (j *judge) command() {
	j.read = readCommand(j.spec.Argv, j.spec.Script)
	j.realPaths()
	j.boundNames()
	for _, f := range j.read.findings {
		j.rule(f)
	}
	j.environment()
	if j.in.Policy == nil {
		return
	}
	out := judgeRules(j.in.Policy.Rules, j.read.segments)
	for _, f := range out.findings {
		j.rule(f)
	}
	for _, file := range j.in.Policy.ManagedOnly.lists() {
		if !out.allowed[file] {
			j.finding(Check{Code: CodeCmdNotAllowed, Layer: LayerManaged, Target: QuoteAll(j.spec.Argv),
				Detail: "managed_only.commands is set in " + orElse(file, policyFile) + " and no rule there allows every part of it"})
		}
	}
}

// realPaths puts the bound real path beside each program that is bound.
func (j *judge) realPaths() {
	for i, s := range j.read.segments {
		for _, b := range j.spec.Bound {
			if b.Typed == s.words[0] && (b.Role == RoleExecutable || b.Role == RoleInterpreter) {
				j.read.segments[i].real = b.Real
			}
		}
	}
}

// boundNames denies a privilege tool that hides behind another name: a symbolic
// link, or an interpreter line.
func (j *judge) boundNames() {
	for _, b := range j.spec.Bound {
		if b.Role != RoleFile && isPrivilege(b.Real) {
			j.read.find(rulePrivilege, []string{b.Real})
		}
	}
}

// rule turns a finding into a refusal, or into an ask.
func (j *judge) rule(f finding) {
	if f.effect == effectAsk {
		j.ask(f)
		return
	}
	j.finding(Check{Code: f.code, Layer: f.layer, Rule: f.rule, Target: QuoteAll(f.words), Detail: f.text})
}

// environment judges the variables of the spec and those that the command
// itself sets.
func (j *judge) environment() {
	for _, name := range sortedKeys(j.spec.Env) {
		j.variable(name, j.spec.Env[name])
	}
	for _, a := range j.read.assigns {
		name, value, _ := strings.Cut(a, "=")
		j.variable(strings.TrimSuffix(name, "+"), value)
	}
}

func (j *judge) variable(name, value string) {
	words := []string{name + "=" + value}
	switch envEffect(name) {
	case effectDeny:
		j.finding(Check{Code: CodeEnvForbidden, Layer: LayerFloor, Rule: ruleEnvDeny.id, Target: Quote(name), Detail: ruleEnvDeny.text})
	case effectAsk:
		j.ask(finding{effect: effectAsk, code: ruleEnvAsk.code, layer: LayerFloor, rule: ruleEnvAsk.id, text: ruleEnvAsk.text, words: words})
	}
}
