package jobspec

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// allowance is what somebody would have to sign or write so that a refusal goes
// away: the flag, the line of policy.toml or the command, exactly as it is
// written. It is "" where nothing can allow it: the floor, a place that no job
// gets, a sandbox that does not hold. It never takes a layer of the sandbox, a
// check or a record away, because there is no such thing to write.
func (j *judge) allowance(c Check) string {
	if c.Layer == LayerFloor && !slices.Contains(askCodes(), c.Code) {
		return ""
	}
	if tell, ok := allowances()[c.Code]; ok && j.spec != nil {
		return tell(j, c)
	}
	return ""
}

func askCodes() []Code { return []Code{CodeCmdAskUnanswered, CodeAskAtTrigger, CodeAskAnswerStale} }

// allowances is the closed list of refusals that somebody can allow. A code that
// is not here cannot be allowed by anybody, only repaired.
func allowances() map[Code]func(*judge, Check) string {
	rebind := func(j *judge, _ Check) string { return "sbxcron rebind " + string(j.op.Job) }
	enable := func(j *judge, _ Check) string { return "sbxcron enable " + string(j.op.Job) }
	release := func(j *judge, _ Check) string { return "sbxcron release " + string(j.op.Job) }
	return map[Code]func(*judge, Check) string{
		CodePrincipalUnknown:  (*judge).allowPrincipal,
		CodePrincipalDisabled: (*judge).allowPrincipalAgain,
		CodeKeyNotForNamespace: func(j *judge, _ Check) string {
			return fmt.Sprintf("allowed_signers, line of %s: namespaces=%s among the others", j.op.Principal, Quote(JobNamespace(j.op.Tier, j.op.Net)))
		},
		CodeKeyRevoked:  func(j *judge, _ Check) string { return j.again("--key FILE of another key") },
		CodeKeyExpired:  func(j *judge, _ Check) string { return j.again("--key FILE of a key that is valid now") },
		CodeExpired:     func(j *judge, _ Check) string { return j.again("--expires 90d") },
		CodeJobDisabled: enable, CodeBreakerLocked: enable,
		CodeJobHeld: release, CodeBreakerOpen: release,
		CodeSbxPlatformDisabled: (*judge).allowPlatform,
		CodeTierOverCeiling: func(j *judge, _ Check) string {
			if j.op.Tier == NoTier || j.op.Tier > Workspace {
				return ""
			}
			return j.ceilingLine("max_tier = " + Quote(j.op.Tier.String()))
		},
		CodeNetOverCeiling: (*judge).allowNet,
		CodeSocketOverCeiling: func(j *judge, c Check) string {
			return j.built("net.sockets", j.listed("sockets", func(c Ceiling) []string { return c.Sockets }, c.Target))
		},
		CodeCredentialOverCeiling: func(j *judge, c Check) string {
			return j.listed("credentials", func(c Ceiling) []string { return c.Credentials }, c.Target)
		},
		CodePathOverCeiling: (*judge).allowPath,
		CodeLimitOverCeiling: func(j *judge, c Check) string {
			return j.allowLimit(c.Target)
		},
		CodeTTLOverCeiling: func(j *judge, _ Check) string {
			return j.ceilingLine("max_ttl = " + Quote(FormatSpan(roundUp(j.spec.ExpiresAt.Time().Sub(j.op.Created.Time()), time.Hour))))
		},
		CodeIntervalTooShort: (*judge).allowInterval,
		CodeQuotaJobs: func(j *judge, _ Check) string {
			return j.ceilingLine("max_jobs = " + strconv.FormatInt(j.in.Jobs+1, 10))
		},
		CodeRunAsForbidden: (*judge).allowAccount,
		CodeCmdNotAllowed:  (*judge).allowCommand,
		CodeCmdDeniedRule: func(j *judge, c Check) string {
			return fmt.Sprintf("%s: change or remove rule %s", j.ruleFile(c.Rule), Quote(c.Rule))
		},
		CodeCmdAskUnanswered: func(_ *judge, c Check) string { return "--answer " + c.Target + "=allow" },
		CodeAskAtTrigger:     func(j *judge, c Check) string { return j.again("--answer " + c.Target + "=allow") },
		CodeAskAnswerStale:   (*judge).allowStale,
		CodeBindAmbiguous: func(*judge, Check) string {
			return "--file FILE for each file that it reads (job.toml: files = [...]), or a [script] table with the text"
		},
		CodeDriftExecPath: rebind, CodeDriftExecHash: rebind, CodeDriftExecOwner: rebind, CodeDriftInterpreter: rebind,
		CodeDriftScript: rebind, CodeDriftFile: rebind, CodeDriftCwd: rebind, CodeDriftBindSrc: rebind,
		CodeDriftUser:         rebind,
		CodeSbxBackendMissing: (*judge).allowBackend,
		CodeBindOverCeiling:   (*judge).allowBind,
	}
}
