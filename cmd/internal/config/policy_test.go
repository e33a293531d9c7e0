//go:build linux

package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/jobspec"
)

const base = `serial = 3
enabled_platforms = ["linux"]
[principals.alice]
max_tier = "workspace"
read = ["/srv"]
[[rules]]
id = "no-push"
effect = "deny"
why = "publishing is manual"
name = "git"
has = ["push"]
`

// withFiles is a site with this policy.toml and further files below CONF.
func withFiles(t *testing.T, files map[string]string) config.Site {
	t.Helper()
	s := newSite(t)
	write(t, s.Dirs.Policy(), base, 0o600)
	for name, text := range files {
		path := filepath.Join(s.Conf, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, text, 0o600)
	}
	return s
}

func TestAllFilesOfAPolicyHold(t *testing.T) {
	s := withFiles(t, map[string]string{
		"policy.d/20-b.toml": "serial = 2\n[principals.alice]\nmax_tier = \"read-only\"\n",
		"policy.d/10-a.toml": "serial = 5\nagent_cli = \"deny\"\n[[rules]]\nid = \"no-curl\"\neffect = \"deny\"\nwhy = \"w\"\nname = \"curl\"\n",
		"owner.d/alice.toml": "[principals.alice]\nread = [\"/srv/a\"]\n",
	})
	set, err := s.PolicySet(10)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range set.Files {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "policy.toml policy.d/10-a.toml policy.d/20-b.toml owner.d/alice.toml" {
		t.Errorf("files %s", got)
	}
	p := set.Policy
	if p.Serial != 10 || p.AgentCLI != "deny" || len(p.Rules) != 2 || p.Principals["alice"].MaxTier != jobspec.ReadOnly {
		t.Errorf("%+v", p)
	}
	if own := p.For("alice").Principals["alice"]; len(own.Read) != 1 || own.Read[0] != "/srv/a" || p.Principals["alice"].Read[0] != "/srv" {
		t.Errorf("with the own file %+v, without %+v", own, p.Principals["alice"])
	}
	if p.Digest == set.Files[0].Policy.Digest || p.Owners["alice"].Digest != jobspec.DigestOf(set.Files[3].Text) {
		t.Errorf("digests %s, %s", p.Digest, p.Owners["alice"].Digest)
	}
	if _, err := s.PolicySet(11); !refusedBy(err, jobspec.CodePolicyRollback) {
		t.Errorf("an older set: %v", err)
	}
	if err := os.Remove(filepath.Join(s.Conf, "policy.d/20-b.toml")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PolicySet(10); !refusedBy(err, jobspec.CodePolicyRollback) {
		t.Errorf("a file is gone, and %v", err)
	}
}

func refusedBy(err error, code jobspec.Code) bool {
	var refused *config.Error
	return errors.As(err, &refused) && refused.Reason == code && refused.Hint() != ""
}

// Any fault in any managed file leaves no policy at all, and nothing waits.
func TestAFaultInAFurtherFileLeavesNoPolicy(t *testing.T) {
	const name = "policy.d/10-a.toml"
	good := "serial = 2\n[principals.alice]\nmax_tier = \"read-only\"\n"
	for _, c := range []struct {
		name  string
		spoil func(path string) error
		code  jobspec.Code
	}{
		{"others write it", func(p string) error { return os.Chmod(p, 0o622) }, jobspec.CodePolicyPerms},
		{"others write its folder", func(p string) error { return os.Chmod(filepath.Dir(p), 0o777) }, jobspec.CodePolicyPerms},
		{"it is a link", func(p string) error { return errors.Join(os.Rename(p, p+"2"), os.Symlink(p+"2", p)) }, jobspec.CodePolicySchema}, // the other name is refused first
		{"its folder is a link", func(p string) error {
			d := filepath.Dir(p)
			return errors.Join(os.Rename(d, d+"2"), os.Symlink(d+"2", d))
		}, jobspec.CodePolicyPerms},
		{"a link into another folder", func(p string) error { return errors.Join(os.Remove(p), os.Symlink("/etc/hostname", p)) }, jobspec.CodePolicyPerms},
		{"its folder is a file", func(p string) error {
			d := filepath.Dir(p)
			return errors.Join(os.RemoveAll(d), os.WriteFile(d, nil, 0o600))
		}, jobspec.CodePolicyPerms},
		{"its folder is a FIFO", func(p string) error {
			d := filepath.Dir(p)
			return errors.Join(os.RemoveAll(d), syscall.Mkfifo(d, 0o600))
		}, jobspec.CodePolicyPerms},
		{"it is a folder", func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }, jobspec.CodePolicyPerms},
		{"it is a FIFO", func(p string) error { return errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o600)) }, jobspec.CodePolicyPerms},
		{"another kind of name", func(p string) error { return os.WriteFile(p+"~", nil, 0o600) }, jobspec.CodePolicySchema},
		{"a hidden name", func(p string) error { return os.WriteFile(filepath.Dir(p)+"/.x.toml", nil, 0o600) }, jobspec.CodePolicySchema},
		{"no TOML", text2("serial ="), jobspec.CodePolicyParse},
		{"an unknown key", text2("serial = 1\nsandbox = \"off\"\n"), jobspec.CodePolicySchema},
		{"no serial", text2("[roles]\n"), jobspec.CodePolicySchema},
		{"an example that fails", text2("serial = 1\n[[rules]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"w\"\nname = \"git\"\nmatch = [[\"ls\"]]\n"), jobspec.CodePolicySelftest},
		{"a rule that is there already", text2("serial = 1\n[[rules]]\nid = \"no-push\"\neffect = \"deny\"\nwhy = \"w\"\nname = \"git\"\n"), jobspec.CodePolicySchema},
		{"a zone that is none", text2("serial = 1\n[principals.alice]\nwindows = [\"01:00-02:00 Mars/Olympus\"]\n"), jobspec.CodePolicySchema},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := withFiles(t, map[string]string{name: good})
			if _, err := s.Policy(0); err != nil {
				t.Fatal(err)
			}
			if err := c.spoil(filepath.Join(s.Conf, name)); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			p, err := s.Policy(0)
			if p != nil || !refusedBy(err, c.code) {
				t.Errorf("policy %v, error %v, want %s", p, err, c.code)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func text2(text string) func(path string) error {
	return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
}

// What a principal does to the own file is felt by nobody else.
func TestAFaultInAnOwnersFileIsTheOwnersAlone(t *testing.T) {
	for text, code := range map[string]jobspec.Code{
		"x":            jobspec.CodePolicyParse,
		"weaker = []":  jobspec.CodePolicySchema,
		"allow = true": jobspec.CodePolicySchema,
		"[[rules]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"w\"\nname = \"git\"\nmatch = [[\"ls\"]]\n": jobspec.CodePolicySelftest,
	} {
		s := withFiles(t, map[string]string{"owner.d/alice.toml": text})
		p, err := s.Policy(0)
		if err != nil {
			t.Fatal(err)
		}
		if o := p.Owners["alice"]; o.Reason != code || o.Policy != nil || !strings.Contains(o.Detail, "alice.toml") {
			t.Errorf("%q: %+v", text, o)
		}
	}
	s := withFiles(t, map[string]string{"owner.d/alcie.toml": "[principals.alcie]\nmax_tier = \"scratch\"\n"})
	if _, err := s.Policy(0); !refusedBy(err, jobspec.CodePolicySchema) {
		t.Errorf("a file about nobody: %v", err)
	}
}

// An ordinary user may write that file, and everybody's decisions read it.
func TestALongFileOfAnOwnerIsRefusedAndHoldsNobodyUp(t *testing.T) {
	text := strings.Repeat("# nothing\n", 1+64<<10/10)
	s := withFiles(t, map[string]string{"owner.d/alice.toml": text, "policy.d/10-a.toml": "serial = 1\n" + text})
	p, err := s.Policy(0)
	if err != nil {
		t.Fatal(err)
	}
	if o := p.Owners["alice"]; o.Reason != jobspec.CodePolicyPerms || o.Policy != nil {
		t.Errorf("%+v", o)
	}
	if problems, err := config.CheckDraft(s.Conf); err != nil || len(problems) != 1 || !strings.Contains(problems[0].Detail, "longer than") {
		t.Errorf("%+v, %v", problems, err)
	}
}

// In system mode a principal's users may own the file; nobody else may.
func TestWhoMayOwnAnOwnersFile(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to give a file away")
	}
	s := withFiles(t, map[string]string{"owner.d/alice.toml": "[principals.alice]\nmax_tier = \"scratch\"\n"})
	own := func(uid int) jobspec.Code {
		if err := os.Chown(filepath.Join(s.Conf, "owner.d/alice.toml"), uid, -1); err != nil {
			t.Fatal(err)
		}
		p, err := s.Policy(0)
		if err != nil {
			t.Fatal(err)
		}
		return p.Owners["alice"].Reason
	}
	if code := own(65534); code != jobspec.CodePolicyPerms {
		t.Errorf("another account's file: %q", code)
	}
	write(t, s.Dirs.Policy(), strings.Replace(base, "read =", "users = [\"nobody\"]\nread =", 1), 0o600)
	if code := own(65534); code != "" {
		t.Errorf("the file of one of the users: %q", code)
	}
	if code := own(65533); code != jobspec.CodePolicyPerms {
		t.Errorf("a third account's file: %q", code)
	}
}

func TestProblemsNameFileAndLine(t *testing.T) {
	s := withFiles(t, map[string]string{
		"policy.d/10-a.toml": "serial = 0\nfoo = 1\n",
		"policy.d/20-b.toml": "serial = 1\n[principals.alice]\nread = [\"srv\"]\nmax_jobs = 0\n",
		"owner.d/alice.toml": "[roles]\noperators = []\n",
	})
	var got []string
	for _, p := range s.CheckPolicy(0) {
		rel, err := filepath.Rel(s.Conf, p.File)
		if err != nil || p.Line == 0 || p.Remedy == "" {
			t.Errorf("%+v", p)
		}
		got = append(got, rel+":"+string(rune('0'+p.Line))+" "+string(p.Code))
	}
	want := "policy.d/10-a.toml:2 policy_schema, policy.d/20-b.toml:3 policy_schema, policy.d/20-b.toml:4 policy_schema, owner.d/alice.toml:1 policy_schema"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("%s\nwant %s", text, want)
	}
}

