package jobspec

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// effects reads a command and returns the strictest effect with the codes found.
func effects(argv []string, script Script) (effect, []Code) {
	r := readCommand(argv, script, "/srv/ops")
	worst := effectAllow
	var codes []Code
	for _, f := range r.findings {
		codes = append(codes, f.code)
		if f.effect == effectDeny || worst == effectAllow {
			worst = f.effect
		}
	}
	return worst, codes
}

func TestCommandsAreJudged(t *testing.T) {
	for _, c := range []struct {
		argv string // words split at spaces; ' holds a word together
		want effect
		code Code
	}{
		{"./backup.sh --full", effectAllow, ""},
		{"tar -czf out.tgz src", effectAllow, ""},
		{"grep -r pattern .", effectAllow, ""},
		{"python3 report.py", effectAllow, ""},
		{"python3.12 -u -W ignore report.py --x", effectAllow, ""},
		{"python3 --version", effectAllow, ""},
		{"bash -eu script.sh", effectAllow, ""},
		{"bash -o pipefail script.sh", effectAllow, ""},
		{"node --no-warnings app.js", effectAllow, ""},
		{"go env GOROOT", effectAllow, ""},
		{"npm --version", effectAllow, ""},
		{"java -version", effectAllow, ""},
		{"java -jar app.jar -e", effectAllow, ""},
		{"awk -f prog.awk data", effectAllow, ""},
		{"timeout -k 5 30 ./job.sh", effectAllow, ""},
		{"nice -n 10 ionice -c3 ./job.sh", effectAllow, ""},
		{"env -i LANG=C ./job.sh", effectAllow, ""},
		{"find . -name su", effectAllow, ""},
		{"report --mode at", effectAllow, ""},
		{"git -C x log -p", effectAllow, ""},

		{"sudo id", effectDeny, CodeCmdPrivilege},
		{"/usr/bin/sudo id", effectDeny, CodeCmdPrivilege},
		{"su -c id", effectDeny, CodeCmdPrivilege},
		{"at now", effectDeny, CodeCmdPrivilege},
		{"chroot /x sh", effectDeny, CodeCmdPrivilege},
		{"bwrap --dev-bind / / sh", effectDeny, CodeCmdPrivilege},
		{"systemd-run --user id", effectDeny, CodeCmdPrivilege},
		{"docker run -v /:/host x", effectDeny, CodeCmdPrivilege},
		{"podman run --privileged x", effectDeny, CodeCmdPrivilege},
		{"docker run --pid=host x", effectDeny, CodeCmdPrivilege},
		{"docker run -v /var/run/docker.sock:/s x", effectDeny, CodeCmdPrivilege},
		{"docker run --mount type=bind,source=/,target=/host x", effectDeny, CodeCmdPrivilege},
		{"docker run -v /srv/x:/x y", effectAsk, CodeCmdWrapperOpaque},
		{"env sudo id", effectDeny, CodeCmdPrivilege},
		{"env A=b nice -n 5 timeout 3 sudo id", effectDeny, CodeCmdPrivilege},
		{"time -p sudo id", effectDeny, CodeCmdPrivilege},
		{"/usr/bin/time -o f sudo id", effectDeny, CodeCmdPrivilege},
		{"taskset -c 0-1 doas id", effectDeny, CodeCmdPrivilege},
		{"chrt -r 5 sudo id", effectDeny, CodeCmdPrivilege},
		{"stdbuf -oL sudo id", effectDeny, CodeCmdPrivilege},
		{"busybox su", effectDeny, CodeCmdPrivilege},
		{"find . -exec /usr/bin/sudo {} +", effectDeny, CodeCmdPrivilege},
		{"sh -c 'sudo id'", effectDeny, CodeCmdPrivilege},
		{"bash -xc 'sudo id'", effectDeny, CodeCmdPrivilege},
		{"bash -cx 'sudo id'", effectDeny, CodeCmdPrivilege},
		{"bash --norc -o pipefail -c 'sudo id'", effectDeny, CodeCmdPrivilege},
		{"env bash -c 'sudo id'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'true && sudo id'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'true; sudo id'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'true | sudo id'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'true & sudo id'", effectDeny, CodeCmdPrivilege},
		{"sh -c '{ sudo id; }'", effectDeny, CodeCmdPrivilege},
		{"sh -c '( sudo id )'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'if true; then sudo id; fi'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'for x in a b; do sudo $x; done'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'case x in a) sudo id;; esac'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'f() { sudo id; }; f'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'function f { sudo id; }'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'x=$(sudo id) true'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'echo \"a $(sudo id)\"'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'echo `sudo id`'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'cat <(sudo id)'", effectDeny, CodeCmdPrivilege},
		{"sh -c 's\\udo id'", effectDeny, CodeCmdPrivilege},
		{"sh -c '\"su\"do id'", effectDeny, CodeCmdPrivilege},
		{"sh -c '2>&1 sudo id'", effectDeny, CodeCmdPrivilege},
		{"sh -c '>out sudo id'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'exec sudo id'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'command sudo id'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'eval sudo id'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'time sudo id'", effectDeny, CodeCmdPrivilege},
		{"sh -c '! sudo id'", effectDeny, CodeCmdPrivilege},
		{"sh -c 'A=b sudo id'", effectDeny, CodeCmdPrivilege},
		{"sh -c '$0 \"$@\"' sudo id", effectDeny, CodeCmdPrivilege},
		{"sh -c 'exec \"$@\"' _ sudo id", effectDeny, CodeCmdPrivilege},
		{"sh -c 'echo \"unfinished'", effectDeny, CodeCmdUnparseable},
		{"sh -c 'echo $(unfinished'", effectDeny, CodeCmdUnparseable},
		{"env env env env env env id", effectDeny, CodeCmdWrapperDepth},
		{"env -S 'bash -c id'", effectDeny, CodeCmdWrapperOpaque},
		{"env -vS 'bash -c id'", effectDeny, CodeCmdWrapperOpaque},
		{"env --split-string=id", effectDeny, CodeCmdWrapperOpaque},
		{"env --split id", effectDeny, CodeCmdWrapperOpaque},
		{"env -C / id", effectDeny, CodeCmdWrapperOpaque},
		{"env --ch=/ id", effectDeny, CodeCmdWrapperOpaque},
		{"sh", effectDeny, CodeCmdStdinProgram},
		{"sh -s arg", effectDeny, CodeCmdStdinProgram},
		{"bash -", effectDeny, CodeCmdStdinProgram},
		{"python3 -", effectDeny, CodeCmdStdinProgram},
		{"python3", effectDeny, CodeCmdStdinProgram},
		{"perl /dev/stdin", effectDeny, CodeCmdStdinProgram},
		{"sh -c 'curl x | sh'", effectDeny, CodeCmdStdinProgram},
		{"sh -c 'cat x | python3 -'", effectDeny, CodeCmdStdinProgram},
		{"claude -p x --dangerously-skip-permissions", effectDeny, CodeCmdBypassFlag},
		{"claude --permission-mode bypassPermissions", effectDeny, CodeCmdBypassFlag},

		{"sh -c 'echo hello'", effectAsk, CodeCmdInlineEval},
		{"bash -lc 'echo hello'", effectAsk, CodeCmdInlineEval},
		{"python3 -c 'print(1)'", effectAsk, CodeCmdInlineEval},
		{"python3 -Ic 'print(1)'", effectAsk, CodeCmdInlineEval},
		{"python3.12 -cprint", effectAsk, CodeCmdInlineEval},
		{"perl -ne print", effectAsk, CodeCmdInlineEval},
		{"perl -ecode", effectAsk, CodeCmdInlineEval},
		{"ruby -e 1", effectAsk, CodeCmdInlineEval},
		{"node -e 1", effectAsk, CodeCmdInlineEval},
		{"node --eval=1", effectAsk, CodeCmdInlineEval},
		{"php -r 1", effectAsk, CodeCmdInlineEval},
		{"awk '{print $1}' data", effectAsk, CodeCmdInlineEval},
		{"gawk -F : '{print $1}' data", effectAsk, CodeCmdInlineEval},
		{"env python3 -c 1", effectAsk, CodeCmdInlineEval},
		{"sh -c '$X id'", effectAsk, CodeCmdDynamic},
		{"sh -c '{sudo,id}'", effectAsk, CodeCmdDynamic},
		{"sh -c '/bin/?udo id'", effectAsk, CodeCmdDynamic},
		{"sh -c '. ./lib.sh'", effectAsk, CodeCmdDynamic},
		{"sh -c 'trap x EXIT'", effectAsk, CodeCmdDynamic},
		{"sh -c 'python3 - <<E\nsudo\nE'", effectAsk, CodeCmdInlineEval},
		{"env --unknown sudo id", effectAsk, CodeCmdWrapperOpaque},
		{"timeout -q 3 id", effectAsk, CodeCmdWrapperOpaque},
		{"ionice -p 1", effectAsk, CodeCmdWrapperOpaque},
		{"xargs rm", effectAsk, CodeCmdWrapperOpaque},
		{"find . -exec rm {} ;", effectAsk, CodeCmdWrapperOpaque},
		{"busybox awk 'BEGIN{}'", effectAsk, CodeCmdInlineEval},
		{"/lib64/ld-linux-x86-64.so.2 ./x", effectAsk, CodeCmdWrapperOpaque},
		{"sort --compress-prog=sh x", effectAsk, CodeCmdWrapperOpaque},
		{"git -c core.pager=sh log", effectAsk, CodeCmdWrapperOpaque},
		{"tar --to-command=sh -xf a", effectAsk, CodeCmdWrapperOpaque},
		{"rsync -e ssh a b", effectAsk, CodeCmdWrapperOpaque},
		{"make all", effectAsk, CodeCmdWrapperOpaque},
		{"npm run build", effectAsk, CodeCmdWrapperOpaque},
		{"python3 -m http.server", effectAsk, CodeCmdWrapperOpaque},
		{"node -r ./x app.js", effectAsk, CodeCmdWrapperOpaque},
		{"bash --rcfile x y.sh", effectAsk, CodeCmdWrapperOpaque},
		{"java -cp x Main", effectAsk, CodeCmdWrapperOpaque},
		{"myrunner sudo id", effectAsk, CodeCmdWrapperOpaque},
	} {
		t.Run(c.argv, func(t *testing.T) {
			got, codes := effects(words(c.argv), Script{})
			if got != c.want || c.code != "" && !slices.Contains(codes, c.code) {
				t.Errorf("%s %v, want %s %s", got, codes, c.want, c.code)
			}
		})
	}
}

