//go:build linux

package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxcron/sbxcron/cmd/internal/config"
	"github.com/sbxcron/sbxcron/jobspec"
)

// withCredentials is a site with values in CONF and from the service manager.
func withCredentials(t *testing.T, conf, given map[string]string) config.Site {
	t.Helper()
	s := withFiles(t, nil)
	s.Given = filepath.Join(filepath.Dir(s.Conf), "given")
	for dir, values := range map[string]map[string]string{filepath.Join(s.Conf, config.CredentialDir): conf, s.Given: given} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, value := range values {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o400); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

func TestACredentialHasOneValue(t *testing.T) {
	s := withCredentials(t, map[string]string{"own": "a value", "both": "one value"}, map[string]string{"given": "b value", "both": "two values", ".hidden": "x", "no name": "x"})
	for name, want := range map[string]string{"own": "a value", "given": "b value"} {
		if got, err := s.Credential(name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, want := range map[string]jobspec.Code{"both": jobspec.CodeCredentialUnsafe, "none": jobspec.CodeCredentialMissing,
		"../own": jobspec.CodeCredentialMissing, "..": jobspec.CodeCredentialMissing, "": jobspec.CodeCredentialMissing, "/etc/passwd": jobspec.CodeCredentialMissing} {
		got, err := s.Credential(name)
		if got != nil || !refusedBy(err, want) || strings.Contains(err.Error(), "one value") || strings.Contains(err.Error(), "two values") {
			t.Errorf("%q: %q, %v, want %s", name, got, err, want)
		}
	}
	if got := s.CredentialNames(); !slices.Equal(got, []string{"both", "given", "own"}) {
		t.Errorf("names are %q", got)
	}
	if got := (withFiles(t, nil)).CredentialNames(); len(got) != 0 {
		t.Errorf("without a folder: %q", got)
	}
}

func TestValuesAreReadUpToTheirBoundAndNoFurther(t *testing.T) {
	most := strings.Repeat("x", jobspec.MaxCredentialBytes)
	s := withCredentials(t, map[string]string{"most": most, "more": most + "x", "none": ""}, nil)
	if got, err := s.Credential("most"); err != nil || string(got) != most {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got, err := s.Credential("none"); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := s.Credential("more"); got != nil || !refusedBy(err, jobspec.CodeCredentialUnusable) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// A file with an access list shows the list's mask where others show what the
// group may: systemd gives credentials so to a service of another account.
func TestOnlyTheServiceManagersFilesMayHaveAnAccessList(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to make files of root")
	}
	s := withCredentials(t, map[string]string{"own": "a value"}, map[string]string{"given": "b value", "open": "c value", "groups": "d value"})
	chmod := func(mode os.FileMode, path ...string) {
		if err := os.Chmod(filepath.Join(path...), mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod(0o440, s.Conf, config.CredentialDir, "own")
	chmod(0o440, s.Given, "given")
	chmod(0o444, s.Given, "open")
	chmod(0o440, s.Given, "groups")
	if err := os.Chown(filepath.Join(s.Given, "groups"), 0, 1); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Credential("given"); err != nil || string(got) != "b value" {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"own", "open", "groups"} {
		if _, err := s.Credential(name); !refusedBy(err, jobspec.CodeCredentialUnsafe) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
