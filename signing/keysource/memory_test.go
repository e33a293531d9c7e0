package keysource_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sbxcron/sbxcron/signing"
	"github.com/sbxcron/sbxcron/signing/keysource"
)

func TestAKeyInMemorySignsAndIsWrittenNowhere(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	a, err := keysource.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	b, err := keysource.Ephemeral()
	if err != nil || a.KeyID() == b.KeyID() {
		t.Fatalf("two keys are one: %s, %v", a.KeyID(), err)
	}
	blob, err := a.Sign(t.Context(), "root.v1@sbxcron", []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	sig, err := signing.ParseSignature(blob)
	if err != nil || sig.Verify([]byte("text")) != nil || sig.KeyID() != a.KeyID() || sig.Namespace != "root.v1@sbxcron" {
		t.Errorf("signature %+v, %v", sig, err)
	}
	if sig.Verify([]byte("other")) == nil {
		t.Error("it is good for another text")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("files %v", left)
	}
	if _, err := os.Stat(filepath.Join(dir, ".ssh")); err == nil {
		t.Error("a folder was made")
	}
}
