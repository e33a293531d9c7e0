package jobspec

import (
	"slices"
	"strings"
)

// policy: the managed file is usable here.
func (j *judge) policy() {
	p := j.in.Policy
	if p == nil || j.in.PolicyErr != "" {
		j.no(orElse(j.in.PolicyErr, CodePolicyMissing), "policy.toml", "%s", orElse(j.in.PolicyMsg, "no policy is loaded"))
		return
	}
	if p.Serial <= 0 {
		j.no(CodePolicySchema, "serial", "a policy has a serial above 0")
	}
	if j.spec != nil && p.Serial < j.spec.Policy.Serial {
		j.no(CodePolicyRollback, "serial", "%d, and the owner signed under %d", p.Serial, j.spec.Policy.Serial)
	}
	if j.in.Host.Platform == "" || !slices.Contains(p.EnabledPlatforms, j.in.Host.Platform) {
		j.no(CodeSbxPlatformDisabled, j.in.Host.Platform, "enabled_platforms does not list it")
	}
	for _, r := range p.Rules {
		if err := CheckRule(r); err != nil {
			j.no(CodePolicyEvalError, r.ID, "%v", err)
		}
	}
	j.ownPolicy()
}

// ownPolicy: the file that the principal keeps for the own jobs is usable.
func (j *judge) ownPolicy() {
	o, kept := j.managed.Owners[j.op.Principal]
	if !kept || o.Policy != nil && o.Reason == "" {
		return
	}
	j.finding(Check{Code: orElse(o.Reason, CodePolicyEvalError), Layer: LayerOwner, Target: j.ownFile(),
		Detail: orElse(o.Detail, "it was not read")})
}

// identity: somebody signed, and may still do so.
func (j *judge) identity() {
	if j.in.Identity != "" {
		j.no(j.in.Identity, string(j.op.Principal), "%s", j.in.IdentityDetail)
	}
	if j.phase != PhaseAdd && !j.in.Signed.Valid() {
		j.no(CodeIdentityUnproven, string(j.op.Principal), "no verified statement carries the op")
	}
	if _, err := ParsePrincipal(string(j.op.Principal)); err != nil {
		j.no(CodePrincipalUnknown, "principal", "%v", err)
		return
	}
	if j.op.Action == Disable || j.op.Action == Remove || j.in.Policy == nil {
		return
	}
	c, known := j.ceiling()
	switch {
	case !known:
		j.no(CodePrincipalUnknown, string(j.op.Principal), "policy.toml has no [principals.%s]", j.op.Principal)
	case c.Disabled:
		j.no(CodePrincipalDisabled, string(j.op.Principal), "policy.toml disables the principal")
	}
}

func (j *judge) ceiling() (Ceiling, bool) {
	if j.in.Policy == nil {
		return Ceiling{}, false
	}
	c, ok := j.in.Policy.Principals[j.op.Principal]
	return c, ok
}

// structure: the op is for this host, in force, and says nothing that cannot be
// read the way it is shown.
func (j *judge) structure() {
	j.of(&j.all.Identity)
	if j.in.Host.ID == "" || j.op.Host != j.in.Host.ID {
		j.no(CodeHostMismatch, string(j.op.Host), "this host is %s", Quote(string(j.in.Host.ID)))
	}
	if _, err := ParseName(string(j.op.Job)); err != nil {
		j.no(CodeSpecMalformed, "job", "%v", err)
	}
	if j.spec == nil {
		if j.phase != PhaseApply || j.op.Action == Add || j.op.Action == Replace {
			j.no(CodeSpecMalformed, "spec", "the op carries none")
		}
		return
	}
	j.of(&j.all.Consent)
	j.expiry()
	j.of(&j.all.Capability)
	for _, p := range textProblems(j.spec) {
		j.no(p.code, p.field, "%s", p.detail)
	}
	for _, f := range laterTable() {
		if f.used(j.op) {
			j.no(CodeSpecFieldLater, f.name, "this version does not do it")
		}
	}
	j.commandForm()
	j.scheduleForm()
	j.placesForm()
	j.wordsForm()
}

func (j *judge) expiry() {
	now := j.in.Host.Now
	switch {
	case j.in.Host.Hold:
		j.no(CodeClockHold, "clock", "it shows %s, far before the highest time seen", InstantOf(now))
	case now.Unix() <= 0:
		j.no(CodeClockUntrusted, "clock", "no time is known")
	case j.spec.ExpiresAt.IsZero():
		j.no(CodeSpecMalformed, "expires_at", "every approval ends; none is given")
	case !InstantOf(now).Before(j.spec.ExpiresAt):
		j.no(CodeExpired, "expires_at", "the approval ended at %s", j.spec.ExpiresAt)
	}
}

func (j *judge) commandForm() {
	s := j.spec
	embedded := s.Script != Script{}
	switch {
	case embedded && (s.Script.Interpreter == "" || s.Script.Body == ""):
		j.no(CodeSpecMalformed, "script", "interpreter and body must both be given")
	case !embedded && (len(s.Argv) == 0 || s.Argv[0] == ""):
		j.no(CodeSpecMalformed, "argv", "no program is named")
	}
}

