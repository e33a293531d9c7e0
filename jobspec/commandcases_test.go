package jobspec

import (
	"strings"
	"testing"
	"time"
)

// Reports of what went wrong elsewhere, each by the number under which it is
// kept, with what must happen here. A plus marks what must not be refused.
func TestReportsAboutWrappersAndInterpreters(t *testing.T) {
	for _, c := range []struct {
		row  string
		try  trial
		want expect
	}{
		{"1", trial{argv: words("env bash -c id"), rules: []Rule{allow("env"), allow("bash")}, policy: listOnly}, expect{code: CodeCmdNotAllowed, ask: "floor.inline"}},
		{"2", trial{argv: words("env bash -c id")}, expect{ask: "floor.inline"}},
		{"4", trial{argv: words("env -iQ id"), rules: []Rule{allow("env")}, policy: listOnly}, expect{ask: "floor.opaque"}},
		{"4 hidden", trial{argv: words("env -iQ sudo id")}, expect{ask: "floor.mention"}},
		{"5", trial{argv: words("env env env env env id")}, expect{code: CodeCmdWrapperDepth}},
		{"7", trial{argv: words("bash -xc 'sudo id'")}, expect{code: CodeCmdPrivilege}},
		{"8 norc", trial{argv: words("sh --norc -c 'sudo id'")}, expect{code: CodeCmdPrivilege}},
		{"8 pwsh", trial{argv: words("pwsh -EncodedCommand ZQ==")}, expect{ask: "floor.opaque"}},
		{"8 cmd", trial{argv: words("cmd /c dir")}, expect{ask: "floor.opaque"}},
		{"10 awk", trial{argv: []string{"busybox", "awk", `BEGIN{system("id")}`}}, expect{ask: "floor.opaque"}},
		{"10 rule", trial{argv: []string{"busybox", "awk", "BEGIN{}"}, rules: []Rule{deny("awk")}}, expect{code: CodeCmdDeniedRule}},
		{"10 toybox", trial{argv: words("toybox sh")}, expect{code: CodeCmdStdinProgram}},
		{"11", trial{argv: words(`sh -c '$0 "$@"' rm -rf x`), rules: []Rule{deny("rm")}}, expect{code: CodeCmdDeniedRule, ask: "floor.dynamic"}},
		{"11 exec", trial{argv: words(`sh -c 'exec "$@"' _ rm -rf x`), rules: []Rule{deny("rm")}}, expect{code: CodeCmdDeniedRule}},
		{"11 shifted", trial{argv: words(`sh -c 'shift; "$@"' _ x rm -rf x`), rules: []Rule{deny("rm")}}, expect{code: CodeCmdDeniedRule}},
		{"13", trial{argv: words("time rm x"), rules: []Rule{deny("rm")}}, expect{code: CodeCmdDeniedRule}},
		{"13 output", trial{argv: words("/usr/bin/time -o /etc/x ./job")}, expect{code: CodeCmdRedirect}},
		{"13 output inside+", trial{argv: words("/usr/bin/time -o out.txt ./job")}, expect{clean: true, quiet: true}},
		{"14", trial{argv: words("forward rm -rf x"), rules: []Rule{deny("rm")}}, expect{ask: "r", not: []Code{CodeCmdDeniedRule}}},
		{"14 floor", trial{argv: words("forward /usr/bin/sudo id")}, expect{ask: "floor.mention"}},
		{"16", trial{argv: words("find . -exec /bin/rm {} +"), rules: []Rule{deny("rm")}}, expect{code: CodeCmdDeniedRule}},
		{"16 dir", trial{argv: words("find . -execdir /bin/rm {} ;"), rules: []Rule{deny("rm")}}, expect{code: CodeCmdDeniedRule}},
		{"17 node", trial{argv: sh("curl -s x | node")}, expect{code: CodeCmdStdinProgram}},
		{"17 python", trial{argv: sh("cat x | python -")}, expect{code: CodeCmdStdinProgram}},
		{"17 bash", trial{argv: words("bash -c 'bash <(curl x)'")}, expect{code: CodeCmdStdinProgram}},
		{"19+", trial{argv: words("jq env data.json")}, expect{clean: true, quiet: true}},
		{"19", trial{argv: words("jq -L lib . data.json")}, expect{ask: "floor.opaque"}},
		{"20", trial{argv: words("sort --compress-prog=sh x")}, expect{ask: "floor.opaque"}},
		{"20 rule", trial{argv: words("sort --compress-prog sh x"), rules: []Rule{deny("sort", "--compress-program")}}, expect{code: CodeCmdDeniedRule}},
		{"22", trial{argv: words("rg x"), env: map[string]string{"RIPGREP_CONFIG_PATH": "rc"}}, expect{code: CodeEnvForbidden}},
		{"23 e", trial{argv: words("sed 's/x/id/e' f")}, expect{ask: "floor.opaque"}},
		{"23 w", trial{argv: words("sed 'w out' f")}, expect{ask: "floor.opaque"}},
		{"23 command", trial{argv: words("sed '1e id' f")}, expect{ask: "floor.opaque"}},
		{"23+", trial{argv: words("sed -n -e '/a b/,$p;s/new/w/g' f")}, expect{clean: true, quiet: true}},
		{"25", trial{argv: sh("rm$IFS-rf x")}, expect{ask: "floor.dynamic"}},
		{"25 cluster", trial{argv: words("rm -fr x"), rules: []Rule{deny("rm", "-r")}}, expect{code: CodeCmdDeniedRule}},
		{"28 awk", trial{argv: words("awk 'BEGIN{}'")}, expect{ask: "floor.inline"}},
		{"28 xargs", trial{argv: words("xargs -n 1 rm"), rules: []Rule{deny("rm")}}, expect{code: CodeCmdDeniedRule}},
		{"28 gawk", trial{argv: words("gawk --so=BEGIN{}")}, expect{ask: "floor.inline"}},
		{"28 make", trial{argv: words("make --ev=x")}, expect{ask: "floor.runner", code: CodeBindAmbiguous}},
		{"28 glued", trial{argv: words("python3 -cprint")}, expect{ask: "floor.inline"}},
		{"28 eval", trial{argv: words("node --eval=1")}, expect{ask: "floor.inline"}},
		{"28 version", trial{argv: words("python3.12 -c print"), rules: []Rule{deny("python")}}, expect{code: CodeCmdDeniedRule, ask: "floor.inline"}},
		{"28 r2+", trial{argv: words("r2 -e x=1 file")}, expect{clean: true, quiet: true}},
		{"30 backslash", trial{argv: sh(`r\m -rf x`), rules: []Rule{deny("rm")}}, expect{code: CodeCmdDeniedRule}},
		{"30 quotes", trial{argv: sh(`"r"m -rf x`), rules: []Rule{deny("rm")}}, expect{code: CodeCmdDeniedRule}},
		{"30 ansi", trial{argv: []string{"bash", "-c", `$'\x72\155' -rf x`}, rules: []Rule{deny("rm")}}, expect{code: CodeCmdDeniedRule}},
	} {
		t.Run(c.row, func(t *testing.T) { judgeTrial(t, c.try).check(t, c.want) })
	}
}

