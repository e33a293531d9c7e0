package jobspec

import "testing"

func TestOutputGoesOnlyWhereTheJobMayWrite(t *testing.T) {
	for _, c := range []struct {
		text string
		tier Tier
		want expect
	}{
		{"echo x > f", Workspace, expect{clean: true}},
		{"echo x > f", ReadOnly, expect{code: CodeCmdRedirect}},
		{"echo x > /tmp/f 2>/dev/null >&2", ReadOnly, expect{clean: true}},
		{"echo x > /home/job/.cache/f", ReadOnly, expect{clean: true}},
		{"echo x >> /srv/data/f", Workspace, expect{code: CodeCmdRedirect}}, // read only
		{"echo x > ../f", Workspace, expect{code: CodeCmdRedirect}},
		{"echo x > out/../../f", Workspace, expect{code: CodeCmdRedirect}},
		{"echo x >| /usr/f", Workspace, expect{code: CodeCmdRedirect}},
		{"echo x &> /usr/f", Workspace, expect{code: CodeCmdRedirect}},
		{"exec 3<> /usr/f", Workspace, expect{code: CodeCmdRedirect}},
		{"{ a; b; } > /usr/f", Workspace, expect{code: CodeCmdRedirect}},
		{"while read x; do a; done < in > /usr/f", Workspace, expect{code: CodeCmdRedirect}},
		{"> /usr/f", Workspace, expect{code: CodeCmdRedirect}},
		{"echo x > /dev/tcp/host/80", Workspace, expect{code: CodeCmdRedirect}},
		{"echo x > \"$f\"", Workspace, expect{ask: "floor.redirect_unknown", clean: true}},
		{"cd \"$d\" && echo x > f", Workspace, expect{ask: "floor.redirect_unknown", clean: true}},
		{"(cd out && a) && echo x > f", Workspace, expect{clean: true}},
		{"if a; then cd out; fi; echo x > ../f", Workspace, expect{ask: "floor.redirect_unknown", clean: true}},
		{"for d in a b; do cd $d; echo x > f; done", Workspace, expect{ask: "floor.redirect_unknown"}},
		{"f() { cd out; }; f; echo x > ../f", Workspace, expect{ask: "floor.redirect_unknown"}},
		{"cd out || exit 1; echo x > ../f", Workspace, expect{clean: true}},
		{"cd out || true; echo x > ../f", Workspace, expect{ask: "floor.redirect_unknown"}},
		{"dd if=in of=/usr/f", Workspace, expect{code: CodeCmdRedirect}},
		{"sort -o /usr/f in", Workspace, expect{code: CodeCmdRedirect}},
		{"find . -fprint /usr/f", Workspace, expect{code: CodeCmdRedirect}},
	} {
		t.Run(c.tier.String()+" "+c.text, func(t *testing.T) { judgeTrial(t, trial{argv: sh(c.text), tier: c.tier}).check(t, c.want) })
	}
}

func TestAnEmbeddedScriptIsNotAskedWhereItWrites(t *testing.T) {
	script := Script{Interpreter: "/bin/sh", Body: "set -eu\nout=$(mktemp)\necho x > \"$out\"\nwhile IFS= read -r l; do echo \"$l\"; done < in\nPATH=/usr/bin:/bin\nexport PATH=\"/sbin:$PATH\"\npath=/tmp tmpdir=x TMPDIR=$(mktemp -d)\ntrap 'rm -f \"$out\"' EXIT\n"}
	judgeTrial(t, trial{script: script}).check(t, expect{clean: true, quiet: true})
	script.Body = "echo x > /etc/f\n"
	judgeTrial(t, trial{script: script}).check(t, expect{code: CodeCmdRedirect})
	judgeTrial(t, trial{script: Script{Interpreter: "/bin/zsh", Body: "path=(/tmp $path)\nls\n"}}).check(t, expect{code: CodeEnvForbidden})
	script.Body = "PATH=/tmp:$PATH\nls\n"
	judgeTrial(t, trial{script: script}).check(t, expect{code: CodeEnvForbidden})
}

// A program that is read from a named file can be bound; one from anywhere else
// cannot.
func TestAProgramFromStandardInput(t *testing.T) {
	for _, c := range []struct {
		text string
		want expect
	}{
		{"python3 < job.py", expect{ask: "floor.fed", clean: true}},
		{"cd lib && sh < job.sh", expect{ask: "floor.fed", clean: true}},
		{"env A=b python3 < job.py", expect{ask: "floor.fed", clean: true}},
		{"python3 < \"$f\"", expect{code: CodeCmdStdinProgram}},
		{"cd \"$d\"; sh < job.sh", expect{code: CodeCmdStdinProgram}},
		{"sh < /dev/tcp/host/80", expect{code: CodeCmdStdinProgram}},
		{"sh <<'E'\nsudo id\nE", expect{code: CodeCmdPrivilege}},
		{"sh <<E\nsudo id\nE", expect{code: CodeCmdPrivilege}},
		{"echo 'id' | sh", expect{code: CodeCmdStdinProgram}},
		{"sh", expect{code: CodeCmdStdinProgram}},
	} {
		t.Run(c.text, func(t *testing.T) { judgeTrial(t, trial{argv: sh(c.text)}).check(t, c.want) })
	}
	got := PlanBinding(sh("cd lib && sh < job.sh"), Script{}, nil).Targets
	if len(got) != 2 || got[1] != (BindTarget{RoleScript, "lib/job.sh"}) {
		t.Errorf("bound %v", got)
	}
}

func TestWhatTheJobOpensForWritingIsWhereItMayWrite(t *testing.T) {
	s := &Spec{Cwd: Place{Path: "/srv/app"}, StateDir: true, Bind: []Bind{
		{Source: "/srv/spool", Target: "/a~b", Mode: BindRW, Kind: KindDir},
		{Source: "/srv/log", Target: "~/log", Mode: BindRW, Kind: KindDir},
		{Source: "/srv/conf", Target: "~/conf", Mode: BindRO, Kind: KindDir},
		{Source: "/srv/x", Target: "nowhere", Mode: BindRW, Kind: KindDir},
	}}
	j := &judge{op: &Op{Tier: Workspace, Spec: s}, spec: s}
	for p, want := range map[string]bool{
		"/state/seen": true, "/stateful": false, "/a~b/f": true, "/a/home/jobb/f": false,
		"/home/job/log/f": true, "/home/job/conf/f": false, "/home/job/f": true, "/srv/app/f": true, "/srv/spool/f": false, "/etc/f": false,
	} {
		if got := j.mayWrite(p); got != want {
			t.Errorf("may write %s: %v", p, got)
		}
	}
	if s.StateDir = false; j.mayWrite("/state/seen") {
		t.Error("a job without a state folder writes to one")
	}
}
