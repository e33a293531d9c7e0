package jobspec

import (
	"slices"
	"strings"
	"testing"
)

// openedJob is a workspace job with a bound file, a live folder and a state
// folder, all as they were approved.
func openedJob(t *testing.T) Input {
	t.Helper()
	d, f := goodDraft(), goodFacts()
	d.StateDir, f.RunAs = true, RunAs{User: "reports", UID: 1001, GID: 1001}
	d.Bind = []Bind{{Source: "/srv/conf/app.toml", Target: "~/.app.toml", Mode: BindRO}, {Source: "/srv/spool", Target: "/spool", Mode: BindRW}}
	f.Bind = slices.Clone(d.Bind)
	f.Bind[0].Kind, f.Bind[0].UID, f.Bind[1].Kind, f.Bind[1].UID = KindRegular, 1000, KindDir, 1001
	f.Bound = append(f.Bound, boundAt(RoleBind, "/srv/conf/app.toml", "/srv/conf/app.toml"))
	in := goodInput(t, d, f)
	in.Host.System = true
	in.Policy.Principals["alice"] = withBinds(in.Policy.Principals["alice"])
	in.Paths = append(in.Paths,
		Observation{Use: UseBindRW, Typed: "/srv/spool", Real: "/srv/spool", Kind: KindDir, UID: 1001, Places: at(8, 900, "8:1:/srv/spool", 2)},
		Observation{Use: UseState, Typed: StatePlace, Real: "/var/lib/sbxcron-jobs/nightly-0/data", Kind: KindDir, UID: 1001, Size: 4096})
	return in
}

func withBinds(c Ceiling) Ceiling {
	c.Bind, c.Write = []string{"/srv/conf", "/srv/spool"}, []string{"/srv/spool"}
	return c
}

