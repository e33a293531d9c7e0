package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/signing/signingtest"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

// newSite has both trust files and a policy of serial 3.
func newSite(t *testing.T) config.Site {
	t.Helper()
	key := signingtest.FixedKey(t, "alice", "alice", jobspec.RootNamespace)
	s := config.Site{Dirs: storetest.Root(t, string(signingtest.AllowedSigners(t, key)), "")}
	write(t, s.Dirs.Policy(), "serial = 3\nenabled_platforms = [\"linux\"]\n", 0o600)
	return s
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
}

func TestWhatIsRightIsRead(t *testing.T) {
	s := newSite(t)
	trust, err := s.Trust()
	if err != nil || len(trust.Signers()) != 1 {
		t.Fatalf("trust: %v", err)
	}
	set, err := s.PolicySet(3)
	if err != nil {
		t.Fatal(err)
	}
	if p := set.Policy; p.Serial != 3 || p.Digest != jobspec.DigestOf(set.Files[0].Text) {
		t.Errorf("serial %d, digest %s of other bytes", p.Serial, p.Digest.Short())
	}
}

// One fault in CONF stops everything that would rely on the file: the error has
// a code, names the file and says what to do.
func TestAFaultInAFileOfConfIsRefusedByCode(t *testing.T) {
	trust := func(s config.Site) error { _, err := s.Trust(); return err }
	policy := func(s config.Site) error { _, err := s.Policy(3); return err }
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, s config.Site)
		read  func(config.Site) error
		path  func(config.Site) string
		code  jobspec.Code
	}{
		{"no allowed_signers", remove(allowed), trust, allowed, jobspec.CodeTrustRefused},
		{"no revoked_keys", remove(revoked), trust, revoked, jobspec.CodeTrustRefused},
		{"allowed_signers that others write", chmod(allowed, 0o666), trust, allowed, jobspec.CodeTrustRefused},
		{"revoked_keys that is a link", link(revoked), trust, revoked, jobspec.CodeTrustRefused},
		{"allowed_signers beyond its size", long(allowed), trust, allowed, jobspec.CodeTrustRefused},
		{"no policy", remove(policyFile), policy, policyFile, jobspec.CodePolicyMissing},
		{"a policy that its group writes", chmod(policyFile, 0o620), policy, policyFile, jobspec.CodePolicyPerms},
		{"a policy that is a link", link(policyFile), policy, policyFile, jobspec.CodePolicyPerms},
		{"a policy that is no TOML", text(policyFile, "serial ="), policy, policyFile, jobspec.CodePolicyParse},
		{"a policy with an unknown key", text(policyFile, "serial = 3\nsandbox = \"off\"\n"), policy, policyFile, jobspec.CodePolicySchema},
		{"a policy older than one seen", text(policyFile, "serial = 2\n"), policy, policyFile, jobspec.CodePolicyRollback},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			c.spoil(t, s)
			err := c.read(s)
			var refused *config.Error
			if !errors.As(err, &refused) {
				t.Fatalf("got %v", err)
			}
			if refused.Reason != c.code || refused.Hint() == "" || !strings.Contains(err.Error(), c.path(s)) {
				t.Errorf("code %s, want %s; hint %q; %v", refused.Reason, c.code, refused.Hint(), err)
			}
		})
	}
}

func allowed(s config.Site) string    { return s.AllowedSigners() }
func revoked(s config.Site) string    { return s.RevokedKeys() }
func policyFile(s config.Site) string { return s.Dirs.Policy() }

func remove(path func(config.Site) string) func(*testing.T, config.Site) {
	return func(t *testing.T, s config.Site) {
		if err := os.Remove(path(s)); err != nil {
			t.Fatal(err)
		}
	}
}

func chmod(path func(config.Site) string, mode os.FileMode) func(*testing.T, config.Site) {
	return func(t *testing.T, s config.Site) {
		if err := os.Chmod(path(s), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func text(path func(config.Site) string, content string) func(*testing.T, config.Site) {
	return func(t *testing.T, s config.Site) { write(t, path(s), content, 0o600) }
}

func long(path func(config.Site) string) func(*testing.T, config.Site) {
	return text(path, strings.Repeat("# nothing\n", 10_000))
}

func link(path func(config.Site) string) func(*testing.T, config.Site) {
	return func(t *testing.T, s config.Site) {
		there := path(s) + ".there"
		if err := errors.Join(os.Rename(path(s), there), os.Symlink(there, path(s))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNoVariablePicksAFolder(t *testing.T) {
	before, err := config.Find("")
	if err != nil {
		t.Skip("needs an ordinary user with a home, or root") // an account without a passwd entry
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR", "SBXCRON_ROOT"} {
		t.Setenv(name, t.TempDir())
	}
	if after, err := config.Find(""); err != nil || after != before {
		t.Errorf("%+v, before %+v; %v", after, before, err)
	}
}

func TestARootThatDoesNotExistIsNoInstallation(t *testing.T) {
	_, err := config.Find(filepath.Join(t.TempDir(), "none"))
	if !errors.As(err, new(*store.UninitialisedError)) {
		t.Errorf("got %v", err)
	}
}

func TestTheDefaultKeyIsNamedAndNeverKept(t *testing.T) {
	s := newSite(t)
	if key, err := s.DefaultKey(); err != nil || key != "" || s.DefaultKeyFile() != "" {
		t.Errorf("without a file: %q, %v", key, err)
	}
	for _, c := range []struct{ line, key, file string }{
		{"/home/alice/id\n", "/home/alice/id", "/home/alice/id"},
		{"/home/alice/id.pub\n", "/home/alice/id.pub", "/home/alice/id"},
		{"SHA256:abc\n", "SHA256:abc", ""},
	} {
		write(t, config.KeyFile(s.Dirs), c.line, 0o600)
		if key, err := s.DefaultKey(); err != nil || key != c.key || s.DefaultKeyFile() != c.file {
			t.Errorf("%q: key %q, file %q, %v", c.line, key, s.DefaultKeyFile(), err)
		}
	}
	write(t, config.KeyFile(s.Dirs), "/tmp/planted\n", 0o666)
	if key, err := s.DefaultKey(); err == nil || s.DefaultKeyFile() != "" {
		t.Errorf("a file that others write names %q", key)
	}
}
