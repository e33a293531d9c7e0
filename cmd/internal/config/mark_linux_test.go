package config_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
)

// later is when all files of a test have lain still for long enough.
func later() time.Time { return time.Now().Add(time.Minute) }

func mustMark(t *testing.T, s config.Site) string {
	t.Helper()
	mark, ok := s.Mark(later())
	if !ok {
		t.Skipf("no change can be told from none on the file system of %s", s.Conf)
	}
	return mark
}

func TestEveryChangeOfTrustAndPolicyGivesAnotherMark(t *testing.T) {
	put := func(name, text string) func(s config.Site) error {
		return func(s config.Site) error { return os.WriteFile(filepath.Join(s.Conf, name), []byte(text), 0o600) }
	}
	inPlace := func(name string) func(s config.Site) error {
		return func(s config.Site) error {
			path := filepath.Join(s.Conf, name)
			was, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, append(was, '\n'), 0o600)
		}
	}
	for name, change := range map[string]func(s config.Site) error{
		"policy.toml changed in place":     inPlace("policy.toml"),
		"a file of policy.d in place":      inPlace("policy.d/10-a.toml"),
		"an owner's file in place":         inPlace("owner.d/alice.toml"),
		"allowed_signers in place":         inPlace("allowed_signers"),
		"a first revoked key":              put("revoked_keys", "x"),
		"a first pin":                      put("pin", "x"),
		"a new file of policy.d":           put("policy.d/20-b.toml", "serial = 1\n"),
		"a new file of owner.d":            put("owner.d/bob.toml", ""),
		"policy.toml is another's to read": func(s config.Site) error { return os.Chmod(s.Dirs.Policy(), 0o640) },
		"the same bytes in another file": func(s config.Site) error {
			was, err := os.ReadFile(s.Dirs.Policy())
			if err != nil {
				return err
			}
			if err := os.WriteFile(s.Dirs.Policy()+".new", was, 0o600); err != nil {
				return err
			}
			return os.Rename(s.Dirs.Policy()+".new", s.Dirs.Policy())
		},
		"the same length and mtime": func(s config.Site) error {
			was, err := os.Stat(s.Dirs.Policy())
			if err != nil {
				return err
			}
			text := make([]byte, was.Size())
			if err := os.WriteFile(s.Dirs.Policy(), text, 0o600); err != nil {
				return err
			}
			return os.Chtimes(s.Dirs.Policy(), was.ModTime(), was.ModTime())
		},
		"policy.d is gone": func(s config.Site) error { return os.RemoveAll(filepath.Join(s.Conf, "policy.d")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := withFiles(t, map[string]string{"policy.d/10-a.toml": "serial = 5\n", "owner.d/alice.toml": "", "allowed_signers": "x\n"})
			before := mustMark(t, s)
			if again := mustMark(t, s); again != before {
				t.Fatal("two marks differ where nothing changed")
			}
			time.Sleep(20 * time.Millisecond) // beyond the tick of a kernel's clock
			if err := change(s); err != nil {
				t.Fatal(err)
			}
			if mustMark(t, s) == before {
				t.Error("the same mark")
			}
		})
	}
}

func TestWhatChangedAMomentAgoHasNoMark(t *testing.T) {
	s := withFiles(t, nil)
	if _, ok := s.Mark(time.Now().Add(time.Second)); ok {
		t.Error("a mark though another change could bear the same time")
	}
}