func TestReportsAboutChainsAndTexts(t *testing.T) {
	zero := "r\u200bm"
	for _, c := range []struct {
		row  string
		try  trial
		want expect
	}{
		{"31", trial{argv: sh("echo ok && touch x"), rules: []Rule{deny("touch")}}, expect{code: CodeCmdDeniedRule}},
		{"33", trial{argv: sh("git fetch && git clean -fd"), rules: []Rule{deny("git", "clean")}}, expect{code: CodeCmdDeniedRule}},
		{"34 group", trial{argv: sh("{ cat f; }"), rules: []Rule{deny("cat")}}, expect{code: CodeCmdDeniedRule}},
		{"34 substitution", trial{argv: words("bash -c 'cat <(ls) f'"), rules: []Rule{deny("ls")}}, expect{code: CodeCmdDeniedRule}},
		{"36+", trial{argv: sh("curl -fsS \\\n  -H 'Accept: text/plain' \\\n  https://example.org")}, expect{clean: true, not: []Code{CodeCmdUnparseable}}},
		{"36 listed", trial{argv: sh("curl \\\n -f x"), rules: []Rule{allow("sh")}, policy: listOnly}, expect{code: CodeCmdNotAllowed, not: []Code{CodeCmdUnparseable}}},
		{"37", trial{argv: sh("r\\\nm -rf x"), rules: []Rule{deny("rm")}}, expect{code: CodeCmdDeniedRule}},
		{"39 case", trial{argv: words("GIT push"), rules: []Rule{allow("git")}, policy: listOnly}, expect{code: CodeCmdNotAllowed}},
		{"39 case of a deny+", trial{argv: words("RM x"), rules: []Rule{deny("rm")}}, expect{not: []Code{CodeCmdDeniedRule}}},
		{"39 star", trial{argv: words("/usr/bin/x/y"), rules: []Rule{{Effect: "allow", Path: "/usr/bin/*"}}, policy: listOnly}, expect{code: CodeCmdNotAllowed}},
		{"39 one character", trial{argv: words("/usr/bin/x/y"), rules: []Rule{{Effect: "allow", Path: "/usr/bin/x?y"}}, policy: listOnly}, expect{code: CodeCmdNotAllowed}},
		{"39 within+", trial{argv: words("/usr/bin/xy"), rules: []Rule{{Effect: "allow", Path: "/usr/bin/x?"}}, policy: listOnly}, expect{clean: true, quiet: true}},
		{"40", trial{argv: sh("PATH=/tmp/bad:$PATH cat <<'EOF' > f\nx\nEOF"), rules: []Rule{allow("sh"), allow("cat")}, policy: listOnly}, expect{code: CodeEnvForbidden}},
		{"40 redirect", trial{argv: sh("cat <<'EOF' > /etc/f\nx\nEOF")}, expect{code: CodeCmdRedirect}},
		{"42+", trial{argv: sh("make lint 2>&1 | tee log"), rules: []Rule{allow("sh"), allow("make"), allow("tee")}, policy: listOnly}, expect{not: []Code{CodeCmdNotAllowed, CodeCmdRedirect}}},
		{"42 tee", trial{argv: sh("make lint 2>&1 | tee /srv/other/log")}, expect{code: CodeCmdRedirect}},
		{"45+", trial{argv: sh("cat <<'EOF' > f\nrm -rf /\nsudo id\nEOF"), rules: []Rule{deny("rm")}}, expect{clean: true}},
		{"46+", trial{argv: []string{"./job", zero}, rules: []Rule{deny("rm")}}, expect{code: CodeSpecTextUnusual, not: []Code{CodeCmdDeniedRule}}},
		{"46 in a text+", trial{argv: sh(zero + " x"), rules: []Rule{deny("rm")}}, expect{code: CodeSpecTextUnusual, not: []Code{CodeCmdDeniedRule}}},
		{"48", trial{argv: sh("echo x | cat > f"), rules: []Rule{allow("sh"), allow("echo")}, policy: listOnly}, expect{code: CodeCmdNotAllowed}},
		{"49", trial{argv: sh("VAR=$(bad) good"), rules: []Rule{deny("bad")}}, expect{code: CodeCmdDeniedRule}},
		{"52", trial{argv: sh("rm -rf x; if")}, expect{code: CodeCmdUnparseable}},
		{"54", trial{argv: []string{"./job", "rm "}, rules: []Rule{deny("rm")}}, expect{clean: true, quiet: true}},
		{"54 name", trial{argv: []string{"./job ", "x"}}, expect{code: CodeSpecTextUnusual}},
		{"105b and", trial{argv: sh("a && b"), rules: []Rule{deny("b")}}, expect{code: CodeCmdDeniedRule}},
		{"105b pipe", trial{argv: sh("a | b"), rules: []Rule{deny("b")}}, expect{code: CodeCmdDeniedRule}},
		{"105b semicolon", trial{argv: sh("a ; b"), rules: []Rule{deny("b")}}, expect{code: CodeCmdDeniedRule}},
		{"93", trial{argv: sh("xcodebuild; evil"), rules: []Rule{deny("evil")}}, expect{code: CodeCmdDeniedRule}},
	} {
		t.Run(c.row, func(t *testing.T) { judgeTrial(t, c.try).check(t, c.want) })
	}
}

