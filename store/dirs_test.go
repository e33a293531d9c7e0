package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/jobspec"
	"github.com/sbxcron/sbxcron/store"
	"github.com/sbxcron/sbxcron/store/storetest"
)

func TestFoldersStandWhereTheDesignPutsThem(t *testing.T) {
	s := store.SystemDirs()
	if s.Conf != "/etc/sbxcron" || s.State != "/var/lib/sbxcron" || s.Run != "/run/sbxcron" || !s.System() || s.ConfMode() != 0o644 {
		t.Errorf("%+v", s)
	}
	home := storetest.Dirs(t).State
	u, err := store.UserDirs(home, 4242424)
	must(t, err)
	want := store.Dirs{Conf: home + "/.config/sbxcron", State: home + "/.local/state/sbxcron", Run: home + "/.local/state/sbxcron/run", UID: 4242424}
	if u != want || u.System() || u.ConfMode() != 0o600 {
		t.Errorf("%+v", u)
	}
	if _, err := store.RootDirs(home+"/missing", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a root that is not there: %v", err)
	}
}

func TestNoVariablePicksAFolder(t *testing.T) {
	home := storetest.Dirs(t).State
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"} {
		t.Setenv(name, "/elsewhere")
	}
	u, err := store.UserDirs(home, 4242424)
	must(t, err)
	for _, dir := range []string{u.Conf, u.State, u.Run} {
		if !strings.HasPrefix(dir, home) {
			t.Errorf("%q", dir)
		}
	}
}

func TestMadeFoldersArePrivateAndChecked(t *testing.T) {
	d := storetest.Dirs(t)
	info, err := os.Stat(d.State)
	must(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("STATE has mode %s", info.Mode())
	}
	must(t, os.Chmod(d.State, 0o770))
	if code(d.Check()) != string(jobspec.CodeStorePerms) {
		t.Error("a STATE that a group can write passes")
	}
	must(t, os.Chmod(d.State, 0o755))
	if code(d.Check()) != string(jobspec.CodeStorePerms) {
		t.Error("a STATE that others can look into passes")
	}
	if err := (store.Dirs{}).Make(); err == nil {
		t.Error("no folders at all are made")
	}
}

func TestHostIDIsWrittenOnce(t *testing.T) {
	d := storetest.Dirs(t)
	must(t, store.WriteHost(d, storetest.Host))
	if err := store.WriteHost(d, storetest.Host); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if id, err := store.ReadHost(d); err != nil || id != storetest.Host {
		t.Error(id, err)
	}
	must(t, os.WriteFile(d.Host(), []byte("nonsense\n"), 0o600))
	if _, err := store.ReadHost(d); code(err) != string(jobspec.CodeStoreCorrupt) {
		t.Error(err)
	}
}

func TestEachVersionOfATrustFileIsKept(t *testing.T) {
	d := storetest.Dirs(t)
	for _, b := range []string{"one\n", "two\n", "one\n"} {
		digest, err := store.KeepTrust(d, store.AllowedSigners, []byte(b))
		must(t, err)
		if digest != jobspec.DigestOf([]byte(b)) {
			t.Error("wrong digest")
		}
	}
	_, err := store.KeepTrust(d, store.RevokedKeys, nil)
	must(t, err)
	signers, err := store.AllTrust(d, store.AllowedSigners)
	must(t, err)
	revoked, err := store.AllTrust(d, store.RevokedKeys)
	must(t, err)
	if len(signers) != 2 || string(signers[0].Bytes) != "one\n" || len(revoked) != 1 || len(revoked[0].Bytes) != 0 {
		t.Errorf("%d signers, %d revoked", len(signers), len(revoked))
	}
	if _, err := store.KeepTrust(d, "../x", nil); err == nil {
		t.Error("an unknown kind is kept")
	}
	names, _ := filepath.Glob(filepath.Join(d.TrustDir(), "allowed_signers.*"))
	must(t, os.WriteFile(names[0], []byte("forged\n"), 0o600))
	signers, err = store.AllTrust(d, store.AllowedSigners)
	if len(signers) != 1 || code(err) != string(jobspec.CodeStoreCorrupt) {
		t.Errorf("%d copies, %v", len(signers), err)
	}
}
