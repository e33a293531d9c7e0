package jobspec

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// agentCLI is what is known of the command line of an agent. Finding one is
// lint; the sandbox is the boundary.
type agentCLI struct {
	name     string
	packages []string       // of npm or PyPI, by which runners start it
	bypass   []agentSwitch  // turn its own checks off: refused always
	inner    []agentSwitch  // turn off only its inner sandbox, which ours makes up for
	clash    []agentSwitch  // ask for an inner sandbox, which cannot start here
	instead  string         // what to write instead of a clash
	mustOff  bool           // its inner sandbox is on by default and cannot start here
	needs    []agentNeed    // all must be there, or it would wait for a person
	files    []string       // options whose value is a file that decides what it may do
	config   []agentSetting // settings of -c KEY=VALUE
}

// agentSwitch is one option, with the values that count; no values: any, or none
// at all. A switch without a flag is a run of words, such as a subcommand.
type agentSwitch struct {
	flag   string
	values []string
	words  []string
	prompt bool // the words count inside a prompt too
}

// agentNeed is satisfied by any of its switches, or by an environment variable.
type agentNeed struct {
	any []agentSwitch
	env []string // NAME=VALUE
	say string   // what to write
}

// agentSetting is a key of the agent's configuration and the values that it may
// be given on the command line.
type agentSetting struct {
	key   string
	allow []string // any other value answers questions
	inner []string // values that turn only the inner sandbox off
}

// agentRun is an agent that the command starts.
type agentRun struct {
	cli   *agentCLI
	args  []string
	words []string
}

// agent notes an agent that the words start and denies the switches that turn
// its own checks off. What else an agent needs is judged with the policy.
func (r *reading) agent(words []string, c around) {
	cli, args, ok := agentIn(words)
	if !ok || onlyAsks(args) {
		return
	}
	r.agentFound(cli, args, words)
	for _, option := range cli.files {
		for _, file := range optionValues(args, option) {
			if isInlineJSON(file) {
				continue
			}
			if c.role == "" {
				r.findSaying(ruleAgentFlag, words, "start it by the command itself, so that the file of "+option+" can be bound")
			}
			if c.role != "" {
				r.target(RoleScript, file)
			}
		}
	}
}

func (r *reading) agentFound(cli *agentCLI, args, words []string) {
	r.agents = append(r.agents, agentRun{cli, args, slices.Clone(words)})
	if flag := cli.bypassed(args); flag != "" {
		r.findSaying(ruleBypass, words, flag)
	}
}

// agentIn finds the agent that a command line starts: by its name, or as what a
// runner of packages or an interpreter is told to start.
func agentIn(words []string) (*agentCLI, []string, bool) {
	base := baseName(words[0])
	if cli, ok := agentNamed(base); ok {
		return cli, words[1:], true
	}
	if cli, ok := agentPath(words[0]); ok {
		return cli, words[1:], true
	}
	rest := words[1:]
	switch plainName(base) {
	case "npx", "bunx", "uvx", "pipx", "npm", "pnpm", "pnpx", "yarn", "corepack", "bun", "uv", "deno", "volta", "mise", "asdf":
		for i, w := range rest {
			if cli, ok := agentPackage(w); ok {
				return cli, rest[i+1:], true
			}
		}
	case "node", "nodejs", "electron", "tsx", "ts-node", "python", "pypy":
		for i, w := range rest {
			if cli, ok := agentPath(w); ok {
				return cli, rest[i+1:], true
			}
			if i > 0 && strings.HasSuffix(rest[i-1], "m") && strings.HasPrefix(rest[i-1], "-") {
				if cli, ok := agentPackage(w); ok {
					return cli, rest[i+1:], true
				}
			}
		}
	}
	return nil, nil, false
}

// agentPackage knows a package by its name, whatever version and extras follow.
func agentPackage(word string) (*agentCLI, bool) {
	if strings.HasPrefix(word, "-") {
		_, word, _ = strings.Cut(word, "=") // --package=NAME, --from=NAME
	}
	word = strings.TrimPrefix(strings.TrimPrefix(word, "npm:"), "git+")
	name := word
	if i := strings.LastIndexAny(word, "@"); i > 0 {
		name = word[:i]
	}
	name, _, _ = strings.Cut(name, "[")
	name, _, _ = strings.Cut(name, "==")
	for i := range agentTable {
		if slices.Contains(agentTable[i].packages, name) || name == agentTable[i].name {
			return &agentTable[i], true
		}
	}
	return nil, false
}