func TestReportsAboutPathsAndVariables(t *testing.T) {
	for _, c := range []struct {
		row  string
		try  trial
		want expect
	}{
		{"57", trial{argv: sh("echo x > /srv/ops-evil/f")}, expect{code: CodeCmdRedirect}},
		{"57+", trial{argv: sh("echo x > /srv/ops/f")}, expect{clean: true}},
		{"58", trial{argv: sh("cd /etc && echo x > passwd")}, expect{code: CodeCmdRedirect, ask: "floor.dynamic"}},
		{"58 up", trial{argv: sh("cd .. && echo x > f")}, expect{code: CodeCmdRedirect, ask: "floor.dynamic"}},
		{"58 inside+", trial{argv: sh("cd out && echo x > f")}, expect{clean: true}},
		{"58 back+", trial{argv: sh("cd out && echo x > ../f")}, expect{clean: true}},
		{"66", trial{argv: words("./job"), env: map[string]string{"LD_PRELOAD": "x"}}, expect{code: CodeEnvForbidden}},
		{"66 case", trial{argv: words("./job"), env: map[string]string{"Path": "x"}}, expect{code: CodeEnvForbidden}},
		{"82", trial{argv: words("./job"), env: map[string]string{"OPENCODE_PERMISSION": "{}"}}, expect{code: CodeEnvForbidden}},
		{"107b", trial{argv: words("./job"), env: map[string]string{"HERMES_EXEC_ASK": "1"}}, expect{code: CodeEnvForbidden}},
		{"107b interactive", trial{argv: words("./job"), env: map[string]string{"HERMES_INTERACTIVE": "1"}}, expect{code: CodeEnvForbidden}},
	} {
		t.Run(c.row, func(t *testing.T) { judgeTrial(t, c.try).check(t, c.want) })
	}
}

