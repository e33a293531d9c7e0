//go:build unix

package keyfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sbxcron/sbxcron/signing/internal/keyfile"
)

func secret([]byte) bool { return true }

func TestCreateIsPrivateFromTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := keyfile.Create(path, 0o600, []byte("s")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := keyfile.Create(path, 0o600, []byte("t")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	for _, read := range []func() ([]byte, error){
		func() ([]byte, error) { return keyfile.Read(path, 10, secret) },
		func() ([]byte, error) { return keyfile.ReadOwn(path, 10) },
	} {
		if b, err := read(); err != nil || string(b) != "s" {
			t.Errorf("%q %v", b, err)
		}
	}
}

func TestSecretsInTheOpenAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	var p *keyfile.PermsError
	if b, err := keyfile.Read(path, 10, secret); !errors.As(err, &p) || b != nil || p.Hint() == "" {
		t.Errorf("%q %v", b, err)
	}
	if _, err := keyfile.ReadOwn(path, 10); !errors.As(err, &p) {
		t.Errorf("%v", err)
	}
	if b, err := keyfile.Read(path, 10, func([]byte) bool { return false }); err != nil || string(b) != "s" {
		t.Errorf("a public one: %q %v", b, err)
	}
}

func TestOnlyRegularFilesOfBoundedSizeAreRead(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, dir, "/dev/null"} {
		if _, err := keyfile.Read(path, 10, secret); err == nil {
			t.Errorf("%s read", path)
		}
	}
	path := filepath.Join(dir, "long")
	if err := os.WriteFile(path, make([]byte, 11), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keyfile.Read(path, 10, secret); err == nil {
		t.Error("11 of 10 bytes read")
	}
}

// somebodyElses is a file that the caller can open and does not own.
func somebodyElses(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return "/etc/passwd"
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSecretOfSomebodyElseIsRefusedEvenToRoot(t *testing.T) {
	var p *keyfile.PermsError
	path := somebodyElses(t)
	if _, err := keyfile.ReadOwn(path, 1<<20); !errors.As(err, &p) || !strings.Contains(p.Why, "belongs to uid") {
		t.Errorf("got %v", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	if _, err := keyfile.Read(path, 10, secret); err != nil {
		t.Errorf("an owner's key that root was pointed at: %v", err)
	}
}
