package examine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/cmd/internal/examine"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/runner/pin"
	"github.com/sbxcron/sbxcron/runner/throwaway"
	"github.com/sbxcron/sbxcron/signing/signingtest"
	"github.com/sbxcron/sbxcron/store/storetest"
)

func TestMain(m *testing.M) {
	pin.ChildMain()
	os.Exit(m.Run())
}

const policy = `serial = 1
enabled_platforms = ["linux"]
[principals.alice]
max_tier = "read-only"
max_net = "none"
`

// lab is an installation with a policy, and a folder with a job's script.
type lab struct {
	*examine.Examiner
	cwd, script string
}

// usable is a sandbox as it should be: what is tried here is not the sandbox.
type usable struct{}

func (usable) Probe(context.Context) jobspec.Sandbox {
	return jobspec.Sandbox{Backend: "bwrap", Usable: true, Capabilities: []string{"userns", "netns", "seccomp", "landlock"}}
}

func newLab(t *testing.T) *lab {
	t.Helper()
	key := signingtest.FixedKey(t, "alice", "alice", jobspec.RootNamespace)
	d := storetest.Root(t, string(signingtest.AllowedSigners(t, key)), "")
	storetest.Begin(t, d, storetest.Lock(t, d), func(ns string, op []byte) []byte { return key.Sign(t, ns, op) })
	put(t, d.Policy(), policy, 0o600)
	l := &lab{cwd: filepath.Join(open(t, t.TempDir()), "work")}
	if err := os.Mkdir(l.cwd, 0o755); err != nil {
		t.Fatal(err)
	}
	open(t, l.cwd)
	l.script = filepath.Join(l.cwd, "job.sh")
	put(t, l.script, "#!/bin/sh\necho ok\n", 0o755)
	now := func() time.Time { return storetest.Epoch().Add(time.Hour) }
	l.Examiner = &examine.Examiner{Site: config.Site{Dirs: d}, Sandbox: usable{}, Cache: pin.NewCache(now), Bwrap: "/usr/bin/bwrap", Now: now}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l.Binary = binary
	return l
}

// open lets the account of a job reach a folder of the test: as root the spec's
// paths are opened by an account that has nothing of its own.
func open(t *testing.T, dir string) string {
	t.Helper()
	for p := dir; p != "/" && p != os.TempDir(); p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) draft() *jobspec.Draft {
	return &jobspec.Draft{Name: "job", Cron: "30 2 * * *", Timezone: "UTC", Tier: jobspec.ReadOnly, Net: jobspec.NetNone,
		Cwd: l.cwd, Command: []string{"./job.sh", "--full"}}
}

func (l *lab) candidate(t *testing.T, d *jobspec.Draft) (*jobspec.Op, error) {
	t.Helper()
	return l.Candidate(t.Context(), d, examine.Position{Host: storetest.Host, Seq: 1, Prev: jobspec.DigestOf([]byte("genesis")),
		Action: jobspec.Add, Revision: 1, Principal: "alice", Now: l.Now()}, "/")
}

