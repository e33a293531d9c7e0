package jobspec

import (
	"strings"

	"github.com/sbxcron/sbxcron/jobspec/shell"
)

// grammar is how a program reads its options: enough to find the code, the
// module or the file that it runs. Letters stand for short options. What stands
// in no list is unknown, and an unknown option makes the command opaque.
type grammar struct {
	flag   string // takes nothing
	value  string // takes a value, glued or as the next word
	rest   string // takes what is glued to it, if anything
	code   string // takes program text
	load   string // takes the name of code to load
	module string // takes the name of the module to run
	file   string // takes the file to run
	stdin  string // reads the program from standard input
	exit   string // prints something and ends
	long   map[string]optionKind

	codeOperand  bool          // a flag in code makes the first operand the program text, as in a shell
	firstIsCode  bool          // without file and code the first operand is program text, as in awk
	plusOptions  bool          // words with + are options too
	programStdin bool          // without an operand the program comes from standard input
	foreign      bool          // a shell whose texts are not read here
	dialect      shell.Dialect // what a shell reads
}

type optionKind uint8

const (
	unknownOption optionKind = iota
	flagOption
	valueOption
	restOption
	codeOption
	loadOption
	moduleOption
	fileOption
	stdinOption
	exitOption
)

func (g *grammar) short(c byte) optionKind {
	for _, l := range []struct {
		letters string
		kind    optionKind
	}{
		{g.flag, flagOption}, {g.value, valueOption}, {g.rest, restOption}, {g.code, codeOption}, {g.load, loadOption},
		{g.module, moduleOption}, {g.file, fileOption}, {g.stdin, stdinOption}, {g.exit, exitOption},
	} {
		if strings.IndexByte(l.letters, c) >= 0 {
			return l.kind
		}
	}
	return unknownOption
}

// interpreterFor gives the grammar of an interpreter; false for other programs.
func interpreterFor(word string) (*grammar, bool) {
	base := baseName(word)
	if g, ok := grammarNamed(base); ok {
		return g, true
	}
	return grammarNamed(plainName(base))
}

func grammarNamed(name string) (*grammar, bool) {
	switch name {
	case "sh", "dash", "ash", "yash", "posh":
		return shellGrammar(shell.POSIX), true
	case "bash", "rbash":
		return shellGrammar(shell.Bash), true
	case "ksh", "mksh", "lksh", "oksh", "pdksh", "rksh":
		return shellGrammar(shell.Korn), true
	case "zsh", "rzsh":
		return shellGrammar(shell.Zsh), true
	case "python", "pypy":
		return &grammar{flag: "bBdEiIOPqRsSuvx", value: "WX", code: "c", module: "m", exit: "Vh?", programStdin: true,
			long: map[string]optionKind{"--version": exitOption, "--help": exitOption, "--check-hash-based-pycs": valueOption}}, true
	case "perl":
		return &grammar{flag: "acnpsStTuUwWXfg", rest: "0ilFxCD", value: "I", code: "eE", load: "mM", exit: "vVh", programStdin: true,
			long: map[string]optionKind{"--version": exitOption, "--help": exitOption}}, true
	case "ruby":
		return &grammar{flag: "aclnpsSwyv", rest: "0iFTWKEx", value: "IC", code: "e", load: "r", exit: "h", programStdin: true,
			long: map[string]optionKind{"--version": exitOption, "--help": exitOption}}, true
	case "node", "nodejs":
		return &grammar{flag: "i", code: "ep", load: "rC", exit: "vh", programStdin: true, long: map[string]optionKind{
			"--eval": codeOption, "--print": codeOption, "--require": loadOption, "--import": loadOption, "--loader": loadOption,
			"--experimental-loader": loadOption, "--version": exitOption, "--help": exitOption, "--check": flagOption,
			"--no-warnings": flagOption, "--enable-source-maps": flagOption}}, true
	case "php":
		return &grammar{flag: "aqnswH", value: "dcztS", code: "rBRE", file: "fF", exit: "vhimil", programStdin: true,
			long: map[string]optionKind{"--version": exitOption, "--help": exitOption}}, true
	case "lua", "luajit":
		return &grammar{flag: "iEW", code: "e", load: "l", exit: "v", programStdin: true}, true
	case "Rscript":
		return &grammar{code: "e", programStdin: true, long: map[string]optionKind{"--vanilla": flagOption, "--version": exitOption, "--help": exitOption}}, true
	case "awk", "gawk", "mawk", "nawk", "original-awk":
		return &grammar{value: "Fv", code: "e", file: "f", firstIsCode: true, exit: "V", long: map[string]optionKind{
			"--version": exitOption, "--help": exitOption, "--posix": flagOption, "--file": fileOption, "--source": codeOption,
			"--field-separator": valueOption, "--assign": valueOption, "--load": loadOption, "--include": loadOption}}, true
	case "pwsh", "powershell", "cmd", "fish", "csh", "tcsh", "nu", "elvish", "xonsh", "osascript":
		return &grammar{programStdin: true, foreign: true, exit: "V", long: map[string]optionKind{"--version": exitOption, "--help": exitOption}}, true
	case "tclsh", "wish", "guile", "irb", "ghci", "scala", "groovy", "jshell":
		return &grammar{programStdin: true, exit: "V", long: map[string]optionKind{"--version": exitOption, "--help": exitOption}}, true
	}
	return nil, false
}

