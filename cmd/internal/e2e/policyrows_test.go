//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/api"
	"github.com/sbxcron/sbxcron/jobspec"
)

// Bug reports of other programs about files, environment, identity and policy
// files, tried on this one. The number is that of the report in our list.
func TestPolicyCases(t *testing.T) {
	h := newHouse(t)
	h.permit(nil)
	// What other tools take for a policy, a tier or an owner when it stands in the
	// environment of their service.
	h.start("SBXCRON_POLICY=/nowhere", "SBXCRON_PRINCIPAL=root", "SBXCRON_TIER=full", "SBXCRON_BACKEND=local", `OPENCODE_PERMISSION={"bash":"allow"}`, "TERMINAL_ENV=local", "IS_SANDBOX=1")
	showAll(t, h, []control{
		{"26 words of a folder are no commands", wordsOfAFolder},
		{"43 a policy that cannot be read says where", parseErrorSaysWhere},
		{"57 a prefix ends at a slash", prefixEndsAtASlash},
		{"60 a cwd that became a link", cwdBecameALink},
		{"61 a missing name below a link", missingBelowALink},
		{"66 variables begin with none", variablesBeginWithNone},
		{"67 numbers that are no account", numbersThatAreNoAccount},
		{"70 no option names another host", noOptionNamesAnotherHost},
		{"72 a broad allow allows commands only", broadAllowAllowsCommandsOnly},
		{"73 a command without a program", commandWithoutAProgram},
		{"75 an empty or missing file stops all", emptyOrMissingFileStopsAll},
		{"78 a file that others can write stops all", writableFileStopsAll},
		{"79 text beside the key is not the key", textBesideTheKey},
		{"81 a protected file that was not there", protectedFileThatWasNotThere},
		{"82 no variable overrides the policy", noVariableOverridesThePolicy},
		{"84 the tier is measured from inside", tierIsMeasured},
		{"85 no key leads outside", noKeyLeadsOutside},
		{"87 who signs is told by the key alone", signerIsToldByTheKey},
		{"88 ceilings count at each trigger", ceilingsCountAtEachTrigger},
		{"90 a rule that can never match", ruleThatCanNeverMatch},
		{"93 no program is excepted", noProgramIsExcepted},
		{"94 the remedy names the missing grant", remedyNamesTheGrant},
		{"96 a tightened policy keeps the job", tightenedPolicyKeepsTheJob},
		{"97 nobody is trusted", nobodyIsTrusted},
		{"99 a rule that cannot be judged stops all", ruleThatCannotBeJudged},
	})
}

// plain is a job.toml to which keys can be appended.
func plain(name string) string {
	return "name = \"" + name + "\"\nschedule = \"@yearly\"\ncommand = [\"/bin/true\"]\n"
}

// flags of a job that is due once a year.
func yearly(name, cwd, tier string, more ...string) []string {
	return append([]string{name, "--schedule", never, "--yes", "--cwd", cwd, "--tier", tier}, more...)
}

func prefixEndsAtASlash(h *house) {
	dir, evil := h.mkdir("p57"), h.mkdir("p57-evil")
	ws := h.script("p57ws", "cat \"$1\"/f")
	h.put(filepath.Join(dir, "f"), "fine\n", 0o644)
	h.permit(func(_, alice map[string]any) { alice["read"] = []any{dir} })
	h.refusesToAdd(jobspec.CodePathOverCeiling, yearly("p57x", ws, "read-only", "--read", evil, "--", "./job.sh", evil)...)
	h.refusesToAdd(jobspec.CodePathOverCeiling, yearly("p57x", ws, "read-only", "--read", filepath.Dir(dir), "--", "./job.sh", evil)...)
	h.must(append([]string{"add"}, yearly("p57", ws, "read-only", "--read", dir, "--", "./job.sh", dir)...)...)
	if says := h.text(h.row("p57", "succeeded", "")); says != "fine\n" {
		h.t.Errorf("it says %q", says)
	}
}

func cwdBecameALink(h *house) {
	dir := h.script("p60", canary)
	h.add("p60", dir, "workspace", "./job.sh")
	linkAway("")(h.t, h, dir)
	h.refused("p60", jobspec.CodeDriftCwdSymlink)
	if n := h.starts(dir); n != 0 {
		h.t.Errorf("the payload began %d times", n)
	}
}

