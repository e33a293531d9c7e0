package jobspec

import (
	"fmt"
	"strings"
)

// Names of the layers that a check can come from.
const (
	LayerFloor   = "floor"
	LayerManaged = "managed"
	LayerOwner   = "owner"
	LayerSpec    = "spec"
)

// floorRule is one rule of the compiled-in layer, which only denies and asks.
// The text is shown to the owner and is part of an ask's identity: changing it
// makes every answer to it stale, which is meant.
type floorRule struct {
	id     string
	effect effect
	code   Code
	text   string
}

var (
	rulePrivilege   = floorRule{"floor.privilege", effectDeny, CodeCmdPrivilege, "a job starts no tool that changes rights, starts work outside or rebuilds the sandbox"}
	ruleBypass      = floorRule{"floor.bypass", effectDeny, CodeCmdBypassFlag, "no switch turns an agent's own checks off"}
	ruleEnvSplit    = floorRule{"floor.env", effectDeny, CodeCmdWrapperOpaque, "env neither splits a text into a command nor changes the folder"}
	ruleDepth       = floorRule{"floor.depth", effectDeny, CodeCmdWrapperDepth, "at most four programs stand before the one that does the work"}
	ruleStdin       = floorRule{"floor.stdin", effectDeny, CodeCmdStdinProgram, "no program is read from standard input, where nothing can bind it"}
	ruleUnparseable = floorRule{"floor.text", effectDeny, CodeCmdUnparseable, "a command must be readable to its end, and give fewer than a hundred reasons to ask"}
	ruleInline      = floorRule{"floor.inline", effectAsk, CodeCmdInlineEval, "the command carries program text, which rules cannot judge"}
	ruleDynamic     = floorRule{"floor.dynamic", effectAsk, CodeCmdDynamic, "which program this runs is known only when it runs"}
	ruleOpaque      = floorRule{"floor.opaque", effectAsk, CodeCmdWrapperOpaque, "the command starts other programs, which rules cannot judge"}
	ruleLoads       = floorRule{"floor.loads", effectAsk, CodeCmdWrapperOpaque, "the command loads code that no digest binds"}
	ruleRunner      = floorRule{"floor.runner", effectAsk, CodeCmdWrapperOpaque, "the command runs what a project's own file says"}
	ruleMention     = floorRule{"floor.mention", effectAsk, CodeCmdWrapperOpaque, "the command names a tool that changes rights"}
	ruleEnvAsk      = floorRule{"floor.variable", effectAsk, CodeEnvNotAllowed, "the variable can change which code or which service a program uses"}
	ruleEnvDeny     = floorRule{"floor.variable_forbidden", effectDeny, CodeEnvForbidden, "the variable would change which code runs"}
)

// floorRules are the rules in the order in which they are printed.
func floorRules() []floorRule {
	return append([]floorRule{rulePrivilege, ruleBypass, ruleEnvSplit, ruleDepth, ruleStdin, ruleUnparseable, ruleEnvDeny,
		ruleInline, ruleDynamic, ruleOpaque, ruleLoads, ruleRunner, ruleMention, ruleEnvAsk, ruleGitCommit, ruleCredentialEnv}, commandRules()...)
}

// FloorVersion rises when the floor changes in a way that its text below does
// not show, such as a new name among the privilege tools.
const FloorVersion = 1

// Floor prints the compiled-in layer, a line each.
func Floor() []string {
	lines := []string{fmt.Sprintf("floor %d", FloorVersion)}
	for _, r := range floorRules() {
		lines = append(lines, fmt.Sprintf("%s %s (%s): %s", r.effect, r.id, r.code, r.text))
	}
	top := FloorLimits()
	for _, f := range limitFields() {
		lines = append(lines, fmt.Sprintf("limit %s at most %d", f.name, *f.value(&top)))
	}
	lines = append(lines,
		fmt.Sprintf("expiry at most %s after signing where policy.toml says nothing", days(DefaultMaxTTL)),
		fmt.Sprintf("interval at least %s where policy.toml says nothing", DefaultMinInterval),
		fmt.Sprintf("jobs of a principal at most %d where policy.toml says nothing", DefaultMaxJobs),
		"run_as never uid 0 and never the service's own",
		"sensitive places (path_sensitive) are open to no job",
		"sockets of docker, podman, containerd, D-Bus, systemd, agents and sbxcron are open to no job",
		"addresses of loopback, links, metadata services and private networks are reached only by hosts that policy and spec name",
		"later work refused by name: "+strings.Join(LaterFields(), ", "))
	return lines
}

// FloorDigest is the digest of what Floor prints, each line with its end.
func FloorDigest() Digest {
	return DigestOf([]byte(strings.Join(Floor(), "\n") + "\n"))
}