func (l *lab) examine(t *testing.T, op *jobspec.Op) *examine.Examination {
	t.Helper()
	e, err := l.Examine(t.Context(), jobspec.PhaseAdd, examine.Subject{Op: op}, throwaway.First)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func codes(d jobspec.Decision) string {
	var all []string
	for _, c := range d.Refusals() {
		all = append(all, string(c.Code))
	}
	return strings.Join(all, " ")
}

func TestACandidateBindsWhatItsCommandRuns(t *testing.T) {
	l := newLab(t)
	op, err := l.candidate(t, l.draft())
	if err != nil {
		t.Fatal(err)
	}
	if len(op.Spec.Bound) != 2 || op.Spec.Cwd.Path != l.cwd || op.Spec.Schedule.Words == "" {
		t.Fatalf("bound %+v, cwd %+v, words %q", op.Spec.Bound, op.Spec.Cwd, op.Spec.Schedule.Words)
	}
	script, shell := op.Spec.Bound[0], op.Spec.Bound[1]
	if script.Role != jobspec.RoleExecutable || script.Typed != "./job.sh" || script.Real != l.script ||
		script.SHA256 != jobspec.DigestOf([]byte("#!/bin/sh\necho ok\n")) || script.Mode != "0755" {
		t.Errorf("executable %+v", script)
	}
	real, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if shell.Role != jobspec.RoleInterpreter || shell.Typed != "/bin/sh" || shell.Real != real {
		t.Errorf("interpreter %+v", shell)
	}
	if e := l.examine(t, op); !e.Decision.Allowed() || len(e.Input.Paths) != 3 {
		t.Errorf("refused: %s; %d paths were looked at", codes(e.Decision), len(e.Input.Paths))
	}
}

func TestWhatChangedOrIsAnothersSinceIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, l *lab)
		want   jobspec.Code
	}{
		"other bytes":    {func(t *testing.T, l *lab) { put(t, l.script, "#!/bin/sh\necho no\n", 0o755) }, jobspec.CodeDriftExecHash},
		"no script":      {func(t *testing.T, l *lab) { must(t, os.Remove(l.script)) }, jobspec.CodeDriftExecMissing},
		"another folder": {func(t *testing.T, l *lab) { must(t, os.Rename(l.cwd, l.cwd+"-old")) }, jobspec.CodeDriftCwd},
		"a ceiling that came down": {func(t *testing.T, l *lab) {
			put(t, l.Site.Dirs.Policy(), strings.Replace(policy, "read-only", "scratch", 1), 0o600)
		}, jobspec.CodeTierOverCeiling},
		"a policy that others write": {func(t *testing.T, l *lab) { must(t, os.Chmod(l.Site.Dirs.Policy(), 0o666)) }, jobspec.CodePolicyPerms},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			op, err := l.candidate(t, l.draft())
			must(t, err)
			c.change(t, l)
			if e := l.examine(t, op); e.Decision.Allowed() || !strings.Contains(codes(e.Decision), string(c.want)) {
				t.Errorf("allowed %v, reasons %q, want %s", e.Decision.Allowed(), codes(e.Decision), c.want)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestADraftThatNamesWhatIsNotThereIsRefusedByField(t *testing.T) {
	l := newLab(t)
	for field, spoil := range map[string]func(*jobspec.Draft){
		"executable": func(d *jobspec.Draft) { d.Command = []string{"./none.sh"} },
		"cwd":        func(d *jobspec.Draft) { d.Cwd = filepath.Join(l.cwd, "none") },
		"file":       func(d *jobspec.Draft) { d.Files = []string{"none.sql"} },
		"run_as":     func(d *jobspec.Draft) { d.RunAs = "no-such-account" },
	} {
		d := l.draft()
		spoil(d)
		_, err := l.candidate(t, d)
		var refused *jobspec.FieldError
		if !errors.As(err, &refused) || refused.Field != field || refused.Hint() == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestTheInstallationItselfIsNoPlaceForAJob(t *testing.T) {
	l := newLab(t)
	for _, dir := range []string{l.Site.Conf, l.Site.State, filepath.Dir(l.Site.Conf)} {
		open(t, dir)
		d := l.draft()
		d.Cwd, d.Command = dir, []string{"/bin/true"}
		op, err := l.candidate(t, d)
		must(t, err)
		if e := l.examine(t, op); !strings.Contains(codes(e.Decision), string(jobspec.CodePathSensitive)) {
			t.Errorf("%s: %s", dir, codes(e.Decision))
		}
	}
}

// A policy that no longer opens private addresses, or names another way out, still
// allows the job; the sandbox that was built under the old one is not its sandbox.
func TestASandboxOfAnotherGrantDoesNotFit(t *testing.T) {
	const open = policy + "hosts = [\"db.internal:5432\"]\nprivate_hosts = [\"db.internal:5432\"]\n"
	policies := func(private, upstream string) string {
		p := strings.Replace(open, `max_net = "none"`, `max_net = "proxy"`, 1)
		return upstream + strings.Replace(p, `private_hosts = ["db.internal:5432"]`, private, 1)
	}
	const private = `private_hosts = ["db.internal:5432"]`
	for name, c := range map[string]struct {
		now  string
		fits bool
	}{
		"the same":            {policies(private, ""), true},
		"another comment":     {policies(private, "# more\n"), true},
		"no private hosts":    {policies("", ""), false},
		"another private one": {policies(`private_hosts = ["other.internal:5432"]`, ""), false},
		"an upstream":         {policies(private, "upstream = \"http://proxy.internal:8080\"\n"), false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			put(t, l.Site.Dirs.Policy(), policies(private, ""), 0o600)
			d := l.draft()
			d.Net, d.NetAllow = jobspec.NetProxy, []string{"db.internal:5432"}
			op, err := l.candidate(t, d)
			must(t, err)
			e := l.examine(t, op)
			if !e.Decision.Allowed() || len(e.Decision.Net.Private) != 1 || !e.Fits() {
				t.Fatalf("at first: %s, %+v", codes(e.Decision), e.Decision.Net)
			}
			put(t, l.Site.Dirs.Policy(), c.now, 0o600)
			l.Again(e, time.Time{}, false)
			if e.Fits() != c.fits {
				t.Errorf("fits %v, %+v", e.Fits(), e.Decision.Net)
			}
		})
	}
}

// An approval that ends with the slot is over at the slot, however shortly before
// it the sandbox was built.
func TestAnApprovalIsOverWhenItsSecondBegins(t *testing.T) {
	l := newLab(t)
	op, err := l.candidate(t, l.draft())
	must(t, err)
	end := op.Spec.ExpiresAt.Time()
	for name, c := range map[string]struct {
		first, now time.Duration // before the end
		renewed    bool
		want       string
	}{
		"within a second":  {900 * time.Millisecond, 100 * time.Millisecond, false, ""},
		"over its end":     {10 * time.Millisecond, 0, true, "expired"},
		"over a second":    {1100 * time.Millisecond, 900 * time.Millisecond, true, ""},
		"back in the time": {900 * time.Millisecond, 1900 * time.Millisecond, true, ""},
	} {
		at := end.Add(-c.first)
		l.Now = func() time.Time { return at }
		e := l.examine(t, op)
		if codes(e.Decision) != "" {
			t.Fatalf("%s: %s", name, codes(e.Decision))
		}
		at = end.Add(-c.now)
		renewed := l.Again(e, time.Time{}, false)
		got := strings.Contains(codes(e.Decision), string(jobspec.CodeExpired))
		if renewed != c.renewed || got != (c.want != "") {
			t.Errorf("%s: decided anew %v, %s", name, renewed, codes(e.Decision))
		}
	}
}
