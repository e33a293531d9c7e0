package auditkey_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/sbxcron/sbxcron/signing/auditkey"
)

const origin = "sbxcron/9c1f/runs"

func create(t *testing.T) (path, public string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "audit.key")
	public, err := auditkey.Create(path, origin)
	if err != nil {
		t.Fatal(err)
	}
	return path, public
}

func TestSavedKeySignsNotesThatItsVerifierAccepts(t *testing.T) {
	path, public := create(t)
	signer, err := auditkey.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	if signer.Name() != origin || signer.KeyHash() != verifier.KeyHash() {
		t.Errorf("signer %s %x, verifier %s %x", signer.Name(), signer.KeyHash(), verifier.Name(), verifier.KeyHash())
	}
	signed, err := note.Sign(&note.Note{Text: origin + "\n7\nroot\n"}, signer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := note.Open(signed, note.VerifierList(verifier)); err != nil {
		t.Error(err)
	}
	_, other := create(t)
	stranger, err := note.NewVerifier(other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := note.Open(signed, note.VerifierList(stranger)); err == nil {
		t.Error("accepted by another key")
	}
}

func TestCreateNeverWritesOver(t *testing.T) {
	path, _ := create(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := auditkey.Create(path, origin); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("key changed")
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestNamesThatNoNoteCanCarryAreRefused(t *testing.T) {
	for _, name := range []string{"", "a b", "a+b", "a\nb"} {
		path := filepath.Join(t.TempDir(), "audit.key")
		if _, err := auditkey.Create(path, name); err == nil {
			t.Errorf("%q accepted", name)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: file left behind", name)
		}
	}
}

func TestOpenOrDamagedFilesAreRefusedWithoutQuotingThem(t *testing.T) {
	path, _ := create(t)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		data []byte
		mode os.FileMode
	}{
		"group":        {good, 0o640},
		"others":       {good, 0o604},
		"no newline":   {good[:len(good)-1], 0o600},
		"two lines":    {append(good, good...), 0o600},
		"cut off":      {append(good[:len(good)-9:len(good)-9], '\n'), 0o600},
		"empty":        {nil, 0o600},
		"endless":      {make([]byte, 1<<20), 0o600},
		"verifier key": {[]byte(origin + "+00000000+AAAA\n"), 0o600},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.key")
			if err := os.WriteFile(path, tt.data, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			signer, err := auditkey.Load(path)
			if err == nil || signer != nil {
				t.Fatal("accepted")
			}
			if strings.Contains(err.Error(), "PRIVATE") {
				t.Errorf("quotes the key: %v", err)
			}
		})
	}
	if _, err := auditkey.Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := auditkey.Load(t.TempDir()); err == nil {
		t.Error("folder accepted")
	}
}