// scheduleForm looks at the words; what the calendar says is the last step's.
func (j *judge) scheduleForm() {
	s := j.spec.Schedule
	n := 0
	for _, set := range []bool{s.Cron != "", s.EverySeconds != 0, !s.At.IsZero()} {
		if set {
			n++
		}
	}
	if n != 1 {
		j.no(CodeScheduleInvalid, "schedule", "exactly one of cron, every and at must be given, not %d", n)
	}
	if s.EverySeconds < 0 || s.EverySeconds > 0 && s.EverySeconds < 60 {
		j.no(CodeScheduleInvalid, "every_seconds", "%d is below one minute", s.EverySeconds)
	}
	if end := j.spec.ExpiresAt; !s.At.IsZero() && !end.IsZero() && !s.At.Before(end) {
		j.no(CodeScheduleInvalid, "at", "the approval ends at %s, before the job is due; give a later expires", end)
	}
	if s.Timezone == "" {
		j.no(CodeScheduleInvalid, "timezone", "the time zone must be written out")
	}
	j.word("missed", s.Missed, SkipWord, OnceWord)
	j.word("overlap", s.Overlap, SkipWord, "queue", "replace")
	if (s.Missed == OnceWord) != (s.StartDeadlineSeconds > 0) {
		j.no(CodeSpecMalformed, "start_deadline", "it belongs to missed = \"once\", which needs one")
	}
	if s.StartDeadlineSeconds > int64(MaxStartDeadline.Seconds()) {
		j.no(CodeSpecMalformed, "start_deadline", "%d seconds is above %s", s.StartDeadlineSeconds, days(MaxStartDeadline))
	}
	if s.Retries > MaxRetries {
		j.no(CodeSpecMalformed, "retries", "%d is above %d", s.Retries, MaxRetries)
	}
	if s.JitterSeconds < 0 || s.StartDeadlineSeconds < 0 || s.Retries < 0 {
		j.no(CodeSpecMalformed, "schedule", "jitter, start_deadline and retries are not negative")
	}
}

// word refuses a value that is no word of the field.
func (j *judge) word(field, value string, words ...string) {
	if !slices.Contains(words, value) {
		j.finding(Check{Code: CodeSpecMalformed, Target: field, Detail: Quote(value) + " is not one of ours",
			Remedy: "use " + strings.Join(words, " or ")})
	}
}

// placesForm: the tier and the places fit each other, and each path has one form.
func (j *judge) placesForm() {
	s := j.spec
	switch {
	case j.op.Tier == Scratch && s.Cwd != Place{}:
		j.no(CodeSpecMalformed, "cwd", "tier scratch has none")
	case j.op.Tier > Scratch && s.Cwd.Path == "":
		j.no(CodeSpecMalformed, "cwd", "tier %s needs one", j.op.Tier)
	}
	if s.Cwd.Path != "" {
		j.cleanPath("cwd", s.Cwd.Path)
	}
	for _, list := range []struct {
		field string
		paths []string
	}{{"read", s.Read}, {"write", s.Write}, {"deny", s.Deny}} {
		for _, p := range list.paths {
			j.cleanPath(list.field, p)
		}
	}
	for _, b := range s.Bound {
		j.cleanPath("bound", b.Real)
		if b.SHA256.IsZero() || b.Typed == "" || b.Mode == "" {
			j.no(CodeSpecMalformed, "bound", "%s: typed, sha256 and mode must be given", Quote(b.Real))
		}
	}
	j.openingsForm()
}

func (j *judge) cleanPath(field, p string) {
	if !isCleanPath(p) {
		j.no(CodeSpecMalformed, field, "%s is not an absolute path in its shortest form", Quote(p))
	}
}

func (j *judge) wordsForm() {
	s := j.spec
	j.word("result", s.Result, ExitWord, ResultClaude, ResultCodex, ResultGemini)
	if s.Git != "" {
		j.word("git", s.Git, "read-only", GitCommit)
	}
	j.denialsForm()
	for _, event := range s.Notify {
		j.word("notify.on", event, EventWords(JobEvents())...)
	}
	if len(s.Backend.AnyOf) == 0 {
		j.no(CodeSpecMalformed, "backend.any_of", "a backend must be written out")
	}
	for _, b := range s.Backend.AnyOf {
		if isNoBackend(b) {
			j.no(CodeSbxBackendMissing, b, "there is no way to run a job without a sandbox")
		}
	}
}

// audit: without a durable record nothing runs.
func (j *judge) audit() {
	if j.in.Audit != nil {
		j.no(CodeAuditUnavailable, "ledger", "%v", j.in.Audit)
	}
}

// schedule: the calendar accepts it, and nobody holds the job.
func (j *judge) schedule() {
	told := !j.clean && CodeOf(j.in.Schedule) == CodeSpecFieldLater // by the structure, with a better name
	if j.in.Schedule != nil && !told {
		j.no(CodeScheduleInvalid, "schedule", "%v", j.in.Schedule)
	}
	if j.in.Held && (j.phase == PhaseTrigger || j.phase == PhaseExplain) {
		j.finding(Check{Code: orElse(j.in.HeldFor, CodeJobHeld), Target: string(j.op.Job)})
	}
}