func TestHiddenRulesAreProblemsAndRefuseNothing(t *testing.T) {
	hidden := "serial = 2\n[[rules]]\nid = \"push\"\neffect = \"allow\"\nwhy = \"w\"\nname = \"git\"\nhas = [\"push\"]\n"
	s := withFiles(t, map[string]string{"policy.d/10-a.toml": hidden})
	if _, err := s.Policy(0); err != nil {
		t.Fatal(err)
	}
	problems := s.CheckPolicy(0)
	if len(problems) != 1 || problems[0].Code != config.CodeRuleHidden || problems[0].Line != 3 || problems[0].Rule != "push" {
		t.Errorf("%+v", problems)
	}
	draft, err := config.CheckDraft(s.Conf)
	if err != nil || len(draft) != 1 {
		t.Errorf("as a draft: %+v, %v", draft, err)
	}
	if one, err := config.CheckDraft(filepath.Join(s.Conf, "policy.d/10-a.toml")); err != nil || len(one) != 0 {
		t.Errorf("the file alone: %+v, %v", one, err)
	}
	if problems := withFiles(t, nil).CheckPolicy(4); len(problems) != 1 || problems[0].Code != jobspec.CodePolicyRollback {
		t.Errorf("an older policy: %+v", problems)
	}
}

// A draft may belong to anybody, and a FIFO in it holds nobody up.
func TestADraftIsReadWhoeverOwnsIt(t *testing.T) {
	s := withFiles(t, nil)
	for _, f := range []func() error{func() error { return os.Chmod(s.Dirs.Policy(), 0o666) }, func() error { return os.Chmod(s.Conf, 0o777) }} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	if set, err := config.DraftPolicy(s.Conf); err != nil || set.Policy.Serial != 3 {
		t.Errorf("%v", err)
	}
	if err := errors.Join(os.Remove(s.Dirs.Policy()), syscall.Mkfifo(s.Dirs.Policy(), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := config.DraftPolicy(s.Conf); !refusedBy(err, jobspec.CodePolicyPerms) {
		t.Errorf("%v", err)
	}
	if problems, err := config.CheckDraft(s.Conf); err != nil || len(problems) != 1 {
		t.Errorf("%+v, %v", problems, err)
	}
}
