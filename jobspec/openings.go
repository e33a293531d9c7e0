package jobspec

import "slices"

// Bounds of a state folder.
const (
	DefaultStateBytes = 256 << 20
	MaxStateEntries   = 100_000 // files and folders, whatever they hold
)

// ruleGitCommit asks before a job may commit: what it writes into .git is read
// by every later git command of whoever works there.
var ruleGitCommit = floorRule{"floor.git_commit", effectAsk, CodeFsDeniedProtected, "the job may write into .git, but for what names programs or other places, such as config and hooks"}

// openingAsks collects the questions that openings raise, beside those of the
// command.
func (j *judge) openingAsks() {
	if j.spec.Git == GitCommit {
		j.ask(finding{effect: effectAsk, code: ruleGitCommit.code, layer: LayerFloor, rule: ruleGitCommit.id, text: ruleGitCommit.text,
			words: j.commandWords()})
	}
	j.credentialAsks()
}

func (j *judge) commandWords() []string {
	if j.spec.Script != (Script{}) {
		return append([]string{j.spec.Script.Interpreter}, j.spec.Argv...)
	}
	return j.spec.Argv
}

// openingsForm: what git, may_create and state_dir say fits the tier, the
// account and each other.
func (j *judge) openingsForm() {
	s := j.spec
	if s.Git == GitCommit && j.op.Tier != Workspace {
		j.finding(Check{Code: CodeSpecMalformed, Target: "git", Detail: "only tier workspace has a .git to commit to", Remedy: "use tier workspace, or leave fs.git out"})
	}
	for _, name := range s.MayCreate {
		switch {
		case j.op.Tier != Workspace:
			j.no(CodeSpecMalformed, "may_create", "only tier workspace creates files on the host")
		case !slices.Contains(mayCreateNames(), name):
			j.finding(Check{Code: CodeSpecMalformed, Target: "may_create", Detail: Quote(name) + " is no protected name",
				Remedy: "leave it out: other names need no entry"})
		}
	}
	j.bindsForm()
	j.boundBinds()
	j.stateForm()
	j.credentialsForm()
}

// stateForm: a folder that outlives a run belongs to an account that does, and
// is bounded.
func (j *judge) stateForm() {
	s := j.spec
	switch {
	case !s.StateDir && s.Limits.StateBytes != 0:
		j.no(CodeSpecMalformed, "limits.state", "the job has no state folder")
	case !s.StateDir:
	case s.Limits.StateBytes <= 0:
		j.no(CodeLimitOverCeiling, "state_bytes", "must be given with state_dir")
	case j.in.Host.System && s.RunAs.IsZero():
		j.finding(Check{Code: CodeRunAsForbidden, Target: "state_dir", Detail: "a throw-away account owns nothing from one run to the next",
			Remedy: "name the account with --run-as"})
	}
}

// state: the job's folder is there, is the job's, and holds no more than its
// limit. At add there is none yet.
func (j *judge) state() {
	if !j.spec.StateDir || j.phase == PhaseAdd {
		return
	}
	o, seen := j.observation(UseState, "", StatePlace)
	switch {
	case !seen:
		j.no(CodeStateUnusable, "state_dir", "the folder was not looked at")
	case o.Problem != "":
		j.no(o.Problem, o.Real, "%s", o.Detail)
	case o.Size > j.spec.Limits.StateBytes:
		j.no(CodeStateOverQuota, o.Real, "it holds %s, limits.state is %s", bytesWord(o.Size), bytesWord(j.spec.Limits.StateBytes))
	}
}