// words splits at spaces outside single quotes.
func words(s string) []string {
	var out []string
	for i, part := range strings.Split(s, "'") {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		out = append(out, strings.Fields(part)...)
	}
	return out
}

// Text that is data must not be taken for a command.
func TestDataInAShellTextIsNoCommand(t *testing.T) {
	for _, text := range []string{
		"echo sudo", "echo 'a; sudo id'", "echo \"a; sudo id\"", "cat <<'E' > f\nsudo id\nE\ntrue", "cat <<-E\n\tsudo id\n\tE\ntrue",
		"# sudo id\ntrue", "for su in a b; do echo $su; done", "case su in su) true;; esac", "grep sudo <<<'sudo id'", "x=sudo true",
		"echo a \\\n  b", "true 2>&1 | tee log", "a=$((1+2)); echo $a",
	} {
		if got, codes := effects([]string{"sh", "-c", text}, Script{}); got == effectDeny {
			t.Errorf("%q is denied: %v", text, codes)
		}
	}
}

func TestAnEmbeddedShellScriptIsReadForDeniedWordsOnly(t *testing.T) {
	ok := Script{Interpreter: "/bin/sh", Body: "set -eu\nfor f in *.csv; do\n  python3 - <<E\nprint(1)\nE\ndone\n. ./lib.sh\n"}
	if got, codes := effects(nil, ok); got != effectAllow {
		t.Errorf("%s %v", got, codes)
	}
	long := Script{Interpreter: "/bin/sh", Body: strings.Repeat("$tool \"$x\"\nawk '{print $1}' f\n", 500)}
	if got, codes := effects(nil, long); got != effectAllow {
		t.Errorf("a long script: %s %v", got, codes[:1])
	}
	bad := Script{Interpreter: "/bin/sh", Body: "set -eu\nif true; then\n  sudo id\nfi\n"}
	if got, codes := effects(nil, bad); got != effectDeny || !slices.Contains(codes, CodeCmdPrivilege) {
		t.Errorf("%s %v", got, codes)
	}
}