// agentPath knows the entry file of an agent by the package that it lies in.
func agentPath(file string) (*agentCLI, bool) {
	if !strings.Contains(file, "/") {
		return nil, false
	}
	if cli, ok := agentNamed(path.Base(file)); ok {
		return cli, true
	}
	for i := range agentTable {
		for _, p := range agentTable[i].packages {
			if strings.Contains("/"+file, "/"+p+"/") {
				return &agentTable[i], true
			}
		}
	}
	return nil, false
}

func agentNamed(base string) (*agentCLI, bool) {
	for _, name := range []string{base, plainName(base), strings.TrimSuffix(base, path.Ext(base))} {
		for i := range agentTable {
			if agentTable[i].name == name {
				return &agentTable[i], true
			}
		}
	}
	return nil, false
}

// bypassed gives the words that turn the agent's own checks off, "" for none.
func (a *agentCLI) bypassed(args []string) string {
	for _, s := range append(slices.Clone(everyAgent), a.bypass...) {
		if at := s.in(args); at != "" {
			return at
		}
	}
	for _, set := range a.config {
		for _, value := range configValues(args, set.key) {
			if !slices.Contains(set.allow, value) && !slices.Contains(set.inner, value) {
				return set.key + "=" + value
			}
		}
	}
	for _, text := range optionValues(args, "--settings") {
		if why := settingsBypass(text); why != "" {
			return why
		}
	}
	return ""
}

// innerIsOff gives the words that turn only the inner sandbox off.
func (a *agentCLI) innerIsOff(args []string) string {
	for _, s := range a.inner {
		if at := s.in(args); at != "" {
			return at
		}
	}
	for _, set := range a.config {
		for _, value := range configValues(args, set.key) {
			if slices.Contains(set.inner, value) {
				return set.key + "=" + value
			}
		}
	}
	for _, text := range optionValues(args, "--settings") {
		if on, said := settingsSandbox(text); said && !on {
			return "sandbox.enabled=false"
		}
	}
	return ""
}

// innerIsOn gives the words that ask for an inner sandbox.
func (a *agentCLI) innerIsOn(args []string) string {
	for _, s := range a.clash {
		if at := s.in(args); at != "" {
			return at
		}
	}
	for _, text := range optionValues(args, "--settings") {
		if on, said := settingsSandbox(text); said && on {
			return "sandbox.enabled=true"
		}
	}
	return ""
}

// missing says what must be written so that the agent fails on a question, ""
// when all of it is there.
func (a *agentCLI) missing(args []string, env map[string]string) string {
	for _, n := range a.needs {
		ok := slices.ContainsFunc(n.any, func(s agentSwitch) bool { return s.in(args) != "" })
		for _, want := range n.env {
			name, value, _ := strings.Cut(want, "=")
			ok = ok || strings.EqualFold(env[name], value)
		}
		if !ok {
			return n.say
		}
	}
	return ""
}

func isInlineJSON(text string) bool { return strings.HasPrefix(strings.TrimLeft(text, " \t\n"), "{") }

// settings reads settings that stand on the command line as their program does:
// a key counts in its own case only, which encoding/json does not keep to for
// fields.
func settings(text string) (all map[string]any, ok bool) {
	return all, json.Unmarshal([]byte(text), &all) == nil
}

// settingsBypass looks into settings that stand on the command line.
func settingsBypass(text string) string {
	if !isInlineJSON(text) {
		return ""
	}
	all, ok := settings(text)
	permissions, isMap := all["permissions"].(map[string]any)
	mode, isText := permissions["defaultMode"].(string)
	skip, isBool := all["skipDangerousModePermissionPrompt"].(bool)
	switch {
	case !ok || !isMap && all["permissions"] != nil || !isText && permissions["defaultMode"] != nil || !isBool && all["skipDangerousModePermissionPrompt"] != nil:
		return "settings that cannot be read"
	case skip:
		return "skipDangerousModePermissionPrompt"
	case mode != "" && !slices.Contains([]string{"default", "dontAsk", "plan"}, mode):
		return "defaultMode=" + mode
	}
	return ""
}

func settingsSandbox(text string) (on, said bool) {
	if !isInlineJSON(text) {
		return false, false
	}
	all, _ := settings(text)
	sandbox, _ := all["sandbox"].(map[string]any)
	on, said = sandbox["enabled"].(bool)
	return on, said
}
