package jobspec

import "strings"

// wrapper is a program that does nothing but start the next one. It is seen
// through only while every option is known.
type wrapper struct {
	grammar
	operands int  // own operands before the command
	env      bool // takes NAME=VALUE before the command
}

// wrapperFor gives a transparent wrapper; false for other programs.
func wrapperFor(word string) (*wrapper, bool) {
	switch strings.TrimPrefix(baseName(word), "g") { // coreutils under other systems: gnice, genv
	case "nice":
		return &wrapper{grammar: grammar{flag: "0123456789", value: "n", long: map[string]optionKind{"--adjustment": valueOption}}}, true
	case "ionice":
		return &wrapper{grammar: grammar{flag: "t", value: "cn", long: map[string]optionKind{"--class": valueOption, "--classdata": valueOption, "--ignore": flagOption}}}, true
	case "nohup":
		return &wrapper{}, true
	case "timeout":
		return &wrapper{operands: 1, grammar: grammar{flag: "fpv", value: "ks", long: map[string]optionKind{
			"--foreground": flagOption, "--preserve-status": flagOption, "--verbose": flagOption, "--kill-after": valueOption, "--signal": valueOption}}}, true
	case "time":
		return &wrapper{grammar: grammar{flag: "apqv", value: "fo", long: map[string]optionKind{
			"--append": flagOption, "--portability": flagOption, "--quiet": flagOption, "--verbose": flagOption, "--format": valueOption, "--output": valueOption}}}, true
	case "setsid":
		return &wrapper{grammar: grammar{flag: "cfw", long: map[string]optionKind{"--ctty": flagOption, "--fork": flagOption, "--wait": flagOption}}}, true
	case "stdbuf":
		return &wrapper{grammar: grammar{value: "ioe", long: map[string]optionKind{"--input": valueOption, "--output": valueOption, "--error": valueOption}}}, true
	case "chrt":
		return &wrapper{operands: 1, grammar: grammar{flag: "abdfioRrv", value: "TPD"}}, true
	case "taskset":
		return &wrapper{operands: 1, grammar: grammar{flag: "ac", long: map[string]optionKind{"--all-tasks": flagOption, "--cpu-list": flagOption}}}, true
	case "env":
		return &wrapper{env: true, grammar: grammar{flag: "iv", value: "u", long: map[string]optionKind{
			"--ignore-environment": flagOption, "--unset": valueOption, "--debug": flagOption}}}, true
	}
	return nil, false
}

// unwrapped is a wrapper's command line taken apart.
type unwrapped struct {
	inner   []string // the command it starts
	assigns []string // NAME=VALUE of env
	unknown string   // the option that makes it opaque
	denied  string   // an option of env that is refused: it splits text or changes the folder
}

func (w *wrapper) unwrap(words []string) unwrapped {
	if w.env {
		if bad := envRefused(words); bad != "" {
			return unwrapped{denied: bad}
		}
		if len(words) > 0 && words[0] == "-" {
			words = words[1:] // an old way to write -i
		}
	}
	v := w.read(words)
	if v.unknown != "" {
		return unwrapped{unknown: v.unknown}
	}
	u := unwrapped{inner: v.operands}
	for w.env && len(u.inner) > 0 && strings.Contains(u.inner[0], "=") {
		u.assigns, u.inner = append(u.assigns, u.inner[0]), u.inner[1:]
	}
	u.inner = u.inner[min(w.operands, len(u.inner)):]
	return u
}

// envRefused finds the options of env(1) that make another command line out of
// a text, or run it in another folder than the one that was approved.
func envRefused(words []string) string {
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--" || !strings.HasPrefix(w, "-"):
			return ""
		case w == "-u" || w == "--unset":
			i++
		case strings.HasPrefix(w, "--s") || strings.HasPrefix(w, "--c"):
			return w
		case !strings.HasPrefix(w, "--") && !strings.HasPrefix(w, "-u") && strings.ContainsAny(w, "SC"):
			return w
		}
	}
	return ""
}