func TestReadingNeverPanicsAndNeverForgetsAPlainPrivilegeTool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		argv := rapid.SliceOfN(rapid.SampledFrom([]string{"env", "sh", "-c", "nice", "-n", "5", "timeout", "sudo", "find", "-exec", ";", "a=b", "-x",
			"python3", "-", "--", "'", "$(", "`x`", "<<E", "case x in", "x) y;;", "{", "}", "|", "&&", "xargs", "busybox", ""}), 0, 9).Draw(t, "argv")
		readCommand(argv, Script{}, "")
		readCommand(nil, Script{Interpreter: "/bin/sh", Body: strings.Join(argv, " ")}, "")
		wrapped := append([]string{"env", "nice", "-n", "3"}, append([]string{"sudo"}, argv...)...)
		if got, _ := effects(wrapped, Script{}); got != effectDeny {
			t.Fatalf("%q is not denied", wrapped)
		}
	})
}

// The service reads what principals send: no text may take it long.
func TestHostileCommandsAreJudgedInTime(t *testing.T) {
	for name, argv := range map[string][]string{
		"nested substitutions": {"sh", "-c", strings.Repeat("$(", 30000) + strings.Repeat(")", 30000)},
		"quoted substitutions": {"sh", "-c", strings.Repeat("\"$(", 20000) + strings.Repeat(")\"", 20000)},
		"many questions":       {"sh", "-c", strings.Repeat("$a;", 40000)},
		"many finds":           append([]string{"find"}, strings.Fields(strings.Repeat("-exec sh ; ", 15000))...),
		"many carriers":        strings.Fields(strings.Repeat("sh -c $0\"$@\" ", 8000)),
		"many here-documents":  {"sh", "-c", strings.Repeat("a <<E\n", 20000)},
	} {
		began := time.Now()
		if got, codes := effects(argv, Script{}); got == effectAllow {
			t.Errorf("%s: %s with %d codes", name, got, len(codes))
		}
		effects(nil, Script{Interpreter: "/bin/sh", Body: strings.Join(argv, " ")})
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

func TestBindingFollowsTheCommand(t *testing.T) {
	for _, c := range []struct {
		argv      string
		want      []BindTarget
		ambiguous bool
	}{
		{"./backup.sh --full", []BindTarget{{RoleExecutable, "./backup.sh"}}, false},
		{"python3 -u job.py x", []BindTarget{{RoleExecutable, "python3"}, {RoleScript, "job.py"}}, false},
		{"timeout 5 env A=b bash -eu job.sh", []BindTarget{{RoleExecutable, "timeout"}, {RoleInterpreter, "env"}, {RoleInterpreter, "bash"}, {RoleScript, "job.sh"}}, false},
		{"awk -f prog.awk data", []BindTarget{{RoleExecutable, "awk"}, {RoleScript, "prog.awk"}}, false},
		{"awk '{print}' data", []BindTarget{{RoleExecutable, "awk"}}, false},
		{"sh -c 'x y'", []BindTarget{{RoleExecutable, "sh"}}, false},
		{"java -jar app.jar", []BindTarget{{RoleExecutable, "java"}, {RoleScript, "app.jar"}}, false},
		{"make all", []BindTarget{{RoleExecutable, "make"}}, true},
		{"npm run build", []BindTarget{{RoleExecutable, "npm"}}, true},
		{"python3 -m pkg", []BindTarget{{RoleExecutable, "python3"}}, true},
		{"python3 --odd job.py", []BindTarget{{RoleExecutable, "python3"}}, true},
		{"nice --odd ./job.sh", []BindTarget{{RoleExecutable, "nice"}}, true},
	} {
		p := PlanBinding(words(c.argv), Script{}, nil)
		if !slices.Equal(p.Targets, c.want) || (p.Ambiguous != "") != c.ambiguous {
			t.Errorf("%s: %v, ambiguous %q", c.argv, p.Targets, p.Ambiguous)
		}
		if c.ambiguous {
			if p := PlanBinding(words(c.argv), Script{}, []string{"Makefile"}); p.Ambiguous != "" || p.Targets[len(p.Targets)-1] != (BindTarget{RoleFile, "Makefile"}) {
				t.Errorf("%s with a declared file: %+v", c.argv, p)
			}
		}
	}
	p := PlanBinding([]string{"a"}, Script{Interpreter: "/bin/sh", Body: "true"}, nil)
	if !slices.Equal(p.Targets, []BindTarget{{RoleExecutable, "/bin/sh"}}) || p.Coverage["script"] != "embedded" {
		t.Errorf("%+v", p)
	}
}

func TestShebangLines(t *testing.T) {
	one := func(s string) []BindTarget { return []BindTarget{{RoleInterpreter, s}} }
	env := func(s string) []BindTarget { return append(one("/usr/bin/env"), BindTarget{RoleInterpreter, s}) }
	for _, c := range []struct {
		head string
		want []BindTarget
		ok   bool
	}{
		{"\x7fELF", nil, true}, {"", nil, true}, {"#!/bin/sh\n", one("/bin/sh"), true}, {"#! /bin/sh -eu\nx", one("/bin/sh"), true},
		{"#!/bin/sh", one("/bin/sh"), true}, {"#!\t/bin/sh\t-x\n", one("/bin/sh"), true},
		{"#!/usr/bin/env python3\n", env("python3"), true}, {"#!/usr/bin/env -S python3 -u\n", env("python3"), true},
		{"#!/usr/bin/env -i sh\n", nil, false}, {"#!/usr/bin/env python3 -u\n", nil, false}, {"#!/usr/bin/env\n", nil, false},
		{"#!/usr/bin/env A=b sh\n", nil, false}, {"#!sh\n", nil, false}, {"#!\n", nil, false}, {"#!/" + strings.Repeat("x", 300), nil, false},
	} {
		got, err := ParseShebang([]byte(c.head))
		if (err == nil) != c.ok || !slices.Equal(got, c.want) {
			t.Errorf("%.40q: %v, %v", c.head, got, err)
		}
		if err != nil && CodeOf(err) != CodeBindAmbiguous {
			t.Errorf("%.40q: code %s", c.head, CodeOf(err))
		}
	}
}

func TestVariables(t *testing.T) {
	for name, want := range map[string]effect{
		"LANG": "", "REPORT_LANG": "", "lower_case": "", "GIT_AUTHOR_NAME": "", "git_committer_date": "",
		"LD_PRELOAD": effectDeny, "ld_preload": effectDeny, "Path": effectDeny, "BASH_FUNC_x%%": effectDeny, "A B": effectDeny, "": effectDeny,
		"1A": effectDeny, "A=B": effectDeny, "SBXCRON_JOB": effectDeny, "IS_SANDBOX": effectDeny, "Bash_Env": effectDeny, "IFS": effectDeny,
		"GLIBC_TUNABLES": effectDeny, "MALLOC_CHECK_": effectDeny,
		"PYTHONPATH": effectAsk, "npm_ExecPath": effectAsk, "GIT_DIR": effectAsk, "https_proxy": effectAsk, "MAVEN_OPTS": effectAsk, "EDITOR": effectAsk,
		"RIPGREP_CONFIG_PATH": effectDeny, "X_CONFIG_PATH": effectAsk, "GOFLAGS": effectAsk, "CONDA_ALWAYS_YES": effectAsk, "GOOSE_MODE": effectDeny,
	} {
		if got := envEffect(name, "x"); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestTheEnvironmentOfTheCommandItselfIsJudged(t *testing.T) {
	for _, argv := range [][]string{{"env", "LD_PRELOAD=x", "./backup.sh"}, {"sh", "-c", "PATH=/tmp:$PATH cat f"}, {"sh", "-c", "LD_PRELOAD=x ./y"}} {
		in := goodInput(t, goodDraft(), goodFacts())
		in.Op.Spec.Argv = argv
		if codes := codesOf(Decide(PhaseAdd, in)); !slices.Contains(codes, CodeEnvForbidden) {
			t.Errorf("%q: %v", argv, codes)
		}
	}
}