func missingBelowALink(h *house) {
	dir, there := h.script("p61", "true"), h.mkdir("p61-there")
	link := filepath.Join(dir, "link")
	must(h.t, os.Symlink(there, link))
	h.permit(func(_, alice map[string]any) { alice["read"] = []any{dir, there} })
	h.refusesToAdd(jobspec.CodePathUnreachable, yearly("p61", dir, "read-only", "--read", link+"/missing", "--", "./job.sh")...)
	sub := h.mkdir("p61-data/sub")
	h.permit(func(_, alice map[string]any) { alice["read"] = []any{filepath.Dir(sub)} })
	h.must(append([]string{"add"}, yearly("p61", dir, "read-only", "--read", sub, "--", "./job.sh")...)...)
	linkAway("")(h.t, h, filepath.Dir(sub))
	h.refused("p61", jobspec.CodePathUnreachable)
}

func variablesBeginWithNone(h *house) {
	forbidden := []string{"LD_PRELOAD", "BASH_ENV", "ENV", "PATH", "HOME", "IFS", "GCONV_PATH", "GLIBC_TUNABLES", "SBXCRON_PRINCIPAL", "RIPGREP_CONFIG_PATH"}
	asked := []string{"NODE_OPTIONS", "GIT_SSH_COMMAND", "PYTHONSTARTUP", "EDITOR"}
	args := []string{"p66", "--schedule", never}
	for _, name := range slices.Concat(forbidden, asked) {
		args = append(args, "--env", name+"=x")
	}
	d := h.dryRun(append(args, "--", "/bin/true")...)
	for _, name := range forbidden {
		if !slices.ContainsFunc(d.Reasons, func(r api.Reason) bool { return r.Code == jobspec.CodeEnvForbidden && strings.Contains(r.Target, name) }) {
			h.t.Errorf("%s is not forbidden: %+v", name, d.Reasons)
		}
	}
	questions := ""
	for _, a := range d.Asks {
		questions += a.Question + "\n"
	}
	for _, name := range asked {
		if !strings.Contains(questions, name+"=x") {
			h.t.Errorf("%s is not asked about: %q", name, questions)
		}
	}
	if r := h.run("add", "p66", "--schedule", never, "--yes", "--env", "BASH_FUNC_x%%=x", "--", "/bin/true"); r.code == 0 {
		h.t.Error("a function of a shell was taken for a variable")
	}
}

func numbersThatAreNoAccount(h *house) {
	for _, account := range []string{"#-1", "0", "root", "4294967295"} {
		e := h.failure("add", "-f", h.jobFile(plain("p67")+"run_as = \""+account+"\"\n"), "--yes")
		if e.ErrCode == jobspec.CodeInternal || e.Exit == 1 {
			h.t.Errorf("run_as %q: %+v", account, e)
		}
	}
}

func noOptionNamesAnotherHost(h *house) {
	h.refusedFile(jobspec.CodeSpecUnknownField, plain("p70")+"host = \"elsewhere\"\n")
	for _, args := range [][]string{{"add", "p70", "--host", "x"}, {"run", "p70", "--host", "x"}} {
		if r := h.run(args...); r.code != 64 {
			h.t.Errorf("%q: exit %d", args, r.code)
		}
	}
}

func broadAllowAllowsCommandsOnly(h *house) {
	dir := h.mkdir("p72")
	h.permit(func(top, alice map[string]any) {
		top["rules"] = []any{map[string]any{"effect": "allow", "id": "all", "why": "w", "path": "/usr/bin/*"}}
		alice["max_tier"] = "read-only"
	})
	base := []string{"p72", "--schedule", never, "--yes"}
	h.refusesToAdd(jobspec.CodeEnvForbidden, append(base, "--env", "LD_PRELOAD=/tmp/x.so", "--", "/bin/true")...)
	h.refusesToAdd(jobspec.CodeCmdAskUnanswered, append(base, "--env", "PYTHONPATH=/tmp", "--", "/bin/true")...)
	h.refusesToAdd(jobspec.CodeTierOverCeiling, append(base, "--cwd", dir, "--tier", "workspace", "--", "/bin/true")...)
	h.refusesToAdd(jobspec.CodePathSensitive, append(base, "--cwd", "/run", "--", "/bin/true")...)
	h.refusesToAdd(jobspec.CodeCmdPrivilege, append(base, "--", "/usr/bin/nice", "su")...)
}

