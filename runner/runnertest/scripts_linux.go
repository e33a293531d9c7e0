package runnertest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner"
)

// scriptCases say that a script sees the same of itself as one that the kernel
// starts: its interpreter is started in its place.
func scriptCases() []Case {
	var all []Case
	for _, s := range []struct{ program, what, text string }{
		{"sh", "a shell script", "#!/bin/sh\nprintf '%s\\n' \"$0\" \"$(dirname \"$0\")\" \"$#\" \"$@\"; tr '\\0' '|' </proc/$$/cmdline\n"},
		{"sh", "a shell script with an option", "#! /bin/sh -e  \necho \"$0 $- $*\"; false; echo not reached\n"},
		{"bash", "a bash script", "#!/usr/bin/env bash\necho \"$0 ${BASH_SOURCE[0]} $BASH $*\"; readlink -f \"$0\"\n"},
		{"python3", "a python script", "#!/usr/bin/env python3\nimport sys\nprint(sys.argv, __file__, sys.path[0], sys.orig_argv, sys.executable, sys.prefix)\n"},
		{"python3", "a python script with an option", "#!/usr/bin/python3 -I\nimport sys\nprint(sys.argv, __file__, sys.flags.isolated, sys.orig_argv)\n"},
		{"perl", "a perl script", "#!/usr/bin/perl -w\nprint join('|', $0, __FILE__, $^X, $^W, @ARGV, <DATA>);\n__DATA__\ndata\n"},
		{"awk", "an awk script", "#!/usr/bin/awk -f\nBEGIN { for (i = 0; i < ARGC; i++) print i, ARGV[i] }\n"},
		{"node", "a node script", "#!/usr/bin/env node\nconsole.log(process.argv, __filename, __dirname, process.execPath, require.main === module)\n"},
	} {
		all = append(all, Case{s.what + " sees its own name", false, func(l *Lab) error { return l.seesItself(s.program, s.text) }})
	}
	return append(all, Case{"a script that a script interprets gets all arguments", false, interpretedTwice})
}

// seesItself runs a script in the sandbox and without one, and compares.
func (l *Lab) seesItself(program, text string) error {
	if _, err := tool(program); err != nil {
		return err
	}
	cwd := l.folder("ws")
	script := l.file(filepath.Join(l.folder("ws/a b"), "tool.x"), text, 0o755)
	return l.likeTheKernel(cwd, script)
}

func (l *Lab) likeTheKernel(cwd, script string) error {
	native := exec.Command(script, "one", "", "t w o")
	native.Dir, native.Env = cwd, []string{"PATH=" + runner.BasePath, "HOME=/", "LANG=C.UTF-8"}
	want, err := native.Output()
	if len(want) == 0 {
		return fmt.Errorf("%s prints nothing: %w", script, err)
	}
	j := command(script, "one", "", "t w o").in(jobspec.ReadOnly, cwd)
	j.typed = "./" + strings.TrimPrefix(script, cwd+"/")
	r, err := l.run(j)
	if err != nil {
		return err
	}
	if r.Out != string(want) || r.End.ExitCode != native.ProcessState.ExitCode() {
		return fmt.Errorf("printed %q and ended with %d, without a sandbox %q and %d; %s", r.Out, r.End.ExitCode, want, native.ProcessState.ExitCode(), r.Err)
	}
	return nil
}

func interpretedTwice(l *Lab) error {
	cwd := l.folder("ws")
	inner := l.file(cwd+"/inner", "#!/bin/sh -u\nprintf '%s\\n' \"$0\" \"$#\" \"$@\"; tail -n1 \"$2\"\n", 0o755)
	return l.likeTheKernel(cwd, l.file(cwd+"/outer", "#!"+inner+" an argument\nlast line\n", 0o755))
}