func TestWhatAJobOpensIsJudgedAtEachTrigger(t *testing.T) {
	find := func(in *Input, use Use) *Observation {
		i := slices.IndexFunc(in.Paths, func(o Observation) bool { return o.Use == use })
		return &in.Paths[i]
	}
	bytes := func(in *Input) *Observation {
		i := slices.IndexFunc(in.Paths, func(o Observation) bool { return o.Role == RoleBind })
		return &in.Paths[i]
	}
	for name, c := range map[string]struct {
		change func(in *Input)
		want   Code
	}{
		"as it was approved":        {func(*Input) {}, ""},
		"other bytes":               {func(in *Input) { bytes(in).SHA256 = DigestOf([]byte("x")) }, CodeDriftBindSrc},
		"other owner of the file":   {func(in *Input) { bytes(in).UID = 7 }, CodeDriftBindSrc},
		"file became a link":        {func(in *Input) { bytes(in).Symlink = true }, CodeDriftBindSrc},
		"other owner of the folder": {func(in *Input) { find(in, UseBindRW).UID = 7 }, CodeDriftBindSrc},
		"folder became a file":      {func(in *Input) { find(in, UseBindRW).Kind = KindRegular }, CodeDriftBindSrc},
		"folder became a link":      {func(in *Input) { find(in, UseBindRW).Symlink = true }, CodeDriftBindSrc},
		"folder leads elsewhere":    {func(in *Input) { find(in, UseBindRW).Real = "/srv/other" }, CodeDriftBindSrc},
		"folder was not opened":     {func(in *Input) { find(in, UseBindRW).Use = UseRead }, CodeDriftBindSrc},
		"folder is a home now":      {func(in *Input) { find(in, UseBindRW).Places = at(8, 60, "8:1:/home/alice", 61, 2) }, CodePathSensitive},
		"state over its limit":      {func(in *Input) { find(in, UseState).Size = DefaultStateBytes + 1 }, CodeStateOverQuota},
		"state at its limit":        {func(in *Input) { find(in, UseState).Size = DefaultStateBytes }, ""},
		"state unusable":            {func(in *Input) { find(in, UseState).Problem = CodeStateUnusable }, CodeStateUnusable},
		"state not looked at":       {func(in *Input) { find(in, UseState).Use = UseRead }, CodeStateUnusable},
	} {
		in := openedJob(t)
		c.change(&in)
		got := codesOf(Decide(PhaseTrigger, in))
		if c.want == "" && len(got) > 0 || c.want != "" && !slices.Equal(got, []Code{c.want}) {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

func TestASpecThatOpensTooMuchIsRefused(t *testing.T) {
	target := func(at string) func(op *Op) { return func(op *Op) { op.Spec.Bind[1].Target = at } }
	for name, c := range map[string]struct {
		change func(op *Op)
		want   Code
	}{
		"no mode":                      {func(op *Op) { op.Spec.Bind[1].Mode = "" }, CodeBindModeMissing},
		"no kind":                      {func(op *Op) { op.Spec.Bind[1].Kind = "" }, CodeSpecMalformed},
		"a socket":                     {func(op *Op) { op.Spec.Bind[1].Kind = KindSocket }, CodeSpecMalformed},
		"relative source":              {func(op *Op) { op.Spec.Bind[1].Source = "spool" }, CodeSpecMalformed},
		"rw in read-only":              {func(op *Op) { op.Tier = ReadOnly }, CodeBindOverCeiling},
		"file without its digest":      {func(op *Op) { op.Spec.Bound = op.Spec.Bound[:1] }, CodeSpecMalformed},
		"digest without its bind":      {func(op *Op) { op.Spec.Bind = op.Spec.Bind[1:] }, CodeSpecMalformed},
		"target relative":              {target("spool"), CodeBindSensitive},
		"target is the home":           {target("~/"), CodeBindSensitive},
		"target climbs":                {target("~/../x"), CodeBindSensitive},
		"target of another user":       {target("~bob/x"), CodeBindSensitive},
		"target is the root":           {target("/"), CodeBindSensitive},
		"target is tmp":                {target("/tmp"), CodeBindSensitive},
		"target above the home":        {target("/home"), CodeBindSensitive},
		"target with a line end":       {target("/x\ny"), CodeBindSensitive},
		"target in /etc":               {target("/etc/ld.so.preload"), CodeBindSensitive},
		"target in /usr":               {target("/usr/bin/sh"), CodeBindSensitive},
		"target in /proc":              {target("/proc/self"), CodeBindSensitive},
		"target is the state":          {target(StatePlace), CodeBindSensitive},
		"target in ours":               {target("/.sbxcron/script"), CodeBindSensitive},
		"target in the cwd":            {target("/srv/ops/x"), CodeBindSensitive},
		"target above the cwd":         {target("/srv"), CodeBindSensitive},
		"target in what is read":       {target("/srv/data/x"), CodeBindSensitive},
		"target of another bind":       {target("~/.app.toml"), CodeBindSensitive},
		"target in another bind":       {target("~/.app.toml/x"), CodeBindSensitive},
		"hole shows":                   {func(op *Op) { op.Spec.Deny = []string{"/srv/spool/private"} }, CodeBindSensitive},
		"writable once more":           {func(op *Op) { op.Spec.Bind[1].Source = "/srv/ops/out" }, CodeBindSensitive},
		"writable .git":                {func(op *Op) { op.Spec.Bind[1].Source = "/srv/spool/.git/hooks" }, CodeBindSensitive},
		"no limit for the state":       {func(op *Op) { op.Spec.Limits.StateBytes = 0 }, CodeLimitOverCeiling},
		"a limit for no state":         {func(op *Op) { op.Spec.StateDir = false }, CodeSpecMalformed},
		"state of a throw-away uid":    {func(op *Op) { op.Spec.RunAs = RunAs{} }, CodeRunAsForbidden},
		"an unprotected name":          {func(op *Op) { op.Spec.MayCreate = []string{"file"} }, CodeSpecMalformed},
		"may_create in read-only":      {func(op *Op) { op.Tier, op.Spec.MayCreate = ReadOnly, []string{".envrc"} }, CodeSpecMalformed},
		"commit in read-only":          {func(op *Op) { op.Tier, op.Spec.Git = ReadOnly, GitCommit }, CodeSpecMalformed},
		"commit that nobody agreed to": {func(op *Op) { op.Spec.Git = GitCommit }, CodeAskAtTrigger},
		"STATE_DIRECTORY set":          {func(op *Op) { op.Spec.Env["STATE_DIRECTORY"] = "/x" }, CodeEnvForbidden},
	} {
		in := openedJob(t)
		c.change(in.Op)
		if got := codesOf(Decide(PhaseTrigger, in)); !slices.Contains(got, c.want) {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

func TestNamesThatAreProtectedMayBeCreatedByName(t *testing.T) {
	for _, name := range mayCreateNames() {
		in := openedJob(t)
		in.Op.Spec.MayCreate = []string{name}
		if got := codesOf(Decide(PhaseTrigger, in)); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTheCommitIsAnAskThatAnAnswerAllows(t *testing.T) {
	in := openedJob(t)
	in.Op.Spec.Git = GitCommit
	d := Decide(PhaseAdd, in)
	if len(d.Asks) != 1 || d.Asks[0].Rule != ruleGitCommit.id {
		t.Fatalf("%+v", d.Asks)
	}
	in.Op.Spec.Answers = []Answer{d.Asks[0].Answer()}
	if d := Decide(PhaseTrigger, in); !d.Allowed() {
		t.Errorf("%+v", d.Refusals())
	}
}

func TestCoverageSaysWhatOpeningsLeaveOpen(t *testing.T) {
	in := openedJob(t)
	s := in.Op.Spec
	s.Bound = append(s.Bound, boundAt(RoleInterpreter, "/bin/sh", "/usr/bin/dash"))
	c := CoverageOf(s)
	for k, want := range map[string]string{"executable": "hash", "interpreter": "hash", "bind_files": "hash", "bind_live": "unbound", "state": "unbound",
		"libraries": "unbound", "imports": "unbound", "configuration": "unbound"} {
		if c[k] != want {
			t.Errorf("%s is %q, want %q", k, c[k], want)
		}
	}
}

func TestAnAmbiguousCommandIsToldWhatToDeclare(t *testing.T) {
	for command, want := range map[string]string{"make all": "--file Makefile", "npm run build": "--file package.json", "python3 -m pkg": "in place of -m"} {
		in := goodInput(t, goodDraft(), goodFacts())
		in.Op.Spec.Argv = strings.Fields(command)
		found := slices.ContainsFunc(Decide(PhaseAdd, in).Refusals(), func(c Check) bool {
			return c.Code == CodeBindAmbiguous && strings.Contains(c.Remedy, want)
		})
		if !found {
			t.Errorf("%s: no hint with %q in %+v", command, want, Decide(PhaseAdd, in).Refusals())
		}
	}
}

func TestChangesNameWhatIsNotWhatItWas(t *testing.T) {
	was := openedJob(t).Op.Spec
	if c := Changes(was, was); len(c) != 0 {
		t.Errorf("nothing changed, and %+v", c)
	}
	is := *was
	is.Bound = slices.Clone(was.Bound)
	is.Bound[0].SHA256, is.Bound[0].Size = DigestOf([]byte("new")), 9
	is.Bound[1].UID = 7
	is.Bound = append(is.Bound, boundAt(RoleInterpreter, "/bin/sh", "/usr/bin/dash"))
	is.Cwd.UID, is.RunAs.GID = 3, 9
	is.Bind = slices.Clone(was.Bind)
	is.Bind[1].Kind = KindRegular
	var got []string
	for _, c := range Changes(was, &is) {
		got = append(got, c.What)
		if text := strings.Join(c.Lines(), "\n"); !strings.Contains(text, "  is  ") {
			t.Errorf("%s is told as\n%s", c.What, text)
		}
	}
	if want := []string{"executable", "bind", "cwd", "bind", "account", "interpreter"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