func commandWithoutAProgram(h *house) {
	for _, command := range []string{"[]", "[\"\", \"x\"]"} {
		h.refusedFile(jobspec.CodeSpecMalformed, "name = \"p73\"\nschedule = \"@yearly\"\ncommand = "+command+"\n")
	}
}

// faulty puts a fault into the policy file: nothing is added or run under it, and
// reading goes on.
func (h *house) faulty(job string, code jobspec.Code, spoil func(path string)) {
	h.t.Helper()
	spoil(h.dirs().Policy())
	h.refusesToAdd(code, "fault", "--schedule", never, "--yes", "--", "/bin/true")
	h.row(job, "refused", code)
	for _, args := range [][]string{{"list"}, {"show", job}, {"history", job}, {"next"}} {
		h.must(args...)
	}
	must(h.t, os.RemoveAll(h.dirs().Policy()))
	h.permit(nil)
	h.row(job, "succeeded", "")
}

func emptyOrMissingFileStopsAll(h *house) {
	h.add("p75", h.script("p75", "true"), "workspace", "./job.sh")
	h.faulty("p75", jobspec.CodePolicySchema, func(path string) { h.write(path, nil) })
	h.faulty("p75", jobspec.CodePolicyMissing, func(path string) { must(h.t, os.Remove(path)) })
}

func writableFileStopsAll(h *house) {
	h.add("p78", h.script("p78", "true"), "workspace", "./job.sh")
	h.faulty("p78", jobspec.CodePolicyPerms, func(path string) { must(h.t, os.Chmod(path, 0o666)) })
	h.faulty("p78", jobspec.CodePolicyPerms, func(path string) { must(h.t, os.Chmod(path, 0o620)) })
	h.faulty("p78", jobspec.CodePolicyPerms, func(path string) {
		must(h.t, os.Rename(path, path+".there"))
		must(h.t, os.Symlink(path+".there", path))
	})
}

func textBesideTheKey(h *house) {
	dir := h.script("p79", "true")
	h.add("p79", dir, "workspace", "./job.sh")
	runAs := ""
	if os.Getuid() == 0 {
		runAs = "run_as = [\"" + jobUser + "\"]\n"
	}
	head := "serial = 1\nenabled_platforms = [\"linux\"]\n"
	for text, code := range map[string]jobspec.Code{
		"# [principals.alice]\n# max_tier = \"workspace\"\n[principals.alice]\n" + runAs:                                               jobspec.CodeTierOverCeiling,
		"[principals.alice]\n" + runAs + "max_tier = \"read-only\" # \"workspace\"\n":                                                  jobspec.CodeTierOverCeiling,
		"[principals.bob]\nmax_tier = \"workspace\"\n[principals.alice]\n" + runAs:                                                     jobspec.CodeTierOverCeiling,
		"max_tier = \"workspace\"\n[principals.alice]\n" + runAs:                                                                       jobspec.CodePolicySchema,
		"[principals.alice]\n" + runAs + "max_tier = \"read-only\"\nmax_tier = \"workspace\"\n":                                        jobspec.CodePolicyParse,
		"[[rules]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"\"\"\n[principals.alice]\nmax_tier = \"workspace\"\n\"\"\"\nname = \"x\"\n": jobspec.CodePrincipalUnknown,
	} {
		h.write(h.dirs().Policy(), []byte(head+text))
		h.row("p79", "refused", code)
	}
}

func protectedFileThatWasNotThere(h *house) {
	dir := h.script("p81", "mkdir .claude && echo '{\"hooks\":{}}' > .claude/settings.json; echo made")
	h.add("p81", dir, "workspace", "./job.sh")
	r := h.row("p81", "denied", "")
	if len(r.Denials) != 1 || r.Denials[0].Code != jobspec.CodeFsProtectedCreated || !strings.Contains(r.Denials[0].Target, ".claude") {
		h.t.Errorf("denials: %+v", r.Denials)
	}
	h.row("p81", "refused", jobspec.CodeJobHeld)
}

