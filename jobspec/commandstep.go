package jobspec

import (
	"slices"
	"strings"
)

// command: the floor's rules and the policy's judge what would run, as far as
// it can be read. An ask is collected here and judged in the next step.
func (j *judge) command() {
	j.read = readCommand(j.spec.Argv, j.spec.Script, j.spec.Cwd.Path)
	j.realPaths()
	j.boundNames()
	for _, f := range j.read.findings {
		j.rule(f)
	}
	j.agents()
	j.environment()
	j.writings()
	j.secrets()
	if j.in.Policy == nil {
		return
	}
	out := judgeRules(j.in.Policy, j.read.segments, j.spec.Cwd.Path)
	for _, f := range out.findings {
		j.rule(f)
	}
	for _, file := range j.in.Policy.ManagedOnly.lists() {
		if words := out.unlisted[file]; words != nil || len(j.read.segments) == 0 {
			j.finding(Check{Code: CodeCmdNotAllowed, Layer: LayerManaged, Target: QuoteAll(words),
				Detail: "managed_only.commands is set in " + orElse(file, policyFile) + " and no rule there allows this part of the command"})
		}
	}
}

// realPaths puts the bound real path beside each program that is bound.
func (j *judge) realPaths() {
	for i, s := range j.read.segments {
		for _, b := range j.spec.Bound {
			if len(s.words) > 0 && b.Typed == s.words[0] && (b.Role == RoleExecutable || b.Role == RoleInterpreter) {
				j.read.segments[i].real = b.Real
			}
		}
	}
}

// boundNames denies a privilege tool that hides behind another name: a symbolic
// link, or an interpreter line.
func (j *judge) boundNames() {
	for _, b := range j.spec.Bound {
		if b.Role != RoleFile && b.Role != RoleBind && isPrivilege(b.Real) {
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
		switch {
		case a.inText && a.name == "IFS":
			j.separator(a)
		case a.inText && a.name == "PATH" && isSystemPath(a.value):
		default:
			j.assigned(a)
		}
	}
}

// assigned judges a variable that the command sets. In an embedded script the
// owner has read it; only what the floor forbids counts there.
func (j *judge) assigned(a assign) {
	name := strings.TrimSuffix(a.name, "+")
	switch {
	case !a.inText:
	case name != strings.ToUpper(name), name == "TMPDIR":
		return // a variable of the text itself; names mean what they say there
	case j.spec.Script.Body != "" && envEffect(name, a.value) != effectDeny:
		return
	}
	j.variable(name, a.value)
}

// separator: the separator of words changes what a text means, but not where it
// stands before the builtin that reads a line.
func (j *judge) separator(a assign) {
	if j.spec.Script.Body != "" || slices.Contains([]string{"read", "mapfile", "readarray"}, a.command) {
		return
	}
	j.asking(ruleDynamic, []string{"IFS=" + a.value})
}

// isSystemPath reports whether a PATH set in a text holds system folders only,
// beside what it held before.
func isSystemPath(value string) bool {
	for _, dir := range strings.Split(strings.Trim(value, `"`), ":") {
		if !slices.Contains([]string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "$PATH", "${PATH}"}, dir) {
			return false
		}
	}
	return true
}

func (j *judge) variable(name, value string) {
	switch envEffect(name, value) {
	case effectDeny:
		j.finding(Check{Code: CodeEnvForbidden, Layer: LayerFloor, Rule: ruleEnvDeny.id, Target: Quote(name), Detail: ruleEnvDeny.text})
	case effectAsk:
		j.asking(ruleEnvAsk, []string{name + "=" + value})
	}
}