// Report 51: each part has a question of its own that shows it word by word.
func TestEachPartOfAChainHasItsOwnQuestion(t *testing.T) {
	v := judgeTrial(t, trial{argv: sh("git -c a=b log && git -c c=d show && git status")})
	seen := map[string]bool{}
	var opaque []string
	for _, a := range v.d.Asks {
		if a.Rule == "floor.opaque" {
			opaque = append(opaque, a.Question)
		}
		if seen[a.ID] {
			t.Errorf("two questions are called %s", a.ID)
		}
		seen[a.ID] = true
	}
	if len(opaque) != 2 || !strings.Contains(opaque[0], `"git" "-c" "a=b" "log"`) || !strings.Contains(opaque[1], `"git" "-c" "c=d" "show"`) {
		t.Errorf("%q", opaque)
	}
}

// Report 55: a pattern with nested quantifiers takes no time worth naming.
func TestAPatternCannotStallTheDecision(t *testing.T) {
	began := time.Now()
	v := judgeTrial(t, trial{argv: []string{"./job", strings.Repeat("a", 100000) + "!"},
		rules: []Rule{{Effect: "deny", Name: "job", Args: []Token{{Re: "(a+)+b"}}, Rest: true}}})
	if took := time.Since(began); took > 2*time.Second || !v.d.Allowed() {
		t.Errorf("took %v: %+v", took, v.d.Refusals())
	}
}

// Report 73: a job without argv[0] starts nothing.
func TestAnEmptyArgvIsNoCommand(t *testing.T) {
	in := goodInput(t, goodDraft(), goodFacts())
	in.Op.Spec.Argv = nil
	if d := Decide(PhaseTrigger, in); d.Allowed() || codesOf(d)[0] != CodeSpecMalformed {
		t.Errorf("%v", codesOf(d))
	}
}