func noVariableOverridesThePolicy(h *house) {
	dir := h.script("p82", "true")
	h.permit(func(_, alice map[string]any) { alice["max_tier"] = "scratch" })
	env := []string{"SBXCRON_POLICY=" + h.jobFile(""), "SBXCRON_MAX_TIER=workspace", "SBXCRON_CONF=/tmp", "XDG_CONFIG_HOME=/tmp", "HOME=/tmp", `OPENCODE_PERMISSION={"*":"allow"}`}
	r := h.runEnv(env, append([]string{"add", "--json"}, yearly("p82", dir, "workspace", "--", "./job.sh")...)...)
	if r.code != 13 || !strings.Contains(r.err, string(jobspec.CodeTierOverCeiling)) {
		h.t.Errorf("add: exit %d\n%s", r.code, r.err)
	}
}

func tierIsMeasured(h *house) {
	dir := h.script("p84", "echo x > there || echo kept")
	h.add("p84", dir, "read-only", "./job.sh")
	r := h.row("p84", "succeeded", "")
	if r.Probe != "passed" || !slices.Contains(r.Layers, "mounts") || h.text(r) != "kept\n" {
		h.t.Errorf("probe %q, layers %v, says %q", r.Probe, r.Layers, h.text(r))
	}
}

func noKeyLeadsOutside(h *house) {
	h.add("p85", h.script("p85", "true"), "workspace", "./job.sh")
	for i, key := range []string{"elevated", "unsandboxed", "allow_unsandboxed_commands", "excluded_commands", "sandbox", "fail_if_unavailable", "escalate_on_failure"} {
		h.permit(func(top, _ map[string]any) { top[key] = true })
		h.row("p85", "refused", jobspec.CodePolicySchema)
		h.permit(func(_, alice map[string]any) { alice[key] = true })
		h.row("p85", "refused", jobspec.CodePolicySchema)
		if i < 2 {
			h.refusedFile(jobspec.CodeSpecUnknownField, plain("p85x")+key+" = true\n")
		}
	}
}

func signerIsToldByTheKey(h *house) {
	h.refusedFile(jobspec.CodeSpecUnknownField, plain("p87")+"principal = \"root-owner\"\n")
	h.refusedFile(jobspec.CodeSpecUnknownField, plain("p87")+"owner = true\n")
	if r := h.run("add", "p87", "--schedule", never, "--yes", "--principal", "root-owner", "--", "/bin/true"); r.code != 64 {
		h.t.Errorf("--principal with a signature: exit %d\n%s", r.code, r.err)
	}
	h.must("add", "p87", "--schedule", never, "--yes", "--", "/bin/true", "--principal=root-owner", "--owner")
	if d := item[api.JobDetail](h, "show", "p87"); d.Principal != "alice" {
		h.t.Errorf("the job is %s's", d.Principal)
	}
}

func ceilingsCountAtEachTrigger(h *house) {
	dir := h.script("p88", "echo x > there || echo kept")
	h.add("p88", dir, "read-only", "./job.sh")
	signed := item[api.JobDetail](h, "show", "p88")
	h.row("p88", "succeeded", "")
	h.permit(func(_, alice map[string]any) { alice["max_tier"] = "scratch" })
	h.refused("p88", jobspec.CodeTierOverCeiling)
	h.permit(func(top, _ map[string]any) { top["rules"] = rules([3]string{"deny", "no-job", "job.sh"}) })
	h.refused("p88", jobspec.CodeCmdDeniedRule)
	// Looser than when it was signed: it runs again, with what was signed.
	h.permit(func(_, alice map[string]any) { alice["max_net"], alice["write"] = "proxy", []any{dir} })
	if says := h.text(h.row("p88", "succeeded", "")); says != "kept\n" {
		h.t.Errorf("it says %q", says)
	}
	if now := item[api.JobDetail](h, "show", "p88"); now.Op != signed.Op || now.Tier != jobspec.ReadOnly {
		h.t.Errorf("op %s, tier %s", now.Op, now.Tier)
	}
}

