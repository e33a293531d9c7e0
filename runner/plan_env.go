package runner

import (
	"maps"
	"slices"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/shim"
)

// EnvVar is a variable that every job has unless its signed environment sets
// another value.
type EnvVar struct{ Name, Value, Why string }

// PromptEnv is what keeps programs from asking: the first part makes them fail
// where they would ask, the second lets installers take the default of a
// question, which is harmless where nothing of the system can be written. No
// variable here says yes to anything.
//
// A signed value wins. That opens no way to a person either: there is no
// terminal, standard input is empty, and the helpers that ask are shims.
func PromptEnv() []EnvVar {
	at := func(name string) string { return ShimDir + "/" + name }
	return []EnvVar{
		{"GIT_TERMINAL_PROMPT", "0", "git does not ask on a terminal"},
		{"GIT_ASKPASS", at(shim.AskpassGit), "git tries this before it would ask"},
		{"SSH_ASKPASS", at(shim.AskpassSSH), "ssh asks for passphrases and host keys through it"},
		{"SSH_ASKPASS_REQUIRE", "force", "ssh never falls back to a terminal"},
		{"SUDO_ASKPASS", at(shim.AskpassSudo), "another copy of sudo -A asks through it"},
		{"GCM_INTERACTIVE", "never", "git's credential manager shows no window"},
		{"GH_PROMPT_DISABLED", "1", "gh fails where it would ask"},
		{"PIP_NO_INPUT", "1", "pip fails where it would ask"},
		{"TF_INPUT", "0", "terraform fails where it would ask"},
		{"EDITOR", at(shim.Editor), "an editor waits for a person"},
		{"VISUAL", at(shim.Editor), "an editor waits for a person"},
		{"GIT_EDITOR", at(shim.Editor), "an editor waits for a person"},
		{"GIT_SEQUENCE_EDITOR", at(shim.Editor), "an editor waits for a person"},
		{"BROWSER", at(shim.Browser), "a login page waits for a person"},
		{"PAGER", "cat", "a pager waits for a key"},
		{"GIT_PAGER", "cat", "a pager waits for a key"},
		{"AWS_PAGER", "", "a pager waits for a key"},
		{"TERM", "dumb", "there is no terminal to draw on"},
		{"NO_COLOR", "1", "there is no terminal to draw on"},
		{"CI", "1", "many tools then ask nothing"},

		{"DEBIAN_FRONTEND", "noninteractive", "debconf takes its defaults"},
		{"APT_LISTCHANGES_FRONTEND", "none", "apt-listchanges shows nothing and waits for nobody"},
		{"NEEDRESTART_MODE", "l", "needrestart lists and does not ask"},
		{"NONINTERACTIVE", "1", "brew's installer takes its defaults"},
	}
}

// drawEnv draws the whole environment: a fixed base, what keeps programs from
// asking, and what was signed. The names that say where things are cannot be
// overwritten.
func (o Order) drawEnv(b *Blueprint) error {
	zone := o.Spec.Schedule.Timezone
	if zone == "" {
		zone = "UTC"
	}
	env := map[string]string{"LANG": "C.UTF-8", "TZ": zone}
	for _, v := range PromptEnv() {
		env[v.Name] = v.Value
	}
	if o.Net == jobspec.NetProxy {
		for _, v := range NetEnv() {
			env[v.Name] = v.Value
		}
	}
	fixed := map[string]string{"PATH": BasePath, "HOME": HomePath, "TMPDIR": TmpPath, "SHELL": "/bin/sh", "USER": b.Account.User,
		"LOGNAME": b.Account.User, "SBXCRON_JOB": string(o.Job), "SBXCRON_RUN": o.Run}
	for _, name := range slices.Sorted(maps.Keys(o.Spec.Env)) { // the same fault is told each time
		value := o.Spec.Env[name]
		if _, taken := fixed[name]; taken || name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return refuse(jobspec.CodeEnvForbidden, name, "variable %q cannot be set", name)
		}
		env[name] = value
	}
	maps.Copy(env, fixed)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		b.Env = append(b.Env, name+"="+env[name])
	}
	return nil
}
