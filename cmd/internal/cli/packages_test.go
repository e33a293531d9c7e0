package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFileOfThePackageManagerIsToldWithItsPackage(t *testing.T) {
	if _, err := os.Stat("/usr/bin/dpkg-query"); err != nil {
		t.Skip("needs dpkg-query")
	}
	sh, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if got := packageOf(t.Context(), sh); !strings.Contains(got, " ") {
		t.Errorf("%s is of package %q, want a name and a version", sh, got)
	}
	for _, none := range []string{filepath.Join(t.TempDir(), "mine"), "-S", "--help", "/no/such*"} {
		if got := packageOf(t.Context(), none); got != "" {
			t.Errorf("%s is of package %q", none, got)
		}
	}
}