func ruleThatCanNeverMatch(h *house) {
	h.add("p90", h.script("p90", "true"), "workspace", "./job.sh")
	for _, rule := range []map[string]any{{"path": "git"}, {"path": "bin/git"}, {"name": "/usr/bin/git"}, {"name": "git", "has": []any{""}}, {"has": []any{"push"}}, {"tool": "git"}, {"name": "git", "effect": "forbid"}} {
		h.permit(func(top, _ map[string]any) {
			full := map[string]any{"id": "r", "effect": "deny", "why": "w"}
			for k, v := range rule {
				full[k] = v
			}
			top["rules"] = []any{full}
		})
		h.row("p90", "refused", jobspec.CodePolicySchema)
	}
}

func noProgramIsExcepted(h *house) {
	h.refusedFile(jobspec.CodeSpecUnknownField, plain("p93")+"[sandbox]\nexcluded_commands = [\"xcodebuild*\"]\n")
	h.permit(func(top, _ map[string]any) { top["rules"] = rules([3]string{"deny", "no-id", "id"}) })
	for _, text := range []string{"ls; id", "(id)", "echo $(id)"} {
		d := h.dryRun("p93", "--schedule", never, "--", "/bin/sh", "-c", text)
		if !slices.Contains(d.codes(), jobspec.CodeCmdDeniedRule) {
			h.t.Errorf("%q: %+v", text, d)
		}
	}
}

func remedyNamesTheGrant(h *house) {
	dir, beyond := h.script("p94", "true"), h.mkdir("p94-beyond")
	h.permit(func(_, alice map[string]any) { alice["limits"] = map[string]any{"timeout": "1m"} })
	d := h.dryRun(yearly("p94", dir, "workspace", "--read", beyond, "--timeout", "5m", "--", "./job.sh")...)
	if !slices.Equal(d.codes(), []jobspec.Code{jobspec.CodePathOverCeiling, jobspec.CodeLimitOverCeiling}) {
		h.t.Fatalf("reasons %+v", d.Reasons)
	}
	if d.Reasons[0].Target != beyond || !strings.Contains(d.Reasons[0].Detail, "alice") || !strings.Contains(d.Reasons[1].Target, "timeout") {
		h.t.Errorf("reasons %+v", d.Reasons)
	}
	for _, r := range d.Reasons {
		if !strings.Contains(r.Remedy, "policy.toml") || strings.Contains(r.Remedy, "disable") {
			h.t.Errorf("%s: do %q", r.Code, r.Remedy)
		}
	}
}

func tightenedPolicyKeepsTheJob(h *house) {
	h.add("p96", h.script("p96", "true"), "workspace", "./job.sh")
	h.permit(func(_, alice map[string]any) { alice["max_tier"] = "read-only" })
	h.refused("p96", jobspec.CodeTierOverCeiling)
	jobs := items[api.Job](h, "list")
	i := slices.IndexFunc(jobs, func(j api.Job) bool { return j.Job == "p96" })
	if i < 0 || jobs[i].Tier != jobspec.Workspace || jobs[i].State != "refused" {
		h.t.Errorf("list: %+v", jobs)
	}
	h.permit(nil)
	h.row("p96", "succeeded", "")
}

func nobodyIsTrusted(h *house) {
	h.add("p97", h.script("p97", "true"), "workspace", "./job.sh")
	path := h.dirs().AllowedSigners()
	keep, err := os.ReadFile(path)
	must(h.t, err)
	defer h.write(path, keep)
	for name, text := range map[string]string{"empty": "", "a comment": "# nobody\n"} {
		h.write(path, []byte(text))
		if r := h.trigger("p97"); r.Outcome != "refused" || r.Verdicts != nil && r.Verdicts.Identity != jobspec.No {
			h.t.Errorf("%s: %s %+v %+v", name, r.Outcome, r.Reasons, r.Verdicts)
		}
	}
}

func ruleThatCannotBeJudged(h *house) {
	h.add("p99", h.script("p99", "true"), "workspace", "./job.sh")
	for _, rule := range []map[string]any{{"path": "/usr/[", "effect": "deny"}, {"name": "git", "effect": "maybe"}, {"name": "git", "effect": ""}} {
		h.permit(func(top, _ map[string]any) {
			rule["id"], rule["why"] = "r", "w"
			top["rules"] = []any{rule}
		})
		h.row("p99", "refused", jobspec.CodePolicySchema)
	}
}
