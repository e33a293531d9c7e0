package jobspec

import (
	"path"
	"slices"
	"strings"
)

// BindTarget is a file that add must bind: its role, and its name as the owner
// wrote it. A bare name of an executable or interpreter is looked up in the
// fixed PATH; scripts and files are relative to the cwd.
type BindTarget struct {
	Role  Role
	Typed string
}

// BindPlan is what add must bind for a command, and what that leaves unbound.
type BindPlan struct {
	Targets []BindTarget
	// Ambiguous says why the code that runs cannot be found from argv, "" when it
	// can. Then the owner must declare files or embed a script.
	Ambiguous string
	Coverage  map[string]string
}

// PlanBinding reads a command and says which files are part of its approval.
// Interpreters that a #! line names come on top: see ParseShebang.
func PlanBinding(argv []string, script Script, files []string) BindPlan {
	r := readCommand(argv, script, "")
	for _, f := range files {
		r.target(RoleFile, f)
	}
	p := BindPlan{Targets: r.targets}
	if len(files) == 0 {
		p.Ambiguous = r.ambiguous
	}
	p.Coverage = coverage(r, script)
	return p
}

// CoverageOf says for each kind of code and data of a spec how it is bound: by
// hash, embedded in the signature, or not at all.
func CoverageOf(s *Spec) map[string]string {
	c := PlanBinding(s.Argv, s.Script, declaredFiles(s)).Coverage
	for _, b := range s.Bound { // interpreters of a #! line are not in the command
		if b.Role == RoleInterpreter || b.Role == RoleScript {
			c[string(b.Role)] = "hash"
		}
	}
	for _, b := range s.Bound {
		if b.Package != "" && s.Accepts(WeakerExecPackage) {
			c[string(b.Role)] = "package"
		}
	}
	coverBinds(c, s.Bind, s.StateDir)
	if len(s.Credentials) > 0 {
		c["credentials"] = "unbound"
	}
	return c
}

// SamePackage reports whether a program that has other bytes than the bound ones
// may run in their place: the owner accepted that, and it is what the package
// that was bound holds at this path now. What else stands in the way (the path,
// owner and mode, the place) is looked at as ever. The list of a package has MD5
// digests: they say that nobody changed the file by hand, and it is root alone
// who can change file and list together.
func SamePackage(s *Spec, b Bound, o Observation) bool {
	program := b.Role == RoleExecutable || b.Role == RoleInterpreter
	return program && b.Package != "" && o.Package == b.Package && s.Accepts(WeakerExecPackage) && !o.SHA256.IsZero() &&
		o.UID == 0 && o.Mode&0o022 == 0
}

// declaredFiles are the files that the owner listed.
func declaredFiles(s *Spec) []string {
	var all []string
	for _, b := range s.Bound {
		if b.Role == RoleFile {
			all = append(all, b.Typed)
		}
	}
	return all
}

// BindTargets are what a spec's command and declared files bind, to be looked up
// once more.
func (s *Spec) BindTargets() []BindTarget {
	return PlanBinding(s.Argv, s.Script, declaredFiles(s)).Targets
}

// bindHint is what to type for a program whose code cannot be found from argv.
func bindHint(words []string) string {
	if len(words) == 0 {
		return ""
	}
	file := map[string]string{"make": "Makefile", "gmake": "Makefile", "npm": "package.json", "npx": "package.json", "yarn": "package.json",
		"pnpm": "package.json", "cargo": "Cargo.toml", "just": "justfile", "rake": "Rakefile", "ant": "build.xml", "mvn": "pom.xml"}[path.Base(words[0])]
	switch {
	case file != "":
		return "declare what decides what runs with --file " + file + " (files in job.toml), or embed a script"
	case strings.HasPrefix(path.Base(words[0]), "python") && slices.Contains(words, "-m"):
		return "name the program's file in place of -m, declare its files with --file, or embed a script"
	}
	return ""
}

// coverage says for each kind of code how it is bound: by hash, embedded in the
// signature, or not at all. It is signed and always shown.
func coverage(r *reading, script Script) map[string]string {
	c := map[string]string{"executable": "hash", "libraries": "unbound", "imports": "unbound", "configuration": "unbound"}
	for _, t := range r.targets {
		switch t.Role {
		case RoleInterpreter, RoleScript:
			c[string(t.Role)] = "hash"
		case RoleFile:
			c["files"] = "hash"
		}
	}
	if script.Body != "" {
		c["script"] = "embedded"
	}
	if r.ambiguous != "" {
		c["program"] = "unbound"
	}
	for _, f := range r.findings {
		if f.code == CodeCmdInlineEval {
			c["inline"] = "embedded"
		}
	}
	return c
}

// maxShebang is how much of a first line the kernel reads (BINPRM_BUF_SIZE).
const maxShebang = 256

// ParseShebang reads the first line of a file as execve(2) does and returns the
// interpreters that it names, to be bound: one, or with env(1) env and the
// program. It returns none for a file without #!. An option of env that cannot
// be read is bind_ambiguous.
func ParseShebang(head []byte) ([]BindTarget, error) {
	text, ok := strings.CutPrefix(string(head[:min(len(head), maxShebang)]), "#!")
	if !ok {
		return nil, nil
	}
	line, _, ended := strings.Cut(text, "\n")
	if !ended && len(head) >= maxShebang {
		return nil, shebangError(line, "the line is longer than the kernel reads")
	}
	interp, arg, _ := strings.Cut(strings.Trim(line, " \t"), " ")
	interp, tab, _ := strings.Cut(interp, "\t")
	arg = strings.Trim(tab+" "+arg, " \t")
	if !path.IsAbs(interp) {
		return nil, shebangError(line, "the interpreter must be an absolute path")
	}
	targets := []BindTarget{{Role: RoleInterpreter, Typed: interp}}
	if path.Base(interp) != "env" {
		return targets, nil
	}
	if split, ok := strings.CutPrefix(arg, "-S"); ok {
		arg, _, _ = strings.Cut(strings.TrimLeft(split, " \t"), " ")
	}
	if arg == "" || strings.HasPrefix(arg, "-") || strings.ContainsAny(arg, " \t=\"'\\$") {
		return nil, shebangError(line, "which program env starts cannot be read")
	}
	return append(targets, BindTarget{Role: RoleInterpreter, Typed: arg}), nil
}

func shebangError(line, why string) error {
	return &FieldError{Reason: CodeBindAmbiguous, Field: "first line " + Quote(line), Detail: why,
		Remedy: "write #!/path/to/interpreter, or #!/usr/bin/env NAME"}
}
