package jobspec

import (
	"slices"
	"strings"
	"testing"
)

func fuzzSeeds(f *testing.F) {
	for _, s := range []string{"a b", "sh -c case\x20x\x20in\x20a|b)\x20c;;\x20esac", "sh\x00-c\x00$(a `b`) <<E\nx\nE", "bash\x00-c\x00\"${x:-$(y)}\"", "sh\x00-c\x00((", "bash\x00-c\x00a &>f",
		"sudo\x00id", "env\x00A=b\x00nice\x00-n\x003\x00sudo", "find\x00.\x00-exec\x00sh\x00-c\x00sudo\x00;", "claude\x00-p\x00--yolo", "codex\x00exec\x00-s\x00danger-full-access",
		"sed\x00s/a/b/e", "xargs\x00-n\x001\x00rm", "sh\x00-c\x00$0 \"$@\"\x00sudo", "bash\x00-c\x00$'\\x73udo'", "curl\x00https://a:b@c", "tee\x00/etc/x", "sh\x00-c\x00cd /; echo > x"} {
		f.Add(s, "set -eu\n"+s, "NAME", "value")
	}
}

func FuzzReadCommand(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, line, body, _, _ string) {
		argv := strings.Split(line, "\x00")
		r := readCommand(argv, Script{}, "/srv/ops")
		for _, shell := range []string{"/bin/sh", "/bin/bash", "/bin/ksh", "/bin/zsh"} {
			readCommand(argv, Script{Interpreter: shell, Body: body}, "/srv/ops")
		}
		if len(argv[0]) > 0 && len(r.segments) == 0 {
			t.Errorf("%q gives no segment", argv)
		}
		wrapped := readCommand(append([]string{"env", "A=b", "nice", "sudo"}, argv...), Script{}, "")
		if !slices.ContainsFunc(wrapped.findings, func(f finding) bool { return f.code == CodeCmdPrivilege }) {
			t.Errorf("sudo behind two wrappers is not denied before %q", argv)
		}
	})
}

func FuzzDecide(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, line, body, name, value string) {
		argv := strings.Split(line, "\x00")
		for _, c := range []trial{{argv: argv, env: map[string]string{name: value}, stdin: body}, {argv: argv, script: Script{Interpreter: "/bin/sh", Body: body}}} {
			if len(c.argv) == 0 || c.argv[0] == "" || c.script == (Script{}) && c.script.Interpreter != "" || c.script.Interpreter != "" && body == "" {
				continue
			}
			op := trialOp(t, c)
			in := inputFor(op)
			for _, phase := range phases {
				d := Decide(phase, in)
				for _, no := range d.Refusals() {
					if no.Code == CodeInternal {
						t.Fatalf("%q: a defect: %s", argv, no.Detail)
					}
				}
				if d.Allowed() && mustNotRun(argv, c.script) {
					t.Fatalf("%q, %q is allowed", argv, body)
				}
			}
		}
	})
}

// mustNotRun knows by itself, and only by itself, some of what is never allowed.
func mustNotRun(argv []string, script Script) bool {
	if script.Body != "" {
		return strings.HasPrefix(script.Body, "sudo ") || strings.HasPrefix(script.Body, "if ") && !strings.Contains(script.Body, "fi")
	}
	return slices.Contains([]string{"sudo", "su", "doas", "/usr/bin/sudo", "pkexec", "unshare", "crontab"}, argv[0]) ||
		len(argv) == 3 && argv[0] == "sh" && argv[1] == "-c" // an ask at least, and nobody answered
}