// shellGrammar is that of POSIX sh(1) with bash's options. A login shell and a
// start-up file run code that nobody bound.
func shellGrammar(d shell.Dialect) *grammar {
	return &grammar{
		flag: "abefhikmnprtuvxBCDEHPT", value: "oO", code: "c", load: "l", stdin: "s",
		codeOperand: true, plusOptions: true, programStdin: true, dialect: d,
		long: map[string]optionKind{
			"--norc": flagOption, "--noprofile": flagOption, "--posix": flagOption, "--noediting": flagOption,
			"--restricted": flagOption, "--verbose": flagOption, "--debugger": loadOption, "--login": loadOption,
			"--rcfile": loadOption, "--init-file": loadOption, "--version": exitOption, "--help": exitOption,
		},
	}
}

// isShell reports whether the grammar's program text is shell text.
func (g *grammar) isShell() bool { return g.codeOperand }

// invocation is what the options of one command line come to.
type invocation struct {
	code     []string // program texts
	files    []string // programs named by an option
	operands []string // from the first one on
	loads    string   // the option that loads code, "" for none
	module   string   // the module that runs, "" for none
	unknown  string   // the first option that the grammar does not know
	stdin    bool     // told to read the program from standard input
	exits    bool     // prints something and ends
}

// read walks the words after the program's name.
func (g *grammar) read(words []string) invocation {
	var v invocation
	wantCode := false
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" {
			v.operands = words[i+1:]
			break
		}
		if w == "-" || len(w) == 0 || w[0] != '-' && !(g.plusOptions && w[0] == '+') {
			v.operands = words[i:]
			break
		}
		if strings.HasPrefix(w, "--") {
			i += g.readLong(&v, w, words[i+1:])
			continue
		}
		skip, code := g.readCluster(&v, w, words[i+1:])
		i, wantCode = i+skip, wantCode || code
		if v.module != "" {
			break // what follows belongs to the module
		}
	}
	if len(v.operands) > 0 && (wantCode || g.firstIsCode && len(v.files)+len(v.code) == 0) {
		v.code, v.operands = append(v.code, v.operands[0]), v.operands[1:]
	}
	return v
}

// readLong takes one long option and says how many further words it took.
func (g *grammar) readLong(v *invocation, w string, next []string) int {
	name, value, glued := strings.Cut(w, "=")
	kind := g.longOption(name)
	took := 0
	if kind >= valueOption && kind <= fileOption && !glued && len(next) > 0 && !(kind == loadOption && g.codeOperand && name == "--login") {
		value, took = next[0], 1
	}
	v.note(kind, w, value)
	return took
}

// longOption finds a long option by its name or, as GNU programs do, by the
// beginning of one name only.
func (g *grammar) longOption(name string) optionKind {
	if kind, ok := g.long[name]; ok {
		return kind
	}
	found := unknownOption
	for full, kind := range g.long {
		if len(name) > 3 && strings.HasPrefix(full, name) {
			if found != unknownOption && found != kind {
				return unknownOption
			}
			found = kind
		}
	}
	return found
}

// readCluster takes one word of short options. It reports how many further
// words it took, and whether the first operand is program text.
func (g *grammar) readCluster(v *invocation, w string, next []string) (took int, wantCode bool) {
	for j := 1; j < len(w); j++ {
		kind := g.short(w[j])
		switch {
		case kind == codeOption && g.codeOperand:
			wantCode = true
			continue
		case kind == flagOption || kind == stdinOption || kind == exitOption || kind == loadOption && g.codeOperand:
			v.note(kind, w, "")
			continue
		case kind == unknownOption || kind == restOption:
			v.note(kind, w, "")
			return took, wantCode
		case g.codeOperand: // in a shell each value is a word of its own
			took++
			continue
		}
		value := w[j+1:]
		if value == "" && len(next) > 0 {
			value, took = next[0], 1
		}
		v.note(kind, w, value)
		return took, wantCode
	}
	return took, wantCode
}

func (v *invocation) note(kind optionKind, word, value string) {
	switch kind {
	case unknownOption:
		v.unknown = orElse(v.unknown, word)
	case codeOption:
		v.code = append(v.code, value)
	case loadOption:
		v.loads = orElse(v.loads, word)
	case moduleOption:
		v.module = orElse(value, "?")
	case fileOption:
		v.files = append(v.files, value)
	case stdinOption:
		v.stdin = true
	case exitOption:
		v.exits = true
	}
}
